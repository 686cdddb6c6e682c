"""Challenges and signatures; the literal values were computed with `openssl dgst -sha256 -hmac`."""

import hmac
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.webhooks import SIGNATURE_HEADER, Receiver, crc_response, sign_body, verify_signature
from tests.webhooks.posting import HEADER, signature

SECRET = "consumer-secret-1"
BODY = b'{"data":{"event_type":"post.create","event_id":"1"}}'
SIGNATURE = "sha256=mYvpB6XTL+EZ3cLsUg8KSIyGvPJZQ2xXXS0onH8wG3M="


def test_a_challenge_is_answered_as_the_documentation_has_it() -> None:
    response = {"response_token": "sha256=GFOxVed4I2ZIttJ5QtZ0RBIaGWHqAPVOYBtJUJDQkSw="}
    assert crc_response("challenge-token-1", SECRET) == response
    other = {"response_token": "sha256=PAKldNP+iaqmF1sH3hhnrB2Z3F/x3mZe2UhSuWUeU1Q="}
    assert crc_response("Grüße \N{GRINNING FACE}", "gehéim") == other


@pytest.mark.parametrize(
    ("body", "header"), [(BODY, SIGNATURE), (b"", "sha256=5F6GxctOtxMRZtrvWWi6DPZxKGN4jZ/CoBzl+Tp/r5w=")]
)
def test_the_signature_of_these_bytes_is_genuine(body: bytes, header: str) -> None:
    assert verify_signature(body, header, SECRET)
    assert sign_body(body, SECRET) == header
    assert SIGNATURE_HEADER == HEADER


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "sha256=",
        SIGNATURE.removeprefix("sha256="),
        SIGNATURE.replace("sha256", "SHA256"),
        SIGNATURE.replace("sha256", "sha1"),
        SIGNATURE[:-1],
        SIGNATURE + "=",
        SIGNATURE + " ",
        " " + SIGNATURE,
        SIGNATURE.replace("M=", "N="),  # decodes to the same bytes
        SIGNATURE.lower(),
        "sha256=" + "99" * 32,
        "sha256=mYvpB6XTL-EZ3cLsUg8KSIyGvPJZQ2xXXS0onH8wG3M=",
        SIGNATURE.replace("m", "ｍ"),  # noqa: RUF001  # not ASCII on purpose
        "sha256=\udcff\udcfe",
        "sha256=" + "A" * 100_000,
    ],
)
def test_a_missing_or_malformed_header_fits_no_secret(header: str | None) -> None:
    assert verify_signature(BODY, header, SECRET) is False
    assert verify_signature(BODY, header, [SECRET, "another"]) is False


def test_another_body_or_secret_does_not_fit() -> None:
    assert not verify_signature(BODY + b" ", SIGNATURE, SECRET)
    assert not verify_signature(BODY, SIGNATURE, SECRET + "x")


def test_during_rotation_any_of_the_secrets_fits() -> None:
    assert verify_signature(BODY, SIGNATURE, [SECRET, "new"])
    assert verify_signature(BODY, SIGNATURE, ("new", SECRET))
    assert not verify_signature(BODY, SIGNATURE, ["new", "newer"])


@pytest.mark.parametrize("secret", ["", [], [""], ["fine", ""]])
def test_without_a_secret_nothing_is_signed(secret: Any) -> None:
    with pytest.raises(ConfigurationError, match="consumer secret"):
        verify_signature(BODY, SIGNATURE, secret)
    with pytest.raises(ConfigurationError, match="consumer secret"):
        crc_response("token", "")
    with pytest.raises(ConfigurationError, match="consumer secret"):
        sign_body(BODY, secret)


@pytest.mark.parametrize("secret", [None, 5, b"abc-secret", True, {"abc-secret"}, {"abc-secret": 1}, [b"abc-secret"], ["a", None],
                                    ["a", 5], [["abc-secret"]], object()])  # fmt: skip
def test_a_secret_that_is_no_text_is_named_and_not_told(secret: Any) -> None:
    calls: list[Callable[[], Any]] = [lambda: verify_signature(BODY, SIGNATURE, secret), lambda: Receiver(secret)]
    calls.append(lambda: crc_response("token", secret))
    for call in calls:
        with pytest.raises(ConfigurationError, match=r"^consumer_secret(\[\d\])? must be a string") as refused:
            call()
        assert "abc" not in str(refused.value)


def test_what_is_neither_a_body_nor_a_token_is_named() -> None:
    wrong: Any = None
    with pytest.raises(InvalidInput, match="body must be bytes"):
        verify_signature(wrong, SIGNATURE, SECRET)
    with pytest.raises(InvalidInput, match="body must be bytes"):
        sign_body(wrong, SECRET)
    with pytest.raises(InvalidInput, match="crc_token must be a string"):
        crc_response(wrong, SECRET)
    assert verify_signature(BODY, b"sha256=" + b"A" * 44, SECRET) is False  # type: ignore[arg-type]  # malformed


@given(body=st.binary(), secret=st.text(min_size=1), others=st.lists(st.text(min_size=1), max_size=3))
def test_what_is_signed_is_genuine(body: bytes, secret: str, others: list[str]) -> None:
    assert verify_signature(body, sign_body(body, secret), [*others, secret])


@given(body=st.binary(min_size=1), secret=st.text(min_size=1), data=st.data())
def test_one_changed_byte_is_seen(body: bytes, secret: str, data: st.DataObject) -> None:
    header = sign_body(body, secret)
    at = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert not verify_signature(bytes(changed), header, secret)
    letters = list(header)
    position = data.draw(st.integers(0, len(letters) - 1))
    letters[position] = data.draw(st.characters().filter(lambda letter: letter != header[position]))
    assert not verify_signature(body, "".join(letters), secret)


@pytest.mark.parametrize("header", [None, "", "sha256=ü", SIGNATURE, signature(BODY, "b"), signature(BODY, "c")])
def test_every_comparison_takes_the_same_time(header: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All secrets are compared, whichever fits, by the one function that is made for it."""
    compared: list[tuple[bytes, bytes]] = []

    class Watched(bytes):
        """Bytes that may not be compared in any other way."""

        __hash__ = bytes.__hash__

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared in variable time")

    def compare(given: bytes, expected: bytes) -> bool:
        compared.append((given, expected))
        return hmac_compare(bytes(given), bytes(expected))

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    digest = hmac.digest
    monkeypatch.setattr(hmac, "digest", lambda *given: Watched(digest(*given)))
    verify_signature(BODY, header, [SECRET, "b", "c"])
    assert len(compared) == 3
    assert {type(each) for pair in compared for each in pair} == {bytes}
