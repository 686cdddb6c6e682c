"""The credential of an OAuth 2.0 user: what belongs together, from code and from the environment."""

from collections.abc import Mapping

import pytest

from socialapi import OAuth2User
from socialapi.credentials import credentials_from_env
from socialapi.errors import ConfigurationError


def test_an_access_token_alone_is_a_credential() -> None:
    assert OAuth2User("access") == OAuth2User("access", None, None, None)


@pytest.mark.parametrize("more", [{"refresh_token": "r"}, {"client_secret": "s"}])
def test_what_needs_the_id_of_the_client_says_so(more: Mapping[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"OAuth2User\.client_id is needed"):
        OAuth2User("access", **more)


@pytest.mark.parametrize("name", ["refresh_token", "client_id", "client_secret"])
def test_an_empty_text_is_no_value(name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"OAuth2User\.{name} is empty"):
        OAuth2User("access", **{"client_id": "c", name: " "})


def test_no_part_is_shown() -> None:
    assert repr(OAuth2User("access", "refresh", "client", "secret")) == "OAuth2User()"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"ACCESS_TOKEN": "a"}, OAuth2User("a")),
        ({"ACCESS_TOKEN": "a", "CLIENT_ID": "c"}, OAuth2User("a", None, "c")),
        ({"ACCESS_TOKEN": "a", "REFRESH_TOKEN": "r", "CLIENT_ID": "c"}, OAuth2User("a", "r", "c")),
        (
            {"ACCESS_TOKEN": "a", "REFRESH_TOKEN": "r", "CLIENT_ID": "c", "CLIENT_SECRET": "s"},
            OAuth2User("a", "r", "c", "s"),
        ),
    ],
)
def test_the_environment_makes_up_the_credential(environ: Mapping[str, str], expected: OAuth2User) -> None:
    assert credentials_from_env({f"SOCIALAPI_OAUTH2_{k}": v for k, v in environ.items()}) == (expected,)


def test_the_client_alone_is_no_credential_yet() -> None:
    assert credentials_from_env({"SOCIALAPI_OAUTH2_CLIENT_ID": "c", "SOCIALAPI_OAUTH2_CLIENT_SECRET": "s"}) == ()


@pytest.mark.parametrize(
    ("environ", "missing"),
    [
        ({"REFRESH_TOKEN": "r"}, "SOCIALAPI_OAUTH2_ACCESS_TOKEN and SOCIALAPI_OAUTH2_CLIENT_ID"),
        ({"ACCESS_TOKEN": "a", "REFRESH_TOKEN": "r"}, "SOCIALAPI_OAUTH2_CLIENT_ID"),
        ({"ACCESS_TOKEN": "a", "CLIENT_SECRET": "s"}, "SOCIALAPI_OAUTH2_CLIENT_ID"),
        ({"REFRESH_TOKEN": "r", "CLIENT_ID": "c"}, "SOCIALAPI_OAUTH2_ACCESS_TOKEN"),
    ],
)
def test_an_incomplete_credential_in_the_environment_says_what_is_missing(
    environ: Mapping[str, str], missing: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"incomplete: set {missing}$"):
        credentials_from_env({f"SOCIALAPI_OAUTH2_{k}": v for k, v in environ.items()})
