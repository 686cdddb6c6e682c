"""What the programs with clients have in common: a scenario is told and answered in JSON.

The first line of standard input says which scenario, and where the emulator is. Every line of
standard output is a JSON object. `{"visit": url}` asks the test to go through a page in a browser,
and `{"reached": name}` tells it how far the program is; both are answered by a line. The last one is
`{"result": …}`.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

Told = Mapping[str, Any]
Scenario = Callable[[Told], Any]


def run(scenarios: Mapping[str, Any]) -> None:
    """Runs the scenario that standard input names, a function of the program."""
    told = json.loads(sys.stdin.readline())
    print(json.dumps({"result": scenarios[told["scenario"]](told)}), flush=True)  # noqa: T201


def visited(url: str) -> str:
    """What the page showed or where it sent the browser: a PIN, or the address of the callback."""
    return _asked({"visit": url})


def reached(name: str) -> None:
    """Tells the test how far the program is, and waits for it to go on."""
    _asked({"reached": name})


def _asked(question: Mapping[str, str]) -> str:
    print(json.dumps(question), flush=True)  # noqa: T201
    answer: str = json.loads(sys.stdin.readline())
    return answer


def redirect_requests(told: Told, *hosts: str) -> None:
    """Sends what a client of requests sends to these hosts to the emulator, before it is signed."""
    import requests

    send = requests.Session.request

    def request(self: Any, method: str, url: str, *arguments: Any, **options: Any) -> Any:
        for host in hosts:
            url = url.replace(host, told["base_url"])
        return send(self, method, url, *arguments, **options)

    requests.Session.request = request  # type: ignore[method-assign, assignment]  # for this process alone
