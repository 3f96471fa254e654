"""Services differ by rows of data: addresses, keys, words, ids; each row says what its service takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.errors import ConfigurationError, InvalidRequestError, MissingCredentialError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.providers import HttpReply, HttpRequest
from nr_llm_openai import DIALECTS, ChatCodec, OpenAI, ResponsesCodec, dialect_at

from tests.plugins.openai.replies import ADD, asked

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
