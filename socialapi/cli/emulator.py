"""`socialapi emulator`."""

import datetime
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from socialapi.cli import exits
from socialapi.cli.options import whole_number
from socialapi.errors import InvalidInput
from socialapi.models.validation import broken_rules
from socialapi.models.webhooks import WebhookUrl


async def emulator(
    *,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        whole_number(help="Port to listen on; 0 takes a free one.", least=0, most=65_535),
    ] = 8080,
    empty: Annotated[bool, Parameter(help="Start without the seed data.", negative=())] = False,
    env_file: Annotated[
        Path | None, Parameter(help="Write the addresses and credentials here as well, as shell variables to source.")
    ] = None,
    webhook_target: Annotated[
        tuple[str, ...],
        Parameter(
            help="URL=LOCAL: where the requests to a webhook's URL really go, for example "
            "https://hooks.example.com/in=http://127.0.0.1:9000/in; can be repeated.",
            negative=(),
        ),
    ] = (),
    until_stdin_closes: Annotated[
        bool, Parameter(help="Also end when standard input does, so that it never outlives its parent.", negative=())
    ] = False,
) -> int:
    """Run the service on this machine until interrupted.

    The first line of output is a JSON object with the addresses and with credentials that work. The control plane
    under /_emulator shows what the service holds, scripts faults and moves its clock.
    """
    from socialapi.emulator.server import serve

    def write_env_file(ready: Mapping[str, str]) -> None:
        if env_file is not None:
            env_file.touch(mode=0o600)
            env_file.write_text(_exports(ready), "utf-8")  # an OSError is said as every other of an output

    targets = dict(map(_target, webhook_target))
    await serve(
        host,
        port,
        empty=empty,
        webhook_targets=targets,
        until_stdin_closes=until_stdin_closes,
        on_ready=write_env_file,
    )
    return exits.DONE


def _target(text: str) -> tuple[str, str]:
    """A webhook's URL and its local address; both may hold equals signs, in their queries."""
    match = re.fullmatch(r"(https://.+?)=(https?://\S+)", text)
    if match is None:
        raise InvalidInput(
            "--webhook-target takes URL=LOCAL, for example "
            f"https://hooks.example.com/in=http://127.0.0.1:9000/in, not {text!r}"
        )
    if broken := broken_rules(WebhookUrl, match[1], now=datetime.datetime.now(datetime.UTC)):
        raise InvalidInput(f"the URL of --webhook-target {text!r} {broken[0].reason}")
    return match[1], match[2]


def _exports(ready: Mapping[str, str]) -> str:
    """The keys of the ready line as the variables that a client reads."""
    return "".join(
        f"export SOCIALAPI_{name.upper()}={shlex.quote(value)}\n" for name, value in ready.items() if name != "event"
    )
