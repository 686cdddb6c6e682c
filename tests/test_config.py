"""Settings: from code, environment and file, and what is refused."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi import Config, FileTokenCache
from socialapi.cli.credential_store import CredentialStore
from socialapi.cli.jobs import state_folder
from socialapi.errors import ConfigurationError

PATH = "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com",
        "https://api.example.com:8443/base",
        "http://127.0.0.1:8080/ads",
        "http://127.7.7.7",
        "http://localhost",
        "http://emulator.localhost:1",
        "http://[::1]:8080",
    ],
)
def test_a_host_is_https_or_on_this_machine(url: str) -> None:
    assert Config(base_url=url, ads_url=url, ads_sandbox_url=url).host("ads_sandbox_url") == url


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://api.example.com", "must be https: credentials are never sent in the clear"),
        ("http://10.0.0.1", "must be https"),
        ("http://localhost.example.com", "must be https"),
        ("http://0.0.0.0:80", "must be https"),
        ("ftp://api.example.com", "is not a URL of the form"),
        ("api.example.com", "is not a URL of the form"),
        ("https://", "is not a URL of the form"),
        ("https://api.example.com?key=1", "is not a URL of the form"),
        ("https://api.example.com#top", "is not a URL of the form"),
        ("https://api.example.com:99999", "is not a URL of the form"),
        ("https://-", "is not a URL of the form"),
        ("https://*.example.com", "is not a URL of the form"),
        ("https://999.1.1.1", "is not a URL of the form"),
        ("https://api.example.com:port", "is not a URL of the form"),
        ("https://[::1", "is not a URL of the form"),
        ("https://[::1]x", "is not a URL of the form"),
        ("https://x[::1]:80", "is not a URL of the form"),
        ("https://[::1]x:80", "is not a URL of the form"),
        ("https://[v1.evil]", "is not a URL of the form"),
        ("https://[v1.a:b]", "is not a URL of the form"),
        ("https://api.example.com/a b", "is not a URL of the form"),
        ("https://api.example.com/\r\nX: 1", "is not a URL of the form"),
        ("https://bücher.example", "is not a URL of the form"),
        (5, "is not a URL of the form"),
        (None, "is not a URL of the form"),
        ("https://planted:secret@api.example.com", "contains a user name or password; pass credentials"),
    ],
)
def test_another_host_is_refused_without_being_quoted(url: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=f"base_url {says}") as caught:
        Config(base_url=url)
    assert "planted" not in str(caught.value)


def test_blanks_and_slashes_at_the_end_of_a_host_do_not_matter() -> None:
    assert Config(base_url=" https://api.example.com/ ").base_url == "https://api.example.com"


def test_a_host_that_is_not_set_is_asked_for_when_it_is_needed() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Config().host("ads_url")
    assert str(caught.value) == (
        "no ads_url is configured: pass Config(ads_url=…) or set SOCIALAPI_ADS_URL "
        "(`socialapi emulator` prints the addresses of a local one)"
    )


@pytest.mark.parametrize("instead", ["a relative path", "an error of the library"])
@pytest.mark.parametrize(
    ("kind", "open_folder", "says"),
    [
        ("config", lambda: CredentialStore.of({}), "SOCIALAPI_CREDENTIALS_FILE"),
        ("state", lambda: state_folder({}), "SOCIALAPI_STATE_DIR"),
        ("cache", FileTokenCache, "pass the path of the token cache"),
    ],
)
def test_a_user_without_a_home_is_told_what_to_set(
    kind: str, open_folder: Callable[[], object], says: str, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless(name: str) -> Path:
        if instead == "a relative path":
            return Path("~") / name
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(platformdirs, f"user_{kind}_path", homeless)
    with pytest.raises(ConfigurationError) as caught:
        open_folder()
    assert str(caught.value) == f"this user has no home folder: set HOME, or {says}"


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("timeout_seconds", 0, "must be a number greater than zero, not 0"),
        ("timeout_seconds", -1.5, "must be a number greater than zero"),
        ("timeout_seconds", math.nan, "must be a number greater than zero"),
        ("timeout_seconds", "5", "must be a number greater than zero, not '5'"),
        ("timeout_seconds", True, "must be a number greater than zero"),
        ("timeout_seconds", None, "must be a number greater than zero, not None"),
        ("max_wait_seconds", -1, "must be a number of at least zero, not -1"),
        ("max_wait_seconds", math.nan, "must be a number of at least zero"),
        ("retries", -1, "must be a whole number of at least zero"),
        ("retries", 1.5, "must be a whole number of at least zero"),
        ("max_concurrency", 0, "must be a whole number greater than zero"),
        ("max_connections", 0.5, "must be a whole number greater than zero"),
        ("max_operations", 0, "must be a whole number greater than zero"),
        ("interactive_reserve", 1, "must be a number from 0 to below 1, not 1"),
        ("interactive_reserve", -0.1, "must be a number from 0 to below 1"),
        ("interactive_reserve", "all", "must be a number from 0 to below 1"),
        ("rate_limits", {"x": (0, 60)}, "x must be .requests, window in seconds., .* both above zero"),
        ("rate_limits", {"x": (10, 0)}, "both above zero"),
        ("rate_limits", {"x": (10,)}, "both above zero"),
        ("rate_limits", {"x": 10}, "both above zero"),
        ("rate_limits", {"x": ("10", 60)}, "both above zero"),
        ("rate_limits", 10, "must be a table"),
        ("rate_limits", {5: (10, 60)}, "both above zero"),
        ("rate_limits", {"x": (10, math.inf)}, "both above zero"),
        ("timeout_seconds", math.inf, "must be a number greater than zero"),
        ("timeout_seconds", 10**400, "must be a number greater than zero"),
        ("max_elapsed_seconds", [5], "must be a number greater than zero"),
        ("problem_base_url", 5, "must be a string, not int"),
        ("base_url", 5, "is not a URL"),
        ("ads_url", b"https://x.example", "is not a URL"),
        ("paths", {PATH: "12/{account_id}"}, "must start with a slash"),
        ("paths", {PATH: "/12/{account}"}, r"have no \{parameters\} other than those in /12/accounts"),
        ("paths", {PATH: "/12/{"}, r"have no \{parameters\} other than"),
        ("paths", {PATH: 5}, "must start with a slash"),
        ("paths", "x", "must be a table"),
        ("paths", {5: "/12/x"}, "must start with a slash"),
        ("paths", {PATH: "/12/a b"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12/x\r\nx-evil: 1"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12/../oauth2/token"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12//x"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12/ü"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12/x?y=1"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12/{account_id!r}"}, "must have percent-encoded segments"),
        ("paths", {PATH: "/12/\ud800"}, "must have percent-encoded segments"),
        ("ads_versions", {"12": 13}, "the version that replaces 12 must consist of ASCII letters and digits"),
        ("ads_versions", {"5": "6/x"}, "the version that replaces 5 must consist of ASCII letters and digits"),
        ("ads_versions", {"5": ""}, "the version that replaces 5 must consist of ASCII letters and digits"),
        ("ads_versions", {"12": "१३"}, "the version that replaces 12 must consist of ASCII letters and digits"),
        ("ads_versions", {"11": "13"}, "'11' is not one of the documented versions, 12 and 5"),
        ("ads_versions", {12: "13"}, "12 is not one of the documented versions, 12 and 5"),
        ("ads_versions", ["13"], "must be a table"),
        ("rate_limit_header_prefixes", "x-rate-limit-", "must be a tuple of lowercase strings"),
        ("rate_limit_header_prefixes", ("X-Rate-Limit-",), "must be a tuple of lowercase strings"),
        ("rate_limit_header_prefixes", (5,), "must be a tuple of lowercase strings"),
        ("rate_limit_header_prefixes", ("x-\r\n",), "contains characters that are not allowed in a header name"),
        ("rate_limit_header_prefixes", ("x limit-",), "contains characters that are not allowed in a header name"),
        ("rate_limit_header_prefixes", ("лимит-",), "contains characters that are not allowed in a header name"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_its_name(setting: str, value: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{setting}.* {says}"):
        Config(**{setting: value})


def test_settings_at_their_edges_are_taken() -> None:
    config = Config(
        retries=0,
        max_wait_seconds=0,
        interactive_reserve=0,
        max_operations=None,
        rate_limits={"custom_audience_uploads": (1, 0.5)},
        paths={PATH: "/13/{custom_audience_id}"},
    )
    assert config.rate_limits == {"custom_audience_uploads": (1, 0.5)}


# Environment


def test_the_environment_sets_hosts_and_numbers() -> None:
    config = Config.from_env(
        {
            "SOCIALAPI_BASE_URL": "https://api.example.com/",
            "SOCIALAPI_ADS_URL": " https://ads.example.com ",
            "SOCIALAPI_ADS_SANDBOX_URL": "https://sandbox.example.com",
            "SOCIALAPI_PROBLEM_BASE_URL": "https://api.example.com/problems/",
            "SOCIALAPI_TIMEOUT_SECONDS": "2.5",
            "SOCIALAPI_RETRIES": "7",
            "SOCIALAPI_MAX_OPERATIONS": "100",
            "SOCIALAPI_MAX_WAIT_SECONDS": "",
            "SOMETHING_ELSE": "1",
        }
    )
    assert config == Config(
        base_url="https://api.example.com",
        ads_url="https://ads.example.com",
        ads_sandbox_url="https://sandbox.example.com",
        problem_base_url="https://api.example.com/problems",
        timeout_seconds=2.5,
        retries=7,
        max_operations=100,
    )


@pytest.mark.parametrize(("name", "text"), [("RETRIES", "4.5"), ("RETRIES", "many"), ("TIMEOUT_SECONDS", "1m")])
def test_a_variable_that_is_no_number_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"SOCIALAPI_{name} is not a number: '{text}'"):
        Config.from_env({f"SOCIALAPI_{name}": text})


# Files


def written(path: Path, text: str) -> Path:
    file = path / "socialapi.toml"
    file.write_text(text, "utf-8")
    return file


def test_a_file_sets_everything(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        ads_url = "https://ads.example.com"
        retries = 2
        timeout_seconds = 5
        rate_limit_header_prefixes = ["ratelimit-"]
        [rate_limits]
        custom_audience_uploads = [100, 60.0]
        [ads_versions]
        12 = "13"
        [paths]
        "/12/accounts/{account_id}/cards" = "/13/accounts/{account_id}/cards"
        """,
    )
    assert Config.from_file(file) == Config(
        ads_url="https://ads.example.com",
        retries=2,
        timeout_seconds=5,
        rate_limit_header_prefixes=("ratelimit-",),
        rate_limits={"custom_audience_uploads": (100, 60.0)},
        ads_versions={"12": "13"},
        paths={"/12/accounts/{account_id}/cards": "/13/accounts/{account_id}/cards"},
    )


