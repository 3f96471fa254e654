"""Secrets are masked whether known or recognised, whole or in pieces; everything else is left alone."""

from __future__ import annotations

import re
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm._shapes import SHAPES, Shape
from nr_llm.redaction import NAMES_KEPT, WITHHELD, Redactor
from nr_llm.secrets import MASK, Secret

KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEA7bq\nx9/+Zq1ZzE3u0a2b\n"
    "-----END RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"

# One line per form: the text, and what of it has to go.
SECRETS = [
    ("sk-abcdEFGHijklMNOPqrst1234", "sk-abcdEFGHijklMNOPqrst1234"),
    ("sk-proj-A1b2_C3d4-E5f6g7h8i9j0", "sk-proj-A1b2_C3d4-E5f6g7h8i9j0"),
    ("sk-ant-api03-Abcdefghijklmnop-12_xy", "sk-ant-api03-Abcdefghijklmnop-12_xy"),
    ("gsk_" + "a1B2" * 8, "a1B2a1B2"),
    ("ghp_" + "a1B2" * 9, "ghp_a1B2"),
    ("ghs_" + "a1B2" * 9, "ghs_a1B2"),
    ("gho_" + "a1B2" * 9, "gho_a1B2"),
    ("github_pat_" + "a1B2_" * 9, "a1B2_a1B2"),
    ("glpat-" + "a1B2-" * 5, "glpat-a1B2"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("AIza" + "SyA1b2C3-_" * 4, "SyA1b2C3"),
    ("ya29.a0AfH6SMBx-abcdefgh_ijkl", "a0AfH6SMBx"),
    ("xoxb-123456789012-abcdefGHIJKL", "123456789012-abcdef"),
    ("xapp-1-A012-345-abcdef", "A012-345"),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    ("pk_test_TYooMQauvdEDq54NiTphI7jx", "TYooMQauvdEDq54NiTphI7jx"),
    ("whsec_" + "a1B2" * 8, "whsec_a1B2"),
    ("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", "TwL2iGABf9DHoTf"),
    ("npm_" + "a1B2" * 9, "npm_a1B2"),
    ("pypi-AgEIcHlwaS5vcmc" + "a1B2" * 9, "AgEIcHlwaS5vcmc"),
    (JWT, "dozjgNryP4J3jVmNHl0w5N"),
    ("Authorization: Bearer short", "short"),
    ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("'Authorization': 'Token abc'", "abc"),
    ("x-api-key: abcdef", "abcdef"),
    ("X-Goog-Api-Key: abcdef", "abcdef"),
    ("PRIVATE-TOKEN: abcdef", "abcdef"),
    ("curl -H 'Cookie: session=abc; csrf=def' x", "csrf=def"),
    ("sent Bearer abc.def-123456", "abc.def-123456"),
    ("https://user:p%40ss@host/db", "p%40ss"),
    ("postgres://user:p@ss#w?x@host:5432/db", "p@ss#w?x"),
    ("redis://:pw4redis@host:6379/0", "pw4redis"),
    ("https://0123456789abcdef0123@o1.ingest.example/2", "0123456789abcdef0123"),
    ("https://hooks.slack.com/services/T0000/B0000/" + "x1Y2" * 6, "x1Y2x1Y2"),
    ("https://h/p?api_key=abc&x=1", "abc"),
    ("https://h/p?x=1&access_token=abc", "abc"),
    ("https://h/p?key=abc#top", "abc"),
    ("https://h/p?X-Amz-Signature=abc", "abc"),
    ("OPENAI_API_KEY=abc", "abc"),
    ('export DB_PASSWORD="abc"', "abc"),
    ('{"password": "open sesame"}', "open sesame"),
    (r'"{\"client_secret\": \"abc\", \"x\": 1}"', "abc"),
    ("{'api_key': 'it\\'s'}", "it\\'s"),
    ('{"token": "cut short by a lim', "cut short"),
    (KEY, "x9/+Zq1ZzE3u0a2b"),
    (KEY.replace("\n", "\\n"), "x9/+Zq1ZzE3u0a2b"),
    (KEY[: KEY.index("-----END")].replace("Proc-Type: 4,ENCRYPTED\n\n", ""), "x9/+Zq1ZzE3u0a2b"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n", "b3BlbnNzaC1rZXktdjEA"),
]

PLAIN = [
    "The bearer of this letter holds the key to the password problem; a token gesture.",
    "123e4567-e89b-12d3-a456-426614174000",
    "d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "gpt-4o-mini-2024-07-18 claude-3-5-sonnet-20241022 gemini-2.0-flash models/text-embedding-004",
    "/usr/lib/python3.11/site-packages/keyring/backends/SecretService.py:12",
    "sk-learn sk-1234 risk-assessment-of-2024-Q3-and-Beyond sk-a-rather-long-css-class-name-here",
    "jane.doe@example.org wrote to <bob@example.org>",
    "http://localhost:8080/path?email=a@b.org and https://example.org:443?x=me@here",
    "def login(user: str, password: str, token: str | None = None) -> Session:",
    "API_KEY = os.environ['OPENAI_API_KEY']; TOKEN=$OTHER TOKEN=<yours>",
    '{"next_page_token": "CAUQAA", "continuationToken": "abc", "max_tokens": 512, "key": "value"}',
    "https://h/p?page_token=abc&sort=key&monkey=1&tokens=5",
    "Basic authentication, bearer authentication; authorization: Bearer",
    "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA7bq\n-----END CERTIFICATE-----",
    "[redacted]",
]


class TestShapes:
    @pytest.mark.parametrize(("text", "gone"), SECRETS)
    @pytest.mark.parametrize("around", ["{}", "see {} there", "({})", 'x="{}"', "line\\n{}\\n", "a%3D{}", "\n{}\n"])
    def test_masked(self, text: str, gone: str, around: str):
        """Every listed shape goes, whatever stands around it, and the gap is visible."""
        masked = Redactor().redact(around.replace("{}", text))

        assert gone not in masked
        assert MASK in masked

    @pytest.mark.parametrize("text", PLAIN)
    def test_left_alone(self, text: str):
        """Ordinary text of the same flavour is unchanged."""
        assert text == Redactor().redact(text)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("https://user:pw@host/db", f"https://user:{MASK}@host/db"),
            ("https://h/p?api_key=abc&x=1", f"https://h/p?api_key={MASK}&x=1"),
            ("Authorization: Bearer abc", f"Authorization: Bearer {MASK}"),
            ('{"password": "a\\"b", "x": 1}', f'{{"password": "{MASK}", "x": 1}}'),
            (f"before {KEY} after", f"before {MASK} after"),
            ("-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq\nthe end.", f"{MASK}\nthe end."),
        ],
    )
    def test_no_more_than_the_secret(self, text: str, expected: str):
        """What says where the secret stood remains."""
        assert expected == Redactor().redact(text)

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
    def test_hints(self, shape: Shape):
        """A shape's hints stand in all it finds, so that looking at them first loses nothing."""
        found = [m.group() for text, _ in SECRETS for m in shape.pattern.finditer(text)]

        assert found
        assert all(any(hint in text.lower() for hint in shape.hints) for text in found)


