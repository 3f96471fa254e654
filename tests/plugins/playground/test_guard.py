"""Who may ask at all: strict about hosts, origins, headers, tokens and how often."""

from __future__ import annotations

import hmac
from typing import Any

import pytest
from nr_llm_playground.guard import ALWAYS, CSP, LOOPBACK, Doors, check_header, is_loopback
from nr_llm_playground.rates import REMEMBERED, Rates
from nr_llm_playground.refusals import Refusal
from nr_llm_playground.tokens import Token
from starlette.datastructures import Headers

DOORS = Doors.of([*LOOPBACK, "example.org", "shop.test:8443"], ["https://front.test"])


class TestHosts:
    """Which hosts are served."""

    @pytest.mark.parametrize(
        "host",
        ["127.0.0.1", "127.0.0.1:8765", "LOCALHOST:1", "[::1]", "[::1]:99", "Example.ORG", "shop.test:8443"],
    )
    def test_served(self, host: str) -> None:
        """Names on the list, in any case, with any port unless the list names one."""
        assert DOORS.check_host([host]) == host.lower()

    @pytest.mark.parametrize(
        "given",
        [
            [],
            [""],
            ["127.0.0.1", "127.0.0.1"],
            ["evil.test"],
            ["evil@127.0.0.1"],
            ["127.0.0.1@evil.test"],
            ["127.0.0.1.evil.test"],
            ["localhost.evil.test"],
            ["localhost:"],
            ["localhost:80:80"],
            ["localhost:123456"],
            ["localhost/"],
            ["localhost,evil.test"],
            [" localhost"],
            ["localhost\n"],
            ["::1"],
            ["[::1"],
            ["[::ffff:127.0.0.1]"],
            ["127.1"],
            ["0.0.0.0"],
            ["2130706433"],
            ["shop.test"],
            ["shop.test:80"],
            ["example.org."],
            ["*"],
        ],
    )
    def test_refused(self, given: list[str]) -> None:
        """Anything else: other names of this machine, users, lists, and what only looks like a name of ours."""
        with pytest.raises(Refusal) as caught:
            DOORS.check_host(given)
        assert (caught.value.status, caught.value.code) == (400, "host")

    def test_checked_elsewhere(self) -> None:
        """With None any well-formed name passes, for something in front has looked."""
        assert Doors.of(None).check_host(["anything.test"]) == "anything.test"
        with pytest.raises(Refusal):
            Doors.of(None).check_host(["a b"])

    @pytest.mark.parametrize(
        ("hosts", "origins"),
        [("localhost", ()), (["http://a.test"], ()), (["*"], ()), ([], ["a.test"]), ([], "https://a.test")],
    )
    def test_lists_that_are_none(self, hosts: Any, origins: Any) -> None:
        """A wrong list is refused where it is written."""
        with pytest.raises(ValueError, match=r"are a list|is no (host|origin)"):
            Doors.of(hosts, origins)


class TestOrigins:
    """Whose pages may call."""

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"origin": "http://localhost:8765", "sec-fetch-site": "same-origin"},
            {"origin": "https://LOCALHOST:8765"},
            {"sec-fetch-site": "none"},
            {"origin": "https://front.test", "sec-fetch-site": "cross-site"},
        ],
    )
    def test_its_own(self, headers: dict[str, str]) -> None:
        """The page's own origin, one that was named, and a program that is no browser."""
        DOORS.check_origin(Headers(headers), "localhost:8765")

    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "null"},
            {"origin": ""},
            {"origin": "http://localhost"},
            {"origin": "http://localhost:8766"},
            {"origin": "http://evil.test"},
            {"origin": "http://localhost:8765.evil.test"},
            {"origin": "http://localhost:8765/"},
            {"origin": "http://evil@localhost:8765"},
            {"origin": "file://localhost:8765"},
            {"origin": "https://front.test.evil.test"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"sec-fetch-site": "anything"},
        ],
    )
    def test_others(self, headers: dict[str, str]) -> None:
        """Another host, port or scheme, no origin at all, and whatever a browser says comes from elsewhere."""
        with pytest.raises(Refusal) as caught:
            DOORS.check_origin(Headers(headers), "localhost:8765")
        assert (caught.value.status, caught.value.code) == (403, "origin")

    def test_a_page_that_was_not_encrypted(self) -> None:
        """Whoever is on the way may have written it; it has the same host, and is no page of an encrypted one."""
        for scheme, origin in (("https", "https://a.test"), ("http", "http://a.test"), ("http", "https://a.test")):
            DOORS.check_origin(Headers({"origin": origin}), "a.test", scheme=scheme)
        with pytest.raises(Refusal):
            DOORS.check_origin(Headers({"origin": "http://a.test"}), "a.test", scheme="https")

    def test_every_origin_counts(self) -> None:
        """Of two that are said both have to be right."""
        both = Headers(raw=[(b"origin", b"http://localhost:8765"), (b"origin", b"http://evil.test")])
        with pytest.raises(Refusal):
            DOORS.check_origin(both, "localhost:8765")

    @pytest.mark.parametrize("given", [[], [b""], [b"0"], [b"1", b"1"]])
    def test_the_header(self, given: list[bytes]) -> None:
        """A call carries it once, with the one value."""
        check_header(Headers(raw=[(b"x-nr-llm", b"1")]))
        with pytest.raises(Refusal, match="header"):
            check_header(Headers(raw=[(b"x-nr-llm", value) for value in given]))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    """All addresses at once are not this machine alone."""
    assert is_loopback(host) is expected