def test_the_environment_goes_before_the_file_that_it_names(tmp_path: Path) -> None:
    file = written(tmp_path, 'base_url = "https://file.example.com"\nretries = 2\n')
    env = {"SOCIALAPI_CONFIG_FILE": str(file), "SOCIALAPI_RETRIES": "3"}
    assert Config.from_env(env) == Config(base_url="https://file.example.com", retries=3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('colour = "blue"\nbase_url = ""\nsize = 1', "unknown settings colour, size"),
        ("base_url = ", "cannot read the configuration file"),
        ("base_url = 5", "base_url is not a URL"),
        ('timeout_seconds = "5"', "timeout_seconds must be a number"),
        ("rate_limits = 5", "rate_limits must be a table"),
        ("[rate_limits]\nx = 5", "rate_limits: x must be"),
        ("rate_limit_header_prefixes = 5", "rate_limit_header_prefixes must be"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_the_reason(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Config.from_file(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read the configuration file .*nowhere\.toml"):
        Config.from_env({"SOCIALAPI_CONFIG_FILE": str(tmp_path / "nowhere.toml")})


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "binary.toml"
    file.write_bytes(b"\xff\xfe\0")
    with pytest.raises(ConfigurationError, match="cannot read the configuration file"):
        Config.from_file(file)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"x = {'[' * 3_000}", "its values are nested too deeply"),
        (f"max_connections = {'9' * 5_000}", "it contains a number with too many digits"),
    ],
)
def test_a_file_that_python_cannot_read_is_refused_with_the_reason(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError) as caught:
        Config.from_file(file)
    assert str(caught.value) == f"cannot read the configuration file {file}: {says}"


@pytest.mark.parametrize("path", [5, None, b"x.toml", ["x.toml"], "a\0b", "\ud800.toml"])
def test_a_file_whose_name_is_none_is_refused(path: Any) -> None:
    with pytest.raises(ConfigurationError, match="cannot read the configuration file") as caught:
        Config.from_file(path)
    assert caught.value.__context__ is None


@given(st.text())
def test_no_text_becomes_a_host_that_could_be_taken_for_another(text: str) -> None:
    for address in (text, f"https://{text}", f"https://api.example.com{text}"):
        try:
            config = Config(base_url=address)
        except ConfigurationError as error:
            assert error.__context__ is None  # noqa: PT017  # either is right
        else:
            assert config.base_url.isascii()
            assert config.base_url.isprintable()
            assert not set(config.base_url) & set(' \\"<>^`{|}')
