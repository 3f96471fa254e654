"""
Names of files and folders that no file tool opens, lists or searches, because they hold credentials or history.

The lists are about *names*; what a harmlessly named file holds is the redactor's business.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from nr_llm_tools._automaton import Matcher
from nr_llm_tools._glob import compile_globs

VERSION_CONTROL: Final = ("*.git", ".hg", ".svn", ".bzr", ".jj", ".fslckout", "_darcs", "cvs")
"""Histories hold whatever was ever committed, remotes with passwords included."""

CREDENTIAL_FOLDERS: Final = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".pki",
    ".password-store",
    ".mozilla",
    "keyrings",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    "run/secrets",
)
"""Folders of tools that keep keys; one with a slash is a folder in a folder."""

CREDENTIAL_FILES: Final = (
    "*credential*",
    ".env*",
    "*.env",
    ".netrc*",
    ".authinfo",
    "_netrc",
    ".npmrc",
    ".yarnrc*",
    ".pypirc",
    "pip.conf",
    "pip.ini",
    ".m2/settings.xml",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".vault-token",
    ".vault[-_]pass*",
    ".dockerconfigjson",
    ".rclone.conf",
    "rclone.conf",
    ".msmtprc",
    ".mbsyncrc",
    ".fetchmailrc",
    ".xauthority",
    ".terraformrc",
    ".curlrc",
    ".wgetrc",
    ".token",
    "*.tfstate*",
    "*.tfvars*",
    "kubeconfig",
    "auth.json",
    "huggingface/token",
    "token.json",
    "kaggle.json",
    "wallet.dat",
    "client_secret*.json",
    "service[-_]account*.json",
    "*secret*.{json,yaml,yml,toml,ini,cfg,conf,txt,properties}",
    "password*.txt",
    "*api[-_]key",
    "*api[-_]key.txt",
    "*apikey",
    "*apikey.txt",
    "wp-config.php",
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "master.passwd",
)
"""Files in which tools keep passwords and tokens."""

KEYS: Final = (
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "ssh_host_*_key",
    "deploy_key",
    "*.pem*",
    "*.key",
    "*.crt",
    "*.cer",
    "*.der",
    "*.csr",
    "*.p7b",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.keytab",
    "*.gpg",
    "*.pgp",
    "*.asc",
    "*.kdb",
    "*.kdbx",
    "*.ovpn",
)
"""Keys, certificates and their stores."""

PRIVATE_DATA: Final = (
    ".*_history",
    ".histfile",
    ".zhistory",
    "fish_history",
    ".lesshst",
    ".viminfo",
    ".git-credentials",
    "cookies.sqlite*",
    "key4.db",
    "logins.json",
    "login data",
)
"""What shells, editors and browsers remember of a person."""

DRAFT: Final = ".nr-llm-draft-"
"""How the drafts of files begin that are being written; one is left where a process was killed meanwhile."""

DENIED: Final = (*VERSION_CONTROL, *CREDENTIAL_FOLDERS, *CREDENTIAL_FILES, *KEYS, *PRIVATE_DATA, f"{DRAFT}*")

STARTED_UNASKED: Final = (
    "nr-llm.toml",
    ".bash*",
    ".profile",
    ".login",
    ".xprofile",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".config/fish",
    ".config/autostart",
    ".gitconfig",
    ".vscode",
    ".idea",
    ".husky",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
)
"""What other programs run or obey as soon as it is there: no tool writes it, whatever a person approves in passing."""

NOISE: Final = frozenset(
    {
        ".eggs",
        ".hypothesis",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "venv",
    }
)
"""Folders that searches pass by unless the path begins in them: generated, large, never what was meant."""

Denied = Callable[[Sequence[str]], bool]

_COPY: Final = re.compile(r"(?:~|\.(?:bak|backup|copy|new|old|orig|save|sw[a-p]|tmp|\d+))+\Z")
"""What editors and people put behind a file's name when they keep another version of it."""

_GROUP: Final = 15
"""Patterns to one matcher: all together would be larger than a program may be."""


def denied_by(extra: Iterable[str] = ()) -> Denied:
    """
    Return a function that tells whether the last part of a path (its parts, below the root) is refused.

    Args:
        extra: Further patterns, of names or of ``parent/name``.

    Raises:
        PatternError: One of the further patterns is too large.
    """
    patterns = [*DENIED, *map(plain_name, extra)]
    names = _matchers([pattern for pattern in patterns if "/" not in pattern])
    pairs = _matchers([pattern for pattern in patterns if "/" in pattern])

    def refused(name: str, parent: str) -> bool:
        pair = f"{parent}/{name}"
        return any(matcher.search(name) for matcher in names) or any(matcher.search(pair) for matcher in pairs)

    def denied(parts: Sequence[str]) -> bool:
        parent = plain_name(parts[-2]) if len(parts) > 1 else ""
        return any(refused(name, parent) for name in _originals(plain_name(parts[-1])))

    return denied


def _originals(name: str) -> tuple[str, ...]:
    """Return a name and those of which it may be an editor's or a person's copy."""
    original = _COPY.sub("", name).strip("#")
    return (name,) if original == name else (name, original, original.removeprefix("."))


def _matchers(patterns: Sequence[str]) -> list[Matcher]:
    return [compile_globs(*patterns[i : i + _GROUP]) for i in range(0, len(patterns), _GROUP)]


def plain_name(name: str) -> str:
    """Return the form in which a case-folding, normalising file system would compare `name`."""
    if name.isascii():
        return name.lower().rstrip(" .")
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if unicodedata.category(char) != "Cf").rstrip(" .")
