"""Services differ by rows of data: addresses, keys, words, ids; each row says what its service takes."""

from __future__ import annotations

import json
import logging
import uuid
from typing import Any

import attrs
import nr_llm_openai
import pytest
from nr_llm.errors import ConfigurationError, InvalidRequestError, MissingCredentialError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.providers import HttpReply, HttpRequest
from nr_llm_openai import (
    DIALECTS,
    ChatCodec,
    Dialect,
    OpenAI,
    OpenAIOptions,
    OpenAISettings,
    ResponsesCodec,
    dialect_at,
)

from tests.plugins.openai.replies import ADD, asked, call, chunk, whole

KEY = "key-0123456789abcdef"
TURN = ChatMessage.assistant_tool_calls([ToolCall("call_of_another", "add", {"a": 1})])
RESULT = ChatMessage.tool_result("call_of_another", "1")


def body(name: str, *messages: ChatMessage, **options: Any) -> dict[str, Any]:
    """Return what a service is sent."""
    sent: dict[str, Any] = json.loads(ChatCodec(dialect=DIALECTS[name]).encode(asked(*messages, **options)).body)
    return sent


def signed(provider: OpenAI) -> dict[str, str]:
    """Return the headers of a request as it leaves."""
    assert provider.transport.auth is not None
    request: HttpRequest = provider.transport.auth(HttpRequest("POST", provider.codec.url))
    return dict(request.headers)


@pytest.mark.parametrize("name", [name for name, row in DIALECTS.items() if row.base_url])
def test_a_service_is_its_name_and_a_key(name: str) -> None:
    """Address, host and the variable of the key are the row's."""
    row = DIALECTS[name]
    provider = OpenAI(name, dialect=name, api_key=KEY)

    assert provider.codec.url == f"{row.base_url}/chat/completions"
    assert provider.codec.dialect is row
    assert dialect_at(provider.endpoint.host) is row
    assert signed(provider) == {"authorization": f"Bearer {KEY}"}
    with pytest.raises(MissingCredentialError):
        signed(OpenAI(name, dialect=name))


def test_hosts_that_merely_look_alike_are_nobody_s() -> None:
    """A row is told by the whole host."""
    for host in ("api.groq.com.example", "evil-api.groq.com", "openai.azure.com.example", "localhost"):
        assert dialect_at(host).name == "compatible"
    assert dialect_at("x.openai.azure.com").name == "azure"


def test_a_service_without_an_address_wants_one() -> None:
    """At Azure everybody has their own."""
    with pytest.raises(ConfigurationError, match="'azure' has no address of its own"):
        OpenAI(dialect="azure")


@pytest.mark.parametrize(
    ("base_url", "version", "url"),
    [
        ("https://x.openai.azure.com", None, "https://x.openai.azure.com/openai/v1/chat/completions"),
        ("https://x.openai.azure.com/openai/v1/", None, "https://x.openai.azure.com/openai/v1/chat/completions"),
        ("https://x.openai.azure.com/openai?a=1", None, "https://x.openai.azure.com/openai/v1/chat/completions?a=1"),
        (
            "https://x.openai.azure.com",
            "2024-10-21",
            "https://x.openai.azure.com/openai/deployments/m%20x/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://x.openai.azure.com/openai/deployments/d?api-version=2024-06-01",
            None,
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-06-01",
        ),
    ],
)
def test_azure_is_asked_by_model_or_by_deployment(base_url: str, version: str | None, url: str) -> None:
    """The address and the version say which; the key has a header of its own."""
    provider = OpenAI(base_url=base_url, api_version=version, api_key=KEY)

    assert provider.codec.encode(asked(model="m x")).url == url
    assert signed(provider) == {"api-key": KEY}


def test_a_deployment_without_a_version_is_refused() -> None:
    """No interface has such an address; the error says what to set."""
    with pytest.raises(ConfigurationError, match="Set api_version"):
        OpenAI(base_url="https://x.openai.azure.com/openai/deployments/d", api_key=KEY)


