"""A service's address, key and headers are checked before anything is sent, and stay where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm._reach import proxy_for, target
from nr_llm.codecs.access import Access, Key, ServiceSettings, access, address_of, shown
from nr_llm.conversation import check_pairs
from nr_llm.errors import ConfigurationError, InvalidValueError, MissingCredentialError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.options import Options, ProviderOptions, whole
from nr_llm.providers import HttpRequest, TransportOptions
from nr_llm.secrets import Secret

URL = "https://api.example.com/v1/chat"
FORM = Key(variables=("NR_LLM_P_API_KEY", "VENDOR_KEY"), needed_at="api.example.com")


@attrs.frozen(kw_only=True)
class Odd(ProviderOptions):
    """Options of a made-up provider."""

    namespace = "odd"
    size: int | None = attrs.field(default=None, validator=whole(1))


@attrs.frozen(kw_only=True)
class Other(ProviderOptions):
    """Options of another one."""

    namespace = "other"


def made(key: str | None = None, *, address: str = URL, form: Key | None = FORM, **settings: Any) -> Access:
    """Return how a service is reached."""
    given = None if key is None else Secret(key)
    return access("p", ServiceSettings(**settings), address=address, key=given, form=form)


def signed(way: Access, *headers: tuple[str, str]) -> dict[str, str]:
    """Return the headers of a request as it leaves."""
    assert way.transport.auth is not None
    request: HttpRequest = way.transport.auth(HttpRequest("POST", way.place.url, headers=headers, body=b"x"))
    assert request.body == b"x"
    return dict(request.headers)


def test_the_key_is_added_when_a_request_leaves() -> None:
    """In the service's own form; nothing else shows it."""
    way = made("k-0123456789abc")

    assert signed(way) == {"authorization": "Bearer k-0123456789abc"}
    assert signed(made("k-0123456789abc", form=Key(header="x-key", prefix=""))) == {"x-key": "k-0123456789abc"}
    assert signed(made("k-0123456789abc", form=None)) == {"authorization": "Bearer k-0123456789abc"}
    assert "k-0123456789abc" not in repr(way) + repr(way.transport)
    assert way.redact("bad k-0123456789abc") != "bad k-0123456789abc"


def test_a_header_of_one_s_own_goes_before_the_key() -> None:
    """It is not doubled."""
    assert signed(made("k-0123456789abc"), ("Authorization", "Basic x")) == {"Authorization": "Basic x"}


def test_a_key_is_needed_where_the_service_says_so() -> None:
    """Other addresses are asked without one."""
    with pytest.raises(MissingCredentialError, match="VENDOR_KEY"):
        signed(made())
    with pytest.raises(MissingCredentialError, match=r"Set NR_LLM_P_API_KEY, or pass api_key= where"):
        signed(made(form=attrs.evolve(FORM, variables=("VENDOR_KEY",))))
    assert signed(made(address="http://localhost/v1")) == {}
    assert signed(made(form=None)) == {}


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "schlüssel"])
def test_a_key_that_cannot_be_one_is_refused(key: str) -> None:
    """The error does not show it."""
    with pytest.raises(ConfigurationError, match="blank or holds characters") as caught:
        made(f"{key} " if key else " ")

    assert "schl" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="blank"):
        made(" ", form=Key())


def test_headers_files_and_limits_are_passed_on(tmp_path: Path) -> None:
    """Secret headers are masked; those that are None are left out."""
    way = access(
        "p",
        ServiceSettings(
            headers={"x-api-token": "tok-0123456789", "x-team": "blue"}, read_seconds=3, ca_file=tmp_path, proxy="none"
        ),
        address=URL,
        headers={"x-org": "o", "x-none": None},
    )

    assert way.headers == (("x-org", "o"), ("x-api-token", "tok-0123456789"), ("x-team", "blue"))
    assert (way.transport.read_seconds, way.transport.ca_file, way.transport.proxy) == (3, str(tmp_path), "none")
    assert "tok-0123456789" not in way.redact("tok-0123456789 blue")
    assert "blue" in way.redact("tok-0123456789 blue")
    assert way.endpoint.host == "api.example.com"
    assert not way.endpoint.local


