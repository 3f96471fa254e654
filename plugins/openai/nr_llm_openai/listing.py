"""The list of models, in the form that OpenAI and most servers of its form share."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from nr_llm.codecs.faults import error_in, fault_in
from nr_llm.codecs.reading import count_of, document, filled, malformed, object_of, objects_of, text_of
from nr_llm.providers import HttpReply, HttpRequest, Model, ModelPage


def request_at(url: str, suffix: str, headers: tuple[tuple[str, str], ...]) -> HttpRequest:
    """
    Return the request for the list.

    Args:
        url: Where other requests go.
        suffix: What it ends in, such as ``/chat/completions``.
        headers: Headers of each request.
    """
    parts = urlsplit(url)
    base = parts.path.removesuffix(suffix).partition("/deployments/")[0]  # a deployment has no list of its own
    place = urlunsplit(parts._replace(path=f"{base}/models"))
    return HttpRequest("GET", place, headers=headers)


def page_of(reply: HttpReply, *, provider: str, redact: Callable[[str], str]) -> ModelPage:
    """
    Read the list: an object with ``data``, or a bare list as some services send it.

    Raises:
        ProviderError: It is none.
    """
    payload = document(reply.body, provider=provider, redact=redact)
    text = reply.body.decode("utf-8", "replace")
    if not isinstance(payload, list) and (fault := fault_in(payload)) is not None:
        raise error_in(provider, fault, redact=redact, body=text)
    listed = payload if isinstance(payload, list) else object_of(payload).get("data")
    if not isinstance(listed, list):
        raise malformed("holds no models", reply.body, provider=provider, redact=redact)
    rows = [row for row in objects_of(listed) if filled(row.get("id"))]
    return ModelPage(
        tuple(
            Model(
                provider=provider,
                name=row["id"],
                context=count_of(row.get("context_window")) or count_of(row.get("context_length")),
                details={"owner": owner} if (owner := text_of(row.get("owned_by"))) else {},
            )
            for row in rows
        )
    )
