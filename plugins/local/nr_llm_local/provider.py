"""The embedded model as a provider: its own protocol in front, an engine behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
from nr_llm._json import encode
from nr_llm.cancellation import Cancellation
from nr_llm.errors import InvalidRequestError
from nr_llm.events import Delta, TextDelta, ToolCallDelta
from nr_llm.providers import Endpoint, Model
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, Usage

from nr_llm_local._answer import ReplyText, response
from nr_llm_local._cache import cache_folder, locate, shelf_of
from nr_llm_local._conversation import Task, task_of
from nr_llm_local._cpu import check_cpu
from nr_llm_local._engine import CONTEXT, End, engine_for
from nr_llm_local._errors import NotFetchedError
from nr_llm_local._open import beside
from nr_llm_local._trimming import trimmed
from nr_llm_local.catalogue import WEIGHTS, find
from nr_llm_local.options import LocalOptions

DEMONSTRATION_TOKENS = 600
"""Tokens of the window that instruction and demonstration take."""

ANSWER_TOKENS = 400
"""Tokens an answer may have; a longer one of a small model is no better."""

RESULT_BYTES = 1500
"""Bytes of a result that the model is given: about 20 seconds of reading on two cores."""

TOOLS = 12
"""Tools it can choose between without losing count."""

REDRAWN = 3
"""Tools that are left out, one after the other, when a first call is about nothing that the request names."""

NOTICE = "demo quality: it calls simple tools well, and its own sentences may be wrong; look at the results"


class LocalProvider:
    """
    Answers with weights on this machine, without key or server.

    Nothing is imported or loaded before the first question.
    """

    name = "local"
    endpoint = Endpoint("this process", local=True)

    def describe(self, model: str) -> Model:
        """
        Return what is known of `model`; without a name, of the default one.

        Raises:
            UnknownNameError: There is no such model.
        """
        weights = find(model)
        return Model(
            provider=self.name,
            name=weights.name,
            context=CONTEXT - DEMONSTRATION_TOKENS,
            max_output=ANSWER_TOKENS,
            max_tools=TOOLS,
            result_bytes=RESULT_BYTES,
            attachments=(),
            notice=NOTICE,
            details={
                "size": f"{weights.size / 1e9:.1f} GB",
                "licence": weights.licence,
                "state": "fetched"
                if shelf_of(weights).file.exists()
                else f"fetch it: nr-llm models pull {weights.name}",
            },
        )

    def models(self) -> Iterable[Model]:
        """Return every model of the catalogue."""
        return [self.describe(name) for name in WEIGHTS]

    def complete(self, request: CompletionRequest, cancelled: Cancellation) -> Iterator[Delta | CompletionResponse]:
        """
        Yield the answer as it is written, then the whole of it.

        A call that was made before is not made again, and a first call about nothing that the request names is not made
        where another tool has a better one: the tool is taken off the choice instead.

        Raises:
            LocalModelError: The weights are not here, or this machine cannot run them.
            ContextLengthError: The conversation does not fit the window.
            InvalidRequestError: It holds an attachment; these models read text.
        """
        if any(message.attachments for message in request.messages):
            raise InvalidRequestError("the embedded models read text, no images or documents", provider=self.name)
        reply, task, spent = yield from self._drawn(request, cancelled)
        without: list[str] = []
        other = reply
        most = min(REDRAWN, len(request.tools) - 1)
        while len(without) < most and other.tool_calls and beside(other.tool_calls[0], task.named):
            without.append(other.tool_calls[0].name)
            other, _, more = yield from self._drawn(request, cancelled, instead_of=without)
            spent = (*spent, *more)
        if other.tool_calls and not beside(other.tool_calls[0], task.named):
            reply = other
        if reply.tool_calls:
            call = reply.tool_calls[0]
            yield ToolCallDelta("call-0", call.name, call.arguments_json)
        yield attrs.evolve(reply, spent=sum(spent, Usage()), attempts=len(spent)) if len(spent) > 1 else reply

    def _drawn(self, request: CompletionRequest, cancelled: Cancellation, *, instead_of: Sequence[str] = ()) -> Any:
        """
        Yield the text of an answer while it is written; return it, what it was the answer to, and what each draw took.

        Args:
            request: What is asked.
            cancelled: Stops it.
            instead_of: Tools of which another one has to be called.
        """
        without, spent = [*instead_of], []
        while True:
            results = find(request.model).results
            task = task_of(request, without=without, results=results, calling=bool(instead_of))
            reply = _trimmed((yield from self._attempt(task, request, cancelled)), task, request)
            spent.append(reply.usage)
            repeated = _repeated(reply, task)
            if repeated is None or repeated in without:
                return reply, task, tuple(spent)
            without.append(repeated)

    def _attempt(self, task: Task, request: CompletionRequest, cancelled: Cancellation) -> Any:
        """Yield the text of one answer while it is written, and return the answer."""
        weights = find(request.model)
        path = locate(weights.name)
        if path is None:
            raise NotFetchedError(weights.name, where=str(cache_folder()))
        check_cpu()
        reading, written, end = ReplyText(), [], End(Usage(), length=False)
        pieces = engine_for(path).write(
            task.prompt,
            schema=task.schema,
            most=request.options.max_tokens or ANSWER_TOKENS,
            cancelled=cancelled,
            settings=_settings(request),
        )
        for piece in pieces:
            if isinstance(piece, End):
                end = piece
                continue
            written.append(piece)
            if text := (piece if task.schema is None else reading.feed(piece)):
                yield TextDelta(text)
        return response(
            "".join(written),
            request,
            model=weights.name,
            usage=end.usage,
            length=end.length,
            chosen=task.schema is not None,
        )


def _settings(request: CompletionRequest) -> dict[str, Any]:
    options = request.options
    given = {
        "temperature": options.temperature if options.temperature is not None else 0,
        "top_p": options.top_p,
        "seed": options.seed,
        "frequency_penalty": options.frequency_penalty,
        "presence_penalty": options.presence_penalty,
    }
    return {name: value for name, value in given.items() if value is not None} | dict(options.of(LocalOptions).raw)


def _trimmed(reply: CompletionResponse, task: Task, request: CompletionRequest) -> CompletionResponse:
    """Return the reply with the arguments that the request gives a reason for."""
    schemas = {tool.name: tool.parameters for tool in request.tools}
    calls = tuple(
        attrs.evolve(call, arguments=trimmed(call.arguments, schemas.get(call.name, {}), said=task.said))
        for call in reply.tool_calls or ()
    )
    return attrs.evolve(reply, tool_calls=calls) if calls else reply


def _repeated(reply: CompletionResponse, task: Task) -> str | None:
    """Return the tool's name if the reply asks for a call that was made already."""
    for call in reply.tool_calls or ():
        key = encode([call.name, dict(call.arguments)])
        if any(encode([made.name, dict(made.arguments)]) == key for made in task.made):
            return call.name
    return None