def test_the_policy_has_no_way_around() -> None:
    """Nothing from elsewhere, nothing inline, no markup from text, in no frame."""
    assert "default-src 'none'" in CSP
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in CSP
    assert "frame-ancestors 'none'" in CSP
    assert not {"unsafe", "data:", "blob:", "http", "*"} & set(CSP.replace("'", " ").split())
    assert "unsafe" not in CSP
    assert dict(ALWAYS)["X-Content-Type-Options"] == "nosniff"


class TestTokens:
    """The secret of a launch."""

    def test_each_launch_has_its_own(self) -> None:
        """Of 256 bits, in no repr, and with a cookie of its own name."""
        one, other = Token(), Token()

        assert one.secret != other.secret
        assert one.cookie != other.cookie
        assert len(one.secret) >= 43
        assert one.secret not in repr(one)

    def test_who_knows_it(self) -> None:
        """The whole of it and nothing else."""
        token = Token()

        assert token.is_it(token.secret)
        for wrong in (None, 7, "", token.secret[:-1], token.secret + " ", "ü", "\ud800", [token.secret]):
            assert not token.is_it(wrong)

    def test_the_cookie(self) -> None:
        """It lets in, is out of reach of scripts and other sites, and does not tell the token."""
        token = Token()
        header = token.set_cookie(path="/pg/", secure=False)
        pair, *attributes = header.split("; ")

        assert attributes == ["Path=/pg/", "HttpOnly", "SameSite=Strict"]
        assert token.set_cookie(path="/", secure=True).endswith("; Secure")
        assert token.secret not in header
        assert token.admits([f"other=1; {pair}"])
        assert token.admits(["other=1", pair])
        assert not token.admits([])
        assert not token.admits([f"{pair}x"])
        assert not token.admits([f"{token.cookie}={token.secret}"])
        assert not Token().admits([pair])

    def test_compared_in_constant_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Both comparisons are the library's own."""
        compared = []

        def digest(one: Any, other: Any) -> bool:
            compared.append((one, other))
            return one == other

        monkeypatch.setattr(hmac, "compare_digest", digest)
        token = Token()
        token.is_it("guess")
        token.admits([f"{token.cookie}=guess"])
        assert [one for one, _ in compared] == [b"guess", b"guess"]

    def test_too_short(self) -> None:
        """A word is no secret."""
        with pytest.raises(ValueError, match="at least 32 characters"):
            Token("sesame")


class TestRates:
    """How often somebody may ask."""

    def test_a_bucket_for_each(self) -> None:
        """One who asks too often does not keep others from asking, and may again after a while."""
        now = [0.0]
        rates = Rates(60, clock=lambda: now[0])
        for _ in range(60):
            rates.take("eve")
        with pytest.raises(Refusal) as caught:
            rates.take("eve")
        assert (caught.value.status, caught.value.code, caught.value.headers) == (429, "rate", {"Retry-After": "1"})
        rates.take("ann")
        now[0] = 1.5
        rates.take("eve")
        with pytest.raises(Refusal):
            rates.take("eve")

    def test_what_is_remembered_is_bounded(self) -> None:
        """However many ask."""
        rates = Rates(1)
        for number in range(REMEMBERED + 50):
            rates.take(str(number))

        assert len(rates._left) == REMEMBERED
