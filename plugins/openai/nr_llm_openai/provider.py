"""The provider: one service, its address, its key."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import attrs
from nr_llm.codecs.access import Access, Auth, Key, access, address_of, target
from nr_llm.codecs.service import Service, with_changes
from nr_llm.errors import ConfigurationError
from nr_llm.middleware import Middleware
from nr_llm.providers import Model
from nr_llm.secrets import Secret

from nr_llm_openai.chain import going_back
from nr_llm_openai.codec import ChatCodec
from nr_llm_openai.dialects import AZURE, OPENAI, Dialect, Known, dialect_at, dialect_named
from nr_llm_openai.items import UNSAID
from nr_llm_openai.responses import ResponsesCodec
from nr_llm_openai.settings import OpenAISettings

SUFFIXES = {"chat": "/chat/completions", "responses": "/responses"}
"""What the forms append to a base URL."""


class OpenAI(Service[ChatCodec | ResponsesCodec]):
    """
    OpenAI, or any service or server that speaks its forms.

    Args:
        name: Name of the provider, the part before the colon in ``openai:gpt-…``.
        settings: Where and how; further keyword arguments are settings by their names.
        dialect: The service: a row's name, or a row of one's own for a service that no built-in one fits.
        api_key: The key, in place of the settings'.
        auth: Lets requests in, in place of a key: called on each request, returns it with what it needs.

    Raises:
        ConfigurationError: The address, the key or the dialect cannot be used.
    """

    def __init__(
        self,
        name: str = "openai",
        *,
        settings: OpenAISettings | None = None,
        dialect: Dialect | str | None = None,
        api_key: Secret | str | None = None,
        auth: Auth | None = None,
        **more: Any,
    ) -> None:
        settings = with_changes(settings or OpenAISettings(), api_key, more)
        self._dialect = _chosen(dialect or settings.dialect, settings)
        address = _address(settings, self._dialect)
        way = access(
            name,
            settings,
            address=address,
            key=settings.api_key,
            form=_key_form(self._dialect, settings, target(address).host),
            auth=auth,
            headers={"openai-organization": settings.organization, "openai-project": settings.project},
        )
        super().__init__(way, _coded(way, settings, self._dialect))

    @property
    def middleware(self) -> tuple[Middleware, ...]:
        """Goes back to the whole conversation where the service has lost its copy of it."""
        return (partial(going_back, provider=self.name),)

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        known = next((row for row in self._dialect.models if row.names.match(model)), Known(""))
        return Model(
            provider=self.name,
            name=model,
            context=known.context,
            max_output=known.max_output,
            max_tools=self._dialect.max_tools,
            attachments=self._readable(known.attachments),
            structured_output=self._dialect.structured_output,
        )

    def _readable(self, read: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Of what a model reads, keep what the form has a part for."""
        if read is None or not isinstance(self._codec, ResponsesCodec):
            return read
        return tuple(kind for kind in read if not kind.startswith(UNSAID))

    def __repr__(self) -> str:
        return f"OpenAI({self.name!r}, {self._access.place.shown!r}, dialect={self._dialect.name!r})"


def _coded(way: Access, settings: OpenAISettings, dialect: Dialect) -> ChatCodec | ResponsesCodec:
    common: dict[str, Any] = {
        "provider": way.provider,
        "url": way.place.url,
        "dialect": dialect,
        "headers": way.headers,
        "redact": way.redact,
    }
    return (
        ResponsesCodec(**common)
        if settings.api == "responses"
        else ChatCodec(**common, gap=settings.turn_after_results)
    )


def _chosen(given: Dialect | str | None, settings: OpenAISettings) -> Dialect:
    if isinstance(given, Dialect):
        row = given
    elif given is not None:
        row = dialect_named(given)
    else:
        row = OPENAI if settings.base_url is None else dialect_at(target(settings.base_url.strip()).host)
    return row if settings.call_content is None else attrs.evolve(row, call_content=settings.call_content)


def _address(settings: OpenAISettings, dialect: Dialect) -> str:
    """Return where requests go; at Azure by deployment, the model's name stands in the address."""
    base_url = settings.base_url or dialect.base_url
    if base_url is None:
        raise ConfigurationError(
            f"The dialect {dialect.name!r} has no address of its own.", remedy="Set base_url to the service's."
        )
    suffix, others = SUFFIXES[settings.api], tuple(SUFFIXES.values())
    target(base_url.strip())  # says what is wrong with it
    if dialect.name != AZURE.name:
        return address_of(base_url, suffix, also=others)
    parts = urlsplit(address_of(base_url, "", also=others))
    if "/openai/v1" in parts.path:
        return address_of(base_url, suffix, also=others)
    if settings.api_version is None and "api-version" not in parts.query:
        if "/deployments/" in parts.path:
            raise ConfigurationError(
                "The address of a deployment at Azure names no version of the interface.",
                remedy="Set api_version, or base_url to the address without the deployment.",
            )
        return address_of(urlunsplit(parts), f"/openai/v1{suffix}", also=("/openai",))
    if settings.api == "responses":
        root = parts.path.partition("/deployments/")[0].rstrip("/").removesuffix("/openai")
        parts = parts._replace(path=f"{root}/openai")  # it has no deployments; the model is in the body
    elif "/deployments/" not in parts.path:
        parts = parts._replace(path=f"{parts.path.rstrip('/').removesuffix('/openai')}/openai/deployments/{{model}}")
    if "api-version" not in parts.query:
        version = urlencode({"api-version": settings.api_version})
        parts = parts._replace(query="&".join(filter(None, (parts.query, version))))
    return address_of(urlunsplit(parts), suffix)


def _key_form(dialect: Dialect, settings: OpenAISettings, host: str) -> Key:
    own = dialect.base_url is not None and target(dialect.base_url).host == host
    let_in = any(name.lower() == "authorization" for name in settings.headers)  # such as a token of Entra at Azure
    needed = not let_in and (own or (dialect_at(host).name == dialect.name and bool(dialect.key_variables)))
    bare = dialect.key_header != "authorization"
    return Key(
        header=dialect.key_header,
        prefix="" if bare else "Bearer ",
        variables=("NR_LLM_OPENAI_API_KEY", *(dialect.key_variables or OPENAI.key_variables)),
        needed_at=host if needed else None,
    )
