"""What can be set for the plugin, in ``[plugins.openai]`` or the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import attrs
from nr_llm.codecs.access import ServiceSettings
from nr_llm.secrets import Secret
from nr_llm.settings import setting

from nr_llm_openai.dialects import DIALECTS, OPENAI, dialect_at, dialect_named


def _variables(found: Mapping[str, object], sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables of the key: of the vendor that is addressed, so that no other vendor's key goes there."""
    base_url, dialect = found.get("base_url"), found.get("dialect")
    if base_url is None:
        row = OPENAI if dialect is None else DIALECTS.get(str(dialect))
        return row.key_variables if row else ()
    paired = sources["base_url"] == "OPENAI_BASE_URL"  # who sets both variables means them for each other
    vendor = () if paired else dialect_at(_host(str(base_url))).key_variables
    return vendor or OPENAI.key_variables


@attrs.frozen(kw_only=True)
class OpenAISettings(ServiceSettings):
    """
    Settings of the plugin, beside those of any service; each may come from ``NR_LLM_OPENAI_<NAME>`` too.

    Attributes:
        api_key: The key; needed for OpenAI itself, sent to any other address when it is set. Also read from the
            variable of the vendor whose address it is, such as ``GROQ_API_KEY``, from ``OPENAI_API_KEY`` for OpenAI
            and addresses nobody knows, and from a file that ``NR_LLM_OPENAI_API_KEY_FILE`` names.
        base_url: Address of the service up to, not including, ``/chat/completions``; the dialect's unless given.
        dialect: The service: a name of `DIALECTS`, such as ``groq``; told from the address unless given.
        api: The form: ``chat`` for Chat Completions, ``responses`` for OpenAI's newer one.
        api_version: Version of the interface at Azure, for addresses by deployment.
        turn_after_results: What the model is made to say between results and a person's turn, for models that insist
            on a turn of theirs there; empty for nothing.
        organization: OpenAI organization to charge.
        project: OpenAI project to charge.
        call_content: What an assistant turn with calls and no text carries: ``null``, an ``empty`` string, or the
            field is ``absent``; for servers that take only one of them.
    """

    api_key: Secret | None = setting(env=_variables, default=None)
    base_url: str | None = setting(env=("OPENAI_BASE_URL",), default=None)
    dialect: str | None = None
    api: Literal["chat", "responses"] = "chat"
    api_version: str | None = setting(env=("OPENAI_API_VERSION",), default=None)
    turn_after_results: str = ""
    organization: str | None = setting(env=("OPENAI_ORG_ID",), default=None)
    project: str | None = setting(env=("OPENAI_PROJECT_ID",), default=None)
    call_content: Literal["null", "empty", "absent"] | None = None

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables of the vendor that is chosen by name; none at an address that is not the vendor's."""
        if self.dialect is None:
            return ()
        row = dialect_named(self.dialect)
        return row.key_variables if self.base_url is None or dialect_at(_host(self.base_url)) is row else ()


def _host(base_url: str) -> str:
    try:
        return urlsplit(base_url.strip()).hostname or ""
    except ValueError:
        return ""  # the provider says what is wrong with it
