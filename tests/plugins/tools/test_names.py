"""Patterns of file names, and the names that are never shown."""

from __future__ import annotations

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm_tools._automaton import PatternError
from nr_llm_tools._denied import DENIED, denied_by
from nr_llm_tools._glob import compile_globs


@given(st.text("ab*?.", max_size=8), st.text("ab.\n", max_size=8))
def test_stars_within_a_name_mean_what_shells_mean(pattern: str, name: str) -> None:
    """Compared with the standard library's matching of single names."""
    pattern = re.sub(r"\*\*+", "*", pattern)

    assert fnmatch.fnmatchcase(name, pattern) is compile_globs(pattern).search(name)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**", "src/deep/a.py", True),
        ("src/**/a.py", "src/a.py", True),
        ("src/*/a.py", "src/a.py", False),
        ("src/*/a.py", "src/x/a.py", True),
        ("a**b", "a/x/b", True),
        ("[a-c]x", "bx", True),
        ("[a-c]x", "dx", False),
        ("[!a-c]x", "dx", True),
        ("[!a-c]x", "/x", False),
        ("[]]x", "]x", True),
        ("[!]]x", "]x", False),
        ("[a-]x", "-x", True),
        ("[a", "[a", True),
        ("*.{py,toml}", "a.toml", True),
        ("*.{py,toml}", "a.txt", False),
        ("{a", "{a", True),
        ("{a,b}{c,d}", "a{c,d}", True),
        ("?", "/", False),
    ],
)
def test_a_pattern_of_paths(pattern: str, path: str, matches: bool) -> None:
    """One star stays in a name, two cross folders, braces are alternatives."""
    assert matches is compile_globs(pattern).search(path)


def test_many_stars_cost_no_more_than_their_number_for_each_character() -> None:
    """The pattern that makes backtracking matchers hang."""
    matcher = compile_globs("*a" * 40 + "b")
    name = "a" * 250

    assert not matcher.search(name)
    assert matcher.work <= (len(name) + 1) * matcher.size


CREDENTIALS = [
    "mirror.git", "server.pem.bak", "server.key~",
    ".env", ".env.local", ".envrc", "prod.env", "server.key", "server.pem", "ca.crt", "id_rsa", "id_rsa.pub",
    "id_ed25519", "key.p12", "store.jks", "vault.kdbx", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git", ".hg", ".svn",
    "CVS", ".ssh", ".aws", ".gnupg", ".kube", ".docker", "credentials", "my_Credentials.json", ".git-credentials",
    "secrets.yml", "client_secret_1.json", "service-account.json", "service_account_x.json", "token.json", "auth.json",
    ".htpasswd", ".pgpass", "terraform.tfstate", "x.tfstate.backup", "prod.tfvars", ".bash_history", ".python_history",
    ".vault-token", "shadow", "logins.json", "Login Data", ".yarnrc.yml", ".authinfo", "pip.conf", ".rclone.conf",
    "ssh_host_rsa_key", "passwords.txt", "apikey.txt", ".openai_api_key", ".zhistory", "fish_history",
]  # fmt: skip
HARMLESS = [
    "README.md", "main.py", "environment.py", "env.py", "keys.py", "secrets.py", "tokens.json", ".gitignore",
    ".gitattributes", ".github", "monkey.py", "token.py", "authors.json", "shadow.css", "pem.py", "history.md",
    ".config", "main.py.bak", "token", "secrets", "passwords.py", "settings.xml", "a.txt~", "#notes#",
]  # fmt: skip


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_credential_name_is_refused_in_any_folder(name: str) -> None:
    """At the root and deep below, whatever the folder is called."""
    denied = denied_by()

    assert denied((name,))
    assert denied(("src", "deep", name))


@pytest.mark.parametrize("name", HARMLESS)
def test_an_ordinary_name_is_not_refused(name: str) -> None:
    """Names that only look a little alike."""
    assert not denied_by()(("src", name))


@pytest.mark.parametrize("name", [".ENV", ".Git", ".g\u200cit", ".git ", ".git.", "ＩＤ_ＲＳＡ", "SERVER.PEM", ".ſſh"])
def test_another_spelling_of_a_refused_name_is_refused(name: str) -> None:
    """File systems that fold case, normalise or drop invisible characters would open the same file."""
    assert denied_by()((name,))


@pytest.mark.parametrize(
    "name",
    [
        *("server.key.orig", "server.key.1", ".server.key.swp", ".npmrc.bak", ".npmrc~", "#.npmrc#", ".pgpass.swp"),
        *("auth.json.bak", ".auth.json.swp", "token.json~", "secrets.yaml.bak", "cert.p12.old", "shadow.bak"),
        *(".ssh~", ".aws.bak", ".bash_history.1", ".NPMRC.BAK.2", ".npmrc.bak~"),
    ],
)
def test_a_copy_of_a_refused_name_is_refused(name: str) -> None:
    """Editors and people keep what a file held under a name beside it."""
    assert denied_by()((name,))


def test_a_folder_is_refused_together_with_its_parent() -> None:
    """Some names are refused in one folder only."""
    denied = denied_by()

    assert denied((".config", "gh"))
    assert denied(("home", ".config", "gcloud"))
    assert denied((".cache", "huggingface", "token"))
    assert denied((".m2", "settings.xml~"))
    assert not denied(("gh",))
    assert not denied(("src", "gh"))


def test_a_host_may_refuse_more() -> None:
    """Patterns of names, and of a name in a folder, in any case."""
    denied = denied_by(["*.SQLite", "private/notes.txt"])

    assert denied(("data", "a.sqlite"))
    assert denied(("private", "notes.txt"))
    assert not denied(("public", "notes.txt"))
    assert denied((".env",))


def test_a_host_pattern_that_is_too_large_is_an_error() -> None:
    """It is found when the tools are made, not when a file is read."""
    with pytest.raises(PatternError):
        denied_by(["?" * 600])


def test_the_list_holds_no_name_twice() -> None:
    """It is data that people read and extend."""
    assert len(DENIED) == len(set(DENIED))
