"""Tells by its name whether a column or table is likely to hold a credential: such data is shown to nobody."""

from __future__ import annotations

import re
import unicodedata

SEGMENTS = frozenset(
    {
        *("password", "passwords", "passwd", "passphrase", "passcode", "pass", "pwd", "pw"),
        *("passwort", "kennwort", "secret", "secrets", "token", "tokens", "salt", "salts"),
        *("hash", "hashes", "digest", "sha", "bcrypt", "argon", "scrypt", "hmac", "nonce"),
        *("key", "keys", "mfa", "otp", "totp", "hotp", "dsn", "pin", "cvv", "cvc"),
        *("credential", "credentials", "cred", "creds", "auth", "jwt", "bearer", "cookie", "cookies"),
    }
)
"""Words that mark a name when they stand in it as a word of their own (``user_token``, ``apiToken``)."""

NOUNS = (
    *("password", "passwd", "passphrase", "passwort", "kennwort", "motdepasse", "contrasena"),
    *("apikey", "secretkey", "privatekey", "accesskey", "authkey", "sshkey", "signingkey"),
    *("encryptionkey", "masterkey", "licensekey", "apitoken", "accesstoken", "authtoken"),
    *("refreshtoken", "sessiontoken", "csrftoken", "clientsecret", "sharedsecret", "apisecret"),
    *("credential", "sessionid", "connectionstring", "authcode", "md5", "totp"),
)
"""Compound words that mark a name wherever they stand in it, since nothing separates their parts."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def credential_like(name: str) -> bool:
    """
    Return whether `name` looks like the name of a credential.

    Words are split at everything that is no letter and where lower case turns to upper case; compatibility
    forms of letters (full-width, for one) count as the letters.
    """
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    words = [word.lower() for word in _WORD.findall(plain)]
    squashed = "".join(re.findall(r"[a-z0-9]+", plain.lower()))
    return not SEGMENTS.isdisjoint(words) or any(noun in squashed for noun in NOUNS)