def test_mistral_has_words_and_ids_of_its_own() -> None:
    """Ids of nine letters and digits, the same for a call and its answer; text is never null."""
    sent = body("mistral", TURN, RESULT, tools=(ADD,), tool_choice="required", seed=3, max_tokens=5)

    call, result = sent["messages"]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) == 9
    assert result["tool_call_id"].isalnum()
    assert (sent["tool_choice"], sent["random_seed"], sent["max_tokens"], call["content"]) == ("any", 3, 5, "")
    kept = ChatMessage.assistant_tool_calls([ToolCall("abcDEF123", "add")])
    assert (
        body("mistral", kept, ChatMessage.tool_result("abcDEF123", "1"))["messages"][1]["tool_call_id"] == "abcDEF123"
    )


def test_mistral_goes_on_from_a_final_turn_that_says_so() -> None:
    """Only while it is the last; a memo changes nothing."""
    messages = (ChatMessage.user("a"), ChatMessage.assistant("b"), ChatMessage.user("c"))
    codec, memo = ChatCodec(dialect=DIALECTS["mistral"]), Memo()

    for end in (2, 3, 2):
        request = asked(*messages[:end])
        assert codec.encode(request, memo) == codec.encode(request)
    assert body("mistral", *messages[:2])["messages"][1]["prefix"] is True
    assert "prefix" not in body("mistral", *messages)["messages"][1]
    assert "prefix" not in body("groq", *messages[:2])["messages"][1]


def test_a_turn_may_be_put_between_results_and_a_person() -> None:
    """For models that insist."""
    provider = OpenAI("m", dialect="mistral", turn_after_results="Done.")
    sent = json.loads(provider.codec.encode(asked(TURN, RESULT, ChatMessage.user("x"))).body)

    assert [message["role"] for message in sent["messages"]] == ["assistant", "tool", "assistant", "user"]
    assert sent["messages"][2]["content"] == "Done."


@pytest.mark.parametrize("forbids", [True, False])
def test_tools_that_are_withheld_are_declared_where_calls_can_be_forbidden(forbids: bool) -> None:
    """A server that knows no such word is sent none of them."""
    request = attrs.evolve(asked(TURN, RESULT), withheld=(ADD,))
    codec = ChatCodec(dialect=Dialect(name="mine", forbids=forbids))

    sent = json.loads(codec.encode(request).body)

    assert sent.get("tool_choice") == ("none" if forbids else None)
    assert ("tools" in sent) is forbids


def test_groq_reads_images_only() -> None:
    """Anything else is refused before it is sent."""
    body("groq", ChatMessage.user("x", Attachment("image/png", b"x")))
    with pytest.raises(InvalidRequestError, match="the service reads image/"):
        body("groq", ChatMessage.user("x", Attachment("application/pdf", b"x")))


def test_the_form_is_a_setting() -> None:
    """Either form copes with an address copied for the other."""
    provider = OpenAI(base_url="http://h/v1/chat/completions", api="responses")

    assert isinstance(provider.codec, ResponsesCodec)
    assert provider.codec.url == "http://h/v1/responses"
    assert isinstance(OpenAI(base_url="http://h/v1/responses").codec, ChatCodec)
    assert OpenAI(base_url="http://h/v1/responses?x=1").codec.url == "http://h/v1/chat/completions?x=1"


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_models_are_listed(api: str) -> None:
    """In the common form, and as the bare list that some services send."""
    codec = OpenAI("p", base_url="http://h/v1?x=1", api=api).codec

    assert codec.list_models().url == "http://h/v1/models?x=1"
    row = {"id": "m1", "owned_by": "me", "context_window": 5}
    for listed in ({"data": [row, {"id": ""}, 5]}, [row]):
        [model] = codec.decode_models(HttpReply(200, {}, json.dumps(listed).encode())).models
        assert (model.name, model.context, model.details) == ("m1", 5, {"owner": "me"})
    with pytest.raises(Exception, match="holds no models"):
        codec.decode_models(HttpReply(200, {}, b'{"data": 5}'))
    with pytest.raises(Exception, match="nobody"):
        codec.decode_models(HttpReply(200, {}, b'{"error": {"message": "nobody"}}'))


THINKING = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Five and three."}], "closed": True},
    {"type": "text", "text": "8."},
]