def test_auth_takes_the_place_of_a_key() -> None:
    """A gateway, a short-lived token, a signature."""
    way = access("p", ServiceSettings(), address=URL, auth=lambda request: request)

    assert signed(way) == {}


USER = "https://me:p%40ss-0123456789@api.example.com/v1/chat"
BASIC = "Basic bWU6cEBzcy0wMTIzNDU2Nzg5"


def test_the_user_of_an_address_is_sent_where_no_key_is() -> None:
    """As basic authorization; a key, or a header of one's own, that has its place goes before it."""
    assert signed(made(address=USER, form=None)) == {"authorization": BASIC}
    assert signed(made("k-0123456789abc", address=USER)) == {"authorization": "Bearer k-0123456789abc"}
    both = signed(made("k-0123456789abc", address=USER, form=Key(header="x-key", prefix="")))
    assert both == {"x-key": "k-0123456789abc", "authorization": BASIC}
    assert signed(made(address=USER, form=None), ("Authorization", "own")) == {"Authorization": "own"}


@pytest.mark.parametrize("secret", ["p@ss-0123456789", "p%40ss-0123456789", BASIC.split()[1], "qwertz-secret"])
def test_nobody_reads_the_secrets_of_an_address(secret: str) -> None:
    """Neither in what a reply repeats nor in what objects say of themselves."""
    way = made(address=f"{USER}?Api-Key=qwertz-secret&x=1", form=None)

    assert secret not in way.redact(f"bad {secret} here")
    assert secret not in repr(way) + repr(way.transport) + repr(way.place)


def test_nobody_reads_the_password_of_a_proxy() -> None:
    """A proxy may repeat it when it refuses; an address that is none is told where it is used."""
    way = made(form=None, proxy="http://me:pass-0123456789@proxy:80")

    assert "pass-0123456789" not in way.redact("denied pass-0123456789")
    assert "bWU6cGFzcy0wMTIzNDU2Nzg5" not in way.redact("denied Basic:bWU6cGFzcy0wMTIzNDU2Nzg5")
    assert made(form=None, proxy="http://[bad").redact("x") == "x"


def test_a_user_alone_is_a_token() -> None:
    """Nobody reads it either; a user beside a password is no secret."""
    token = "tok-0123456789"

    assert token not in made(address=f"https://{token}@h/v1", form=None).redact(f"bad {token}")
    assert token in made(address=f"https://{token}:pass@h/v1", form=None).redact(f"bad {token}")


@pytest.mark.parametrize("seconds", [0, -5, float("nan"), float("inf"), 1e300, "5", None, True])
@pytest.mark.parametrize("limit", ["connect_seconds", "read_seconds"])
@pytest.mark.parametrize("kind", [ServiceSettings, TransportOptions])
def test_a_time_that_cannot_be_waited_is_refused(kind: type[Any], limit: str, seconds: Any) -> None:
    """At once, not by an operating system in the middle of a run."""
    with pytest.raises(InvalidValueError, match=f"{limit}: .* is not between"):
        kind(**{limit: seconds})


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://h/v1/{model}:x", "'https://h/v1/{model}:x'"),
        ("https://me:pass@h:80/v1?key=secret", "'https://h:80/v1?…'"),
        ("h/a@b", "'h/a@b'"),
    ],
)
def test_a_request_shows_neither_user_nor_query(url: str, said: str) -> None:
    """Either may be a key."""
    assert shown(url) == said
    assert said in repr(HttpRequest("GET", url))


