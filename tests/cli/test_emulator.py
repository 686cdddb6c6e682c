"""`socialapi emulator`: what of its options is not the emulator itself."""

from typing import Any

import pytest

from socialapi.cli import app
from socialapi.emulator import server


def test_webhook_targets_are_mapped_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    served: dict[str, Any] = {}

    async def pretend(*place: object, **options: Any) -> None:
        served.update(options)

    monkeypatch.setattr(server, "serve", pretend)
    targets = {
        "https://hooks.example.com/in?a=b=c": "http://127.0.0.1:9000/in?d=e",
        "https://hooks.example.com/": "https://localhost:9443/",
    }
    options = [text for url, local in targets.items() for text in ("--webhook-target", f"{url}={local}")]
    assert app.run(["emulator", *options]) == 0
    assert served["webhook_targets"] == targets
    assert app.run(["emulator"]) == 0
    assert served["webhook_targets"] == {}


def test_hosts_and_remote_targets_are_allowed_by_option(monkeypatch: pytest.MonkeyPatch) -> None:
    served: dict[str, Any] = {}

    async def pretend(*place: object, **options: Any) -> None:
        served.update(options)

    monkeypatch.setattr(server, "serve", pretend)
    hosts = ["--allow-host", "emulator", "--allow-host", "emulator.test"]
    assert app.run(["emulator", *hosts, "--allow-remote-targets"]) == 0
    assert served["allow_hosts"] == ("emulator", "emulator.test")
    assert served["allow_remote_targets"] is True
    assert app.run(["emulator"]) == 0
    assert (served["allow_hosts"], served["allow_remote_targets"]) == ((), False)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("https://hooks.example.com/in", "takes URL=LOCAL"),
        ("http://hooks.example.com/in=http://127.0.0.1:9000/", "takes URL=LOCAL"),
        ("https://hooks.example.com/in=127.0.0.1:9000", "takes URL=LOCAL"),
        ("https://hooks.example.com:8443/in=http://127.0.0.1:9000/", "must be a public https URL without a port"),
    ],
)
def test_a_target_that_makes_no_sense_is_one_sentence(
    value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["emulator", "--webhook-target", value]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.startswith("socialapi: ")
    assert printed.err.count("\n") == 1
    assert not printed.out