def mistral(*chunks: Any) -> tuple[ChatMessage, str]:
    """Return the message that a stream of contents gives, and its thinking."""
    decoder = ChatCodec(provider="mistral", dialect=DIALECTS["mistral"]).decoder(asked())
    for said in chunks:
        decoder.feed(chunk({"content": said}))
    decoder.feed(chunk(finish="stop"))
    answer = decoder.finish()
    return answer.to_message(), answer.reasoning or ""


def replayed(turn: ChatMessage, provider: str = "mistral") -> Any:
    """Return the content of a turn as it goes back."""
    codec = ChatCodec(provider=provider, dialect=DIALECTS["mistral"])
    return json.loads(codec.encode(asked(turn, ChatMessage.user("And?"))).body)["messages"][0]["content"]


class TestMistralThinking:
    def test_it_goes_back_as_it_came(self) -> None:
        """Calls or none, to the service that sent it and to nobody else, while the text is the same."""
        codec = ChatCodec(provider="mistral", dialect=DIALECTS["mistral"])
        turn = codec.decode(HttpReply(200, {}, whole({"content": THINKING})), asked()).to_message()

        assert replayed(turn) == THINKING
        assert replayed(turn, "other") == "8."
        assert replayed(attrs.evolve(turn, content="Nine.")) == "Nine."

    def test_plain_answers_keep_nothing(self) -> None:
        """A list of text alone is a text."""
        turn, _ = mistral([{"type": "text", "text": "8"}], ".")

        assert (turn.content, turn.provider_state) == ("8.", {})

    def test_pieces_of_a_stream_are_joined_in_their_order(self) -> None:
        """Thinking and text may alternate, pieces may be empty, other parts stay what they are."""
        piece = {"type": "thinking", "thinking": [{"type": "text", "text": "Five "}]}
        more = {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "and three."}, {"type": "ref"}],
            "closed": True,
        }
        again = {"type": "thinking", "thinking": [{"type": "text", "text": "Sure?"}]}
        empty: dict[str, Any] = {"type": "thinking", "thinking": []}

        turn, thought = mistral("", [piece], [more], "8", [empty], [again], ["?", {"type": "odd"}], ".")

        assert thought == "Five and three.Sure?"
        assert replayed(turn) == [
            {
                "type": "thinking",
                "thinking": [{"type": "text", "text": "Five and three."}, {"type": "ref"}],
                "closed": True,
            },
            {"type": "text", "text": "8"},
            again,
            {"type": "odd"},
            {"type": "text", "text": "."},
        ]


@pytest.mark.lesson(75, 142)
@pytest.mark.parametrize("name", DIALECTS)
def test_only_services_that_want_reasoning_back_get_it(name: str) -> None:
    """On turns with calls, under the name it came by."""
    codec = ChatCodec(provider="p", dialect=DIALECTS[name])
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "s"}]
    sent = {"reasoning_content": "Hm.", "reasoning_details": details, "tool_calls": [call("{}")]}
    answer = codec.decode(HttpReply(200, {}, whole(sent)), asked())

    request = asked(answer.to_message(), ChatMessage.tool_result("call_1", "1"))
    [turn, _] = json.loads(codec.encode(request).body)["messages"]

    wanted = {"deepseek": {"reasoning_content"}, "openrouter": {"reasoning_details"}}
    both = {"reasoning_content", "reasoning_details"} if name in ("compatible", "huggingface") else set()
    assert turn.keys() & {"reasoning_content", "reasoning_details"} == wanted.get(name, both)


