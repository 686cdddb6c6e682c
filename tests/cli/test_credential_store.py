"""The file that logins are kept in."""

import os
import re
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

import socialapi
from socialapi import MemoryTokenCache
from socialapi.cli import credential_store
from socialapi.cli.credential_store import (
    KNOWN_VARIABLES,
    CredentialStore,
    Login,
    misspelled_variables,
    open_client,
    with_logins,
)
from socialapi.errors import ConfigurationError

HOST = "https://api.example"
SIGNED = Login(
    host=HOST,
    kind="oauth1",
    secrets={"api_key": "k", "api_key_secret": "ks", "access_token": "at", "access_token_secret": "ats"},
    user_id="7",
    screen_name="ada",
)
RENEWED = Login(
    host=HOST,
    kind="oauth2",
    secrets={"oauth2_access_token": "oat", "oauth2_refresh_token": "ort", "oauth2_client_id": "c"},
    scope="users.read",
)


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path / "new" / "credentials.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"hosts": []}', '{"hosts": {"h": 1}}', "[" * 100_000, "\xff"])
def test_a_file_of_another_make_is_neither_read_nor_written(store: CredentialStore, text: str) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(text.encode("latin-1"))
    for use in (store.logins, lambda: store.save(SIGNED), lambda: store.remove(SIGNED)):
        with pytest.raises(ConfigurationError, match="was not written by `socialapi auth login`"):
            use()
    assert store.path.read_bytes() == text.encode("latin-1")


def test_what_cannot_be_read_or_written_is_said(store: CredentialStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.path.mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        store.logins()
    in_a_file = CredentialStore(Path(__file__) / "credentials.json")
    with pytest.raises(ConfigurationError, match="cannot be written: "):
        in_a_file.save(SIGNED)


def test_a_write_that_fails_leaves_nothing_behind(store: CredentialStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save(SIGNED)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match="cannot be written: No space left on device"):
        store.save(RENEWED)
    assert store.logins() == [SIGNED]
    assert [path.name for path in store.path.parent.iterdir() if path.suffix != ".lock"] == ["credentials.json"]


def test_a_file_that_stays_locked_is_not_waited_for_forever(
    store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_store, "LOCK_TIMEOUT_SECONDS", 0.01)
    store.save(SIGNED)
    with FileLock(f"{store.path}.lock"), pytest.raises(ConfigurationError, match="stays locked by another process"):
        store.save(RENEWED)


def test_the_file_is_in_the_users_configuration_folder_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CredentialStore.of({"SOCIALAPI_CREDENTIALS_FILE": "/x/mine.json"}).path == Path("/x/mine.json")
    monkeypatch.setattr(platformdirs, "user_config_path", lambda name: Path("/home/ada/.config") / name)
    assert CredentialStore.of({}).path == Path("/home/ada/.config/socialapi/credentials.json")
    assert CredentialStore.of({}).token_cache_path == Path("/home/ada/.config/socialapi/credentials.tokens.json")


@pytest.mark.parametrize("base_url", ["", "https://other.example", "https://api.example/v", "http://127.0.0.1:1"])
def test_a_login_goes_to_the_host_it_was_made_for_and_to_no_other(store: CredentialStore, base_url: str) -> None:
    store.save(SIGNED)
    assert with_logins({}, store, base_url) == {}


async def test_where_nothing_can_be_written_an_app_works_all_the_same() -> None:
    environ = {
        "SOCIALAPI_CREDENTIALS_FILE": f"{__file__}/nowhere/credentials.json",
        "SOCIALAPI_BASE_URL": HOST,
        "SOCIALAPI_API_KEY": "k",
        "SOCIALAPI_API_KEY_SECRET": "ks",
    }
    async with open_client(environ) as client:
        assert isinstance(client._session.authenticators.app()._cache, MemoryTokenCache)


# Variables


def test_every_variable_that_the_package_reads_is_known() -> None:
    sources = [path.read_text("utf-8") for path in Path(socialapi.__file__).parent.rglob("*.py")]
    named = {name for source in sources for name in re.findall(r"SOCIALAPI_[A-Z0-9_]*[A-Z0-9]\b", source)}
    assert named - {"SOCIALAPI_OAUTH2"} <= set(KNOWN_VARIABLES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SOCIALAPI_ACESS_TOKEN", "SOCIALAPI_ACCESS_TOKEN"),
        ("SOCIALAPI_BEARER_TOKN", "SOCIALAPI_BEARER_TOKEN"),
        ("SOCIALAPI_ADSURL", "SOCIALAPI_ADS_URL"),
        ("SOCIALAPI_TEST_REDIS_URL", None),
        ("SOCIALAPI_REQUIRE_REDIS", None),
        ("SOCIALAPI_FULL_SIZE", None),
        ("SOCIALAPI_VERSION", None),
        ("SOCIALAPI_STATE_DIR", None),
        ("OTHER_ACESS_TOKEN", None),
    ],
)
def test_a_variable_that_is_almost_a_known_one_is_told(name: str, meant: str | None) -> None:
    assert misspelled_variables({name: "secret"}) == ({} if meant is None else {name: meant})
    if meant is not None:
        assert misspelled_variables({name: "secret", meant: "set"}) == {}


async def test_a_misspelled_variable_is_said_without_its_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"SOCIALAPI_CREDENTIALS_FILE": str(tmp_path / "none"), "SOCIALAPI_BASEURL": "secret"}
    async with open_client(environ):
        pass
    assert capsys.readouterr().err == (
        "socialapi: there is no variable SOCIALAPI_BASEURL; did you mean SOCIALAPI_BASE_URL?\n"
    )