def test_further_ends_of_an_address_may_be_left_out() -> None:
    """Of its path, whatever its query is."""
    assert address_of("https://h/x/v1/?a=/v1", "/v1/chat", also=("/chat", "/v1")) == "https://h/x/v1/chat?a=/v1"
    assert address_of("https://h/x/v1/chat/", "/v1/chat", also=("/chat", "/v1")) == "https://h/x/v1/chat"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://h/v1", "https://h/v1/chat"),
        (" https://h/v1/ ", "https://h/v1/chat"),
        ("https://h/v1/chat", "https://h/v1/chat"),
        ("https://h?a=1", "https://h/chat?a=1"),
        ("http://[::1/v1", "http://[::1/v1"),
    ],
)
def test_an_address_is_taken_however_it_was_copied(base: str, url: str) -> None:
    """With the path or without, with a query."""
    assert address_of(base, "/chat") == url


@pytest.mark.parametrize(
    ("url", "wanted", "proxy"),
    [
        ("https://h/", "http://p:1", "http://p:1"),
        ("https://h/", "p:1", "http://p:1"),
        ("https://h/", "none", None),
        ("http://localhost/", "http://p:1", None),
        ("https://bypassed.example/", "http://p:1", "http://p:1"),
    ],
)
def test_a_proxy_may_be_set(url: str, wanted: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the environment's; never for this machine."""
    monkeypatch.setenv("HTTPS_PROXY", "http://env:1")
    monkeypatch.setenv("NO_PROXY", "bypassed.example")

    assert proxy_for(target(url), wanted) == proxy


def test_a_proxy_of_another_kind_is_refused() -> None:
    """Whoever named it."""
    with pytest.raises(ConfigurationError, match="The settings name a 'ftp' proxy"):
        proxy_for(target("https://h/"), "ftp://p:1")


class TestPairs:
    TURN = ChatMessage.assistant_tool_calls([ToolCall("a", "f"), ToolCall("b", "f")])
    RESULTS = (ChatMessage.tool_result("a", "1"), ChatMessage.tool_result("b", "2"))

    def test_only_what_is_new_is_checked(self) -> None:
        """With the turn it belongs to."""
        conversation = (ChatMessage.user("x"), self.TURN, *self.RESULTS)
        for start in range(5):
            check_pairs(conversation, start=start)
        with pytest.raises(InvalidValueError, match=r"messages\[4\]"):
            check_pairs((*conversation, self.RESULTS[0]), start=4)

    def test_two_calls_of_one_id_are_refused(self) -> None:
        """Their results could not be told apart."""
        with pytest.raises(InvalidValueError, match=r"messages\[0\]: has two calls of one id among 'a', 'a'"):
            check_pairs([ChatMessage.assistant_tool_calls([ToolCall("a", "f"), ToolCall("a", "g")])])


class TestOptions:
    def test_each_provider_reads_its_own(self) -> None:
        """Given as values, as one, or as mappings by name."""
        values = Options(provider_options=[Odd(size=3, raw={"x": 1})])
        one = Options(provider_options=Odd(size=3, raw={"x": 1}))
        named = Options(provider_options={"odd": {"size": 3, "raw": {"x": 1}}})

        assert values == one == named
        assert values.of(Odd) == Odd(size=3, raw={"x": 1})
        assert values.of(Other) == Other()
        assert Options().of(Odd) == Odd()
        assert Odd().to_dict() == {}

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"siz": 3}, "provider_options.odd: has no setting 'siz'; did you mean 'size'?"),
            ({"zzz": 3}, "provider_options.odd: has no setting 'zzz'; there are raw, size"),
            ({"size": 0}, "provider_options.odd.size: 0 is not a whole number"),
        ],
    )
    def test_a_wrong_one_is_told_when_it_is_read(self, given: dict[str, Any], words: str) -> None:
        """With its place and a suggestion."""
        with pytest.raises(InvalidValueError) as caught:
            Options(provider_options={"odd": given}).of(Odd)

        assert words in str(caught.value)
