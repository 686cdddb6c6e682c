"""Credentials: plain data that hide what they hold."""

import copy
import pickle
from typing import Any

import pytest

from socialapi import AppOnly, Bearer, OAuth1, OAuth2User
from socialapi.credentials import Credentials, credentials_from_env
from socialapi.errors import ConfigurationError

ALL: list[Credentials] = [
    AppOnly("planted-1", "planted-2"),
    Bearer("planted-3"),
    OAuth1("planted-4", "planted-5", "planted-6", "planted-7"),
    OAuth2User("planted-8"),
]


@pytest.mark.parametrize("credential", ALL)
def test_no_part_of_a_secret_is_shown(credential: Credentials) -> None:
    assert repr(credential) == str(credential) == f"{type(credential).__name__}()"
    assert "planted" not in f"{credential}{[credential]}"


@pytest.mark.parametrize("credential", ALL)
def test_credentials_are_values(credential: Credentials) -> None:
    assert copy.deepcopy(credential) == credential
    assert pickle.loads(pickle.dumps(credential)) == credential
    assert len({credential, copy.copy(credential)}) == 1


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "Bearer.token is empty"),
        ("  ", "Bearer.token is empty"),
        (None, "Bearer.token is empty"),
        (b"planted", "Bearer.token is empty"),
        ("planted\n", "Bearer.token contains a space, line break or control character, which secrets never do"),
        ("planted planted", "Bearer.token contains a space"),
        ("planted\r\nX-Evil: 1", "Bearer.token contains a space"),
        ("planted\0", "Bearer.token contains a space"),
    ],
)
def test_what_can_be_no_secret_is_refused_by_the_name_of_its_field(value: Any, says: str) -> None:
    """A line break at the end of a secret that was read from a file would otherwise fail in the middle of a call."""
    with pytest.raises(ConfigurationError, match=says) as caught:
        Bearer(value)
    assert "planted" not in repr(caught.value)


def test_every_field_is_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"OAuth1\.access_token_secret is empty"):
        OAuth1("a", "b", "c", "")
    with pytest.raises(ConfigurationError, match=r"AppOnly\.api_key_secret is empty"):
        AppOnly("a", "")


APP = {"SOCIALAPI_API_KEY": "k", "SOCIALAPI_API_KEY_SECRET": "s"}
USER = {"SOCIALAPI_ACCESS_TOKEN": "t", "SOCIALAPI_ACCESS_TOKEN_SECRET": "ts"}


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, ()),
        (APP, (AppOnly("k", "s"),)),
        (APP | USER, (OAuth1("k", "s", "t", "ts"), AppOnly("k", "s"))),
        ({"SOCIALAPI_BEARER_TOKEN": "b"}, (Bearer("b"),)),
        ({"SOCIALAPI_BEARER_TOKEN": " b\r\n"}, (Bearer("b"),)),
        ({"SOCIALAPI_OAUTH2_ACCESS_TOKEN": "u", "SOCIALAPI_BEARER_TOKEN": "b"}, (OAuth2User("u"), Bearer("b"))),
        ({"SOCIALAPI_BEARER_TOKEN": "", "SOCIALAPI_API_KEY": "  "}, ()),
    ],
)
def test_the_environment_gives_every_credential_that_is_complete(
    environ: dict[str, str], found: tuple[Credentials, ...]
) -> None:
    assert credentials_from_env(environ) == found


@pytest.mark.parametrize(
    ("environ", "missing"),
    [
        ({"SOCIALAPI_API_KEY": "planted"}, "SOCIALAPI_API_KEY_SECRET"),
        ({"SOCIALAPI_API_KEY_SECRET": "planted"}, "SOCIALAPI_API_KEY"),
        (APP | {"SOCIALAPI_ACCESS_TOKEN": "planted"}, "SOCIALAPI_ACCESS_TOKEN_SECRET"),
        (USER, "SOCIALAPI_API_KEY and SOCIALAPI_API_KEY_SECRET"),
        (
            {"SOCIALAPI_ACCESS_TOKEN_SECRET": "planted"},
            "SOCIALAPI_API_KEY and SOCIALAPI_API_KEY_SECRET and SOCIALAPI_ACCESS_TOKEN",
        ),
    ],
)
def test_an_incomplete_environment_names_what_is_missing(environ: dict[str, str], missing: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        credentials_from_env(environ)
    assert str(caught.value) == f"the credentials in the environment are incomplete: set {missing}"


def test_without_an_argument_it_is_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOCIALAPI_BEARER_TOKEN", "b")
    assert Bearer("b") in credentials_from_env()
