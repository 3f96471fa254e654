"""Which names count as names of credentials."""

from __future__ import annotations

import pytest
from nr_llm_sql._credentials import credential_like


@pytest.mark.parametrize(
    "name",
    [
        *("password", "Password", "PASSWORD", "user_password", "passwordHash", "password2", "pwd", "pass"),
        *("secret", "client_secret", "clientsecret", "ClientSecret", "token", "apiToken", "token_id", "tokens"),
        *("salt", "hash", "md5", "file_md5", "sha256", "key", "keys", "foreign_key", "api-key", "apikey"),
        *("userApiKey", "APIKey", "xapikeyx", "mfa", "mfa_code", "totp", "otp", "dsn", "DSN", "privatekey"),
        *("credential", "user_credentials", "auth", "jwt", "session.cookie", "key 1", "Passwort"),
        *("ｐａｓｓｗｏｒｄ", "pässword", "contraseña", "mot de passe"),
    ],
)
def test_credentials_are_recognised(name: str) -> None:
    """Whatever case, separator or letter form, the word is found."""
    assert credential_like(name)


@pytest.mark.parametrize(
    "name",
    [
        *("id", "name", "author", "authored_at", "keyboard", "keyword", "monkey", "secretary", "tokenizer"),
        *("hashtag", "passenger", "bypassed", "compass", "salted", "pinned", "spin", "city", "", "123", "表"),
    ],
)
def test_other_words_are_not(name: str) -> None:
    """A word that merely contains the letters is an ordinary name."""
    assert not credential_like(name)
