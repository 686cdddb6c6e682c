"""Which callbacks are of a sign-in, and what they say."""

from collections.abc import Mapping

import pytest

from socialapi.cli.sign_in import _code_of, _verifier_of
from socialapi.errors import SocialApiError
from socialapi.models.oauth import RequestToken

TOKEN = RequestToken(oauth_token="t", oauth_token_secret="s")


@pytest.mark.parametrize(
    ("parameters", "verifier"),
    [
        ({"oauth_token": "t", "oauth_verifier": "v"}, "v"),
        ({"oauth_token": "other", "oauth_verifier": "v"}, None),
        ({"oauth_verifier": "v"}, None),
        ({"oauth_token": "t"}, None),
        ({"denied": "other"}, None),
        ({}, None),
    ],
)
def test_a_verifier_is_taken_with_the_token_of_the_sign_in_only(
    parameters: Mapping[str, str], verifier: str | None
) -> None:
    assert _verifier_of(TOKEN)(parameters) == verifier


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"state": "mine", "code": "c"}, "c"),
        ({"state": "other", "code": "c"}, None),
        ({"state": "other", "error": "access_denied"}, None),
        ({"code": "c"}, None),
        ({"state": "mine"}, None),
        ({}, None),
    ],
)
def test_a_code_is_taken_with_the_state_of_the_sign_in_only(parameters: Mapping[str, str], code: str | None) -> None:
    assert _code_of("mine")(parameters) == code


def test_another_error_of_the_page_is_told_without_its_words() -> None:
    with pytest.raises(SocialApiError) as told:
        _code_of("mine")({"state": "mine", "error": "\x1b[2Jinvalid_scope"})
    assert str(told.value) == "the page reports an error"