class TestKnown:
    def test_anywhere(self):
        """A known value goes wherever it stands, with the rest of its token."""
        assert f"x{MASK}, {MASK}!" == Redactor(["tiger-7"]).redact("xtiger-7-and-more, tiger-7!")

    def test_overlapping(self):
        """Overlapping values leave no remainder."""
        assert f"<{MASK}>" == Redactor(["abc.def", "def.ghi"]).redact("<abc.def.ghi>")

    def test_repeated_in_itself(self):
        """A value that overlaps itself leaves no remainder."""
        assert f"{MASK}." == Redactor(["xyzxyz"]).redact("xyzxyzxyz.")

    def test_within_another(self):
        """A value that begins another does not keep the rest of it."""
        assert f"{MASK} {MASK}" == Redactor(["secret", "secret!more"]).redact("secret!more secret")

    @pytest.mark.parametrize(
        "written",
        ['a"b&c\\d e', '{"k": "a\\"b&c\\\\d e"}', "a%22b%26c%5Cd%20e", "a%22b%26c%5Cd+e", "a&quot;b&amp;c\\d e"],
    )
    def test_encoded(self, written: str):
        """Its JSON, URL and HTML forms go too."""
        assert re.search(r"a.*b.*c.*d.*e", written)
        assert not re.search(r"b.*c", Redactor(['a"b&c\\d e']).redact(written))

    def test_lines(self):
        """A long line of a secret of several lines is a secret, since tools print single lines."""
        assert f"key.pem:2:{MASK}" == Redactor(["first\nMIIEowIBAAKCAQEA/=\n"]).redact("key.pem:2:MIIEowIBAAKCAQEA/=")

    @pytest.mark.parametrize("value", ["a", "abc", " b "])
    def test_short(self, value: str):
        """A value of up to three characters is masked as a whole text and blanks no other."""
        redactor = Redactor([value])

        assert redactor.redact(value.strip()) == MASK
        assert f"a cab abc b {value} x" == redactor.redact(f"a cab abc b {value} x")
        assert redactor.redact("") == ""

    def test_learn(self):
        """A value learned later is masked from then on; an empty one changes nothing."""
        redactor = Redactor()
        redactor.learn("")
        redactor.learn("   ")
        before = redactor.redact("a tiger-7 text")
        redactor.learn(Secret("tiger-7"))

        assert before == "a tiger-7 text"
        assert f"a {MASK} text" == redactor.redact("a tiger-7 text")
        assert redactor.redact("") == ""

    def test_like_the_mask(self):
        """A secret that is part of the mask itself does not make masks grow."""
        redactor = Redactor(["redacted", "acted]", "[redacted]"])

        assert redactor.redact("redacted").strip() == MASK
        assert redactor.redact(MASK) == MASK

    def test_repr(self):
        """A redactor does not show what it knows."""
        assert "tiger-7" not in repr(Redactor(["tiger-7"]))

    def test_threads(self):
        """Values learned by many threads at once are all masked."""
        redactor, start = Redactor(), threading.Barrier(8)

        def learn(number: int) -> None:
            start.wait()
            for i in range(20):
                redactor.learn(f"value-{number}-{i}!")

        threads = [threading.Thread(target=learn, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert all(redactor.redact(f"value-{n}-{i}!") == MASK for n in range(8) for i in range(20))


class TestJson:
    def test_shape_kept(self):
        """Every text is masked, keys too, and the structure stays."""
        value = {"a": ["tiger-7", {"tiger-7": 1}, ("x", 2.5, None, True)], "n": {}}

        assert Redactor(["tiger-7"]).redact_json(value) == {"a": [MASK, {MASK: 1}, ["x", 2.5, None, True]], "n": {}}

    @pytest.mark.parametrize(
        "name", ["password", "DB_PASSWORD", "apiKey", "x-api-key", "client_secret", "Authorization", "accessToken"]
    )
    def test_credential_names(self, name: str):
        """Below a key that names a credential texts and numbers go, flags and emptiness stay."""
        value = {name: "x", "list": [{name: ["y", 5, None, True]}], "plain": "z"}

        assert {name: MASK, "list": [{name: [MASK, MASK, None, True]}], "plain": "z"} == Redactor().redact_json(value)

    @pytest.mark.parametrize(
        "name", ["next_page_token", "continuationToken", "max_tokens", "key", "primary_key", "author"]
    )
    def test_other_names(self, name: str):
        """A key that only sounds like one does not."""
        assert {name: "x"} == Redactor().redact_json({name: "x"})

    def test_mapping_below_a_credential_name(self):
        """A JSON Schema with a parameter named password stays readable."""
        value = {"password": {"type": "string", "default": "tiger-7"}}

        assert Redactor(["tiger-7"]).redact_json(value) == {"password": {"type": "string", "default": MASK}}

    def test_keys_that_fall_together(self):
        """Two keys that look alike once masked keep both values."""
        redactor = Redactor(["tiger-7", "lion-88"])

        assert {MASK: 1, f"{MASK}'": 2} == redactor.redact_json({"tiger-7": 1, "lion-88": 2})

    def test_numbers(self):
        """A known value that is written as a number goes, others stay numbers."""
        assert Redactor(["987654"]).redact_json([987654, 12345, 0.5]) == [MASK, 12345, 0.5]

    def test_foreign(self):
        """What is no JSON value is masked."""
        assert Redactor().redact_json([Secret("tiger-7"), object()]) == [MASK, MASK]

    def test_idempotent(self):
        """A second pass changes nothing."""
        redactor = Redactor(["tiger-7", "lion-88"])
        once = redactor.redact_json({"tiger-7": 1, "lion-88": {"password": "x", "t": "a tiger-7"}})

        assert once == redactor.redact_json(once)


class TestFailure:
    class Broken:
        """Stands in for a pattern that fails while it searches."""

        groupindex = ()

        def finditer(self, text: str):
            raise RuntimeError(text)

    def test_text(self):
        """A text whose masking fails is withheld as a whole, visibly."""
        redactor = Redactor(shapes=[Shape("broken", self.Broken(), ("tiger",))])

        assert redactor.redact("a tiger text") == WITHHELD
        assert redactor.redact("another text") == "another text"

    def test_json(self):
        """A value that cannot be walked is withheld as a whole."""
        value: list[object] = []
        for _ in range(sys.getrecursionlimit()):
            value = [value]

        assert Redactor().redact_json(value) == WITHHELD

    def test_stage(self):
        """A stream whose masking fails shows nothing of it."""
        stage = Redactor(shapes=[Shape("broken", self.Broken(), ("tiger",))]).stage()

        assert "tiger" not in stage.feed("a tiger text \n") + stage.finish()


# Fragments out of which texts are built that come near to every shape, cut, doubled and glued.
FRAGMENTS = [
    *(text for text, _ in SECRETS),
    *PLAIN,
    *" \n\t\"'\\:=@/?&;.-_ax5A$<[]%é",
    *[
        "sk-",
        "sk-aB3",
        "eyJ",
        "AKIA",
        "ghp_",
        "bearer",
        "Basic",
        "password",
        "token",
        "page_",
        "API_KEY=",
        "://",
        "://u:",
        "?key=",
        "%3D",
        "-----",
    ],
    *("Bearer ", "Authorization: ", "Cookie: ", '"password": "', "\\n", "a" * 20, "A1" * 10, "\ud800"),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA7bq"),
    *(MASK, "[redacted", "redacted]", "two words", "two ", "words here", "a\nb"),
    *["tiger", "tiger-7", "iger-7x", "with.", "ab", "xyz"],
]
KNOWN = [
    *("two words", "words here", "line\nbreak"),
    *["tiger-7", "iger-7x", "with.", "ab", "xyzxyz", "[red", "cted]", "pass.", "x5A$"],
]

texts = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
knowns = st.lists(st.sampled_from(KNOWN) | st.text("ab. \n-", min_size=1, max_size=8), max_size=4)


class TestLaws:
    @given(texts, knowns)
    def test_idempotent(self, text: str, known: list[str]):
        """Masking twice equals masking once."""
        redactor = Redactor(known)
        once = redactor.redact(text)

        assert once == redactor.redact(once)

    @given(texts, knowns)
    def test_no_known_value_survives(self, text: str, known: list[str]):
        """No known value is left, except as part of a mask."""
        parts = Redactor(known).redact(text).split(MASK)

        assert not [value for value in known if len(value) > 3 for part in parts if value in part]

    @given(texts, knowns, st.data())
    def test_stream(self, text: str, known: list[str], data: st.DataObject):
        """However a text is cut, the joined pieces equal the redaction of the whole."""
        redactor = Redactor(known)
        cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=20).map(sorted))
        stage = redactor.stage()

        pieces = [stage.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

        assert redactor.redact(text) == "".join([*pieces, stage.finish()])

    @given(texts)
    def test_stream_by_character(self, text: str):
        """One character at a time as well, and the stage can be used again."""
        redactor = Redactor(KNOWN)
        stage = redactor.stage()

        for _ in range(2):
            assert redactor.redact(text) == "".join([*map(stage.feed, text), stage.finish()])

    @pytest.mark.parametrize(
        "fragment",
        [
            *[
                "a",
                "a-",
                "A_",
                "sk-",
                "sk-a",
                "eyJ",
                "eyJaaaaaaaa.",
                "eyJaaaaaaaa",
                "SG.",
                "SG.aaaaaaaaaaaaaaaa",
                "AKIA",
                "ghp_",
                "xox",
            ],
            *[
                "://",
                "://a:",
                "://a:a",
                "://a:a@",
                "https://",
                "https://a",
                "?",
                "?a_",
                "?key=",
                "&token",
                "cookie:",
                "\\",
                "\\n",
                "'",
                "-",
                "[",
                "é",
            ],
            *[
                "authorization",
                "authorization:",
                "x-a-",
                "x-",
                '"a',
                '"token',
                '"token":"',
                "tiger-",
                "tiger-7",
                "[redacted]",
            ],
            *("authorization: bearer ", "bearer ", "bearer a", '"token": "a\\', "\n", " ", "MIIEowIBAAKCAQEA7bq\n"),
            *("-----BEGIN PRIVATE KEY-----", "-----BEGIN A A A "),
        ],
    )
    def test_linear(self, fragment: str):
        """A long text that is built to make patterns start over is done; under a quadratic search it would never be."""
        redactor = Redactor(["tiger-7", "tiger-tiger-tiger-!"])
        text = fragment * (200_000 // len(fragment))

        for head in ("", "-----BEGIN PRIVATE KEY-----", '"token": "', "://"):
            masked = redactor.redact(head + text)
            assert masked == redactor.redact(masked)


class TestStage:
    def test_shows_early(self):
        """Plain words are shown as they come, all but the last."""
        stage = Redactor().stage()

        assert stage.feed("Hello dear wor") == "Hello dear "
        assert stage.feed("ld") == ""
        assert stage.feed(" and ") == "world and "
        assert stage.finish() == ""

    def test_holds_a_line_about_credentials(self):
        """A line that speaks of credentials is shown when it has ended."""
        stage = Redactor().stage()

        assert stage.feed("the password is ") == ""
        assert stage.feed("long\nand so") == "the password is long\nand "

    def test_open_key(self):
        """A private key that arrives line by line is held, masked as one, and what follows shown."""
        stage = Redactor().stage()
        pieces = [stage.feed(f"{line}\n") for line in ["-----BEGIN PRIVATE KEY-----", *["MIIEowIBAAKCAQEA7bq"] * 60]]
        rest = [stage.feed("-----END PRIVATE KEY-----\n"), stage.feed("x" * 2000 + "\n"), stage.finish()]

        assert pieces == [""] * 61
        assert f"{MASK}\n{'x' * 2000}\n" == "".join(rest)

    def test_short_value(self):
        """A known value of up to three characters counts only as the whole answer."""
        redactor = Redactor(["ab"])
        alone, last = redactor.stage(), redactor.stage()

        assert alone.feed("a") + alone.feed("b") + alone.finish() == MASK
        assert last.feed("not ab") + last.finish() == "not ab"

    def test_known_value_with_blanks(self):
        """A known value that holds blanks and line breaks is held back from its first character on."""
        stage = Redactor(["open\nsesame now"]).stage()

        assert stage.feed("say open\nsesame ") == "say "
        assert f"{MASK} please " == stage.feed("now please x")
        assert stage.finish() == "x"


def test_names_that_come_again() -> None:
    """A short text without a secret is known again, until a secret is learned that it holds; they are bounded."""
    redactor = Redactor()
    assert [redactor.redact("look_up") for _ in range(2)] == ["look_up"] * 2
    for number in range(NAMES_KEPT + 10):
        assert redactor.redact(f"name-{number}") == f"name-{number}"
    redactor.learn("look_up")
    redactor.learn("abc")

    assert [redactor.redact(text) for text in ("look_up", "abc", "name-3")] == [MASK, MASK, "name-3"]