def test_settings_a_model_refuses_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning; those it takes are sent."""
    model = f"grok-4-{uuid.uuid4()}"
    with caplog.at_level(logging.WARNING, logger="nr_llm"):
        sent = body("xai", ChatMessage.user("x"), model=model, stop="x", temperature=0.5, presence_penalty=1.0)

    assert sent.keys() == {"model", "temperature", "messages"}
    assert [record.getMessage() for record in caplog.records] == [
        f"openai: model {model} takes no presence_penalty; it is left out.",
        f"openai: model {model} takes no stop; it is left out.",
    ]


@pytest.mark.parametrize(
    ("dialect", "model", "reads"),
    [
        ("openai", "gpt-4o-mini", ("image/", "application/pdf")),
        ("openai", "gpt-4o-audio-preview", ("audio/",)),
        ("openai", "o3-mini", ()),
        ("openai", "gpt-4-turbo", None),
        ("openai", "gpt-3.5-turbo", ()),
        ("openai", "unheard-of", None),
        ("groq", "meta-llama/llama-4-scout-17b-16e-instruct", ("image/",)),
        ("mistral", "mistral-medium-latest", ("image/",)),
        ("mistral", "mistral-large-2411", ()),
        ("mistral", "mistral-large-latest", None),
        ("deepseek", "deepseek-chat", ()),
        ("xai", "grok-4-0709", ("image/",)),
        ("xai", "grok-3-mini", None),
        ("compatible", "gpt-4o", None),
    ],
)
def test_what_known_models_read(dialect: str, model: str, reads: tuple[str, ...] | None) -> None:
    """Of others nothing is claimed."""
    assert OpenAI(dialect=dialect, base_url="http://h/v1").describe(model).attachments == reads


def test_the_responses_form_has_no_part_for_sound() -> None:
    """So nothing is claimed that could not be sent."""
    assert OpenAI(api="responses").describe("gpt-audio").attachments == ()
    assert OpenAI(api="responses").describe("gpt-4o").attachments == ("image/", "application/pdf")


def test_azure_s_responses_have_no_deployments() -> None:
    """The model is in the body."""
    provider = OpenAI(base_url="https://x.openai.azure.com", api="responses", api_version="2025-03-01-preview")

    assert provider.codec.url == "https://x.openai.azure.com/openai/responses?api-version=2025-03-01-preview"


def test_azure_s_models_are_listed_beside_the_deployments() -> None:
    """A deployment has no list of its own; a query that is there is kept."""
    base = "https://x.openai.azure.com/openai/deployments/d?x=1"
    codec = OpenAI(base_url=base, api_version="2024-10-21").codec

    assert codec.url == "https://x.openai.azure.com/openai/deployments/d/chat/completions?x=1&api-version=2024-10-21"
    assert codec.list_models().url == "https://x.openai.azure.com/openai/models?x=1&api-version=2024-10-21"


def test_a_token_in_a_header_lets_in_without_a_key() -> None:
    """As one of Entra ID at Azure."""
    provider = OpenAI(base_url="https://x.openai.azure.com", headers={"Authorization": "Bearer t"})

    assert signed(provider) == {}
    with pytest.raises(MissingCredentialError):
        signed(OpenAI(base_url="https://x.openai.azure.com"))


class TestSettings:
    def test_a_service_that_is_named_brings_its_variables(self) -> None:
        """Unless the address is not the vendor's, or cannot be read."""
        named = OpenAISettings(dialect="groq")

        assert named.key_variables == ("GROQ_API_KEY",)
        assert attrs.evolve(named, base_url="https://api.groq.com/openai/v1").key_variables == ("GROQ_API_KEY",)
        assert attrs.evolve(named, base_url="https://gateway.test/v1").key_variables == ()
        assert attrs.evolve(named, base_url="http://[bad").key_variables == ()
        assert OpenAISettings().key_variables == ()

    def test_a_row_of_one_s_own_is_a_service(self) -> None:
        """No class is needed."""
        row = Dialect(name="mine", base_url="https://llm.mine.test/v1", key_header="x-key", max_tokens="max_tokens")
        provider = OpenAI("mine", dialect=row, api_key=KEY)

        assert signed(provider) == {"x-key": KEY}
        assert provider.codec.encode(asked()).url == "https://llm.mine.test/v1/chat/completions"

    def test_further_services_are_made_by_the_hook(self) -> None:
        """Under the name they are given."""
        provider = nr_llm_openai.nr_llm_make_provider("fast", OpenAISettings(dialect="groq"))

        assert (provider.name, provider.endpoint.host) == ("fast", "api.groq.com")


def test_openai_s_own_options_go_by_their_names() -> None:
    """The chat form has them at its top."""
    own = OpenAIOptions(verbosity="low", store=True, service_tier="flex", metadata={"a": "b"})
    sent = body("openai", ChatMessage.user("x"), provider_options=own)

    assert (sent["verbosity"], sent["store"], sent["service_tier"], sent["metadata"]) == (
        "low",
        True,
        "flex",
        {"a": "b"},
    )
