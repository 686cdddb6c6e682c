"""`socialapi emulator`, and a private emulator in a child process for the demo."""

import asyncio
import contextlib
import datetime
import json
import re
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from socialapi.cli import output
from socialapi.cli.options import whole_number
from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.models.validation import broken_rules
from socialapi.models.webhooks import WebhookUrl

READY_TIMEOUT_SECONDS: Final = 30.0
END_TIMEOUT_SECONDS: Final = 10.0


@contextlib.asynccontextmanager
async def private_emulator() -> AsyncIterator[Mapping[str, str]]:
    """Starts `socialapi emulator` on a free port and yields its ready line. Ends it with the block.

    The child also ends when its standard input closes, and so with this process, however that ends.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "socialapi", "emulator", "--port", "0", "--until-stdin-closes"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(await _ready_line(process.stdout))
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_TIMEOUT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _ready_line(stdout: asyncio.StreamReader) -> bytes:
    try:
        line = await asyncio.wait_for(stdout.readline(), READY_TIMEOUT_SECONDS)
    except TimeoutError:
        line = b""
    if not line:
        raise ConfigurationError("the emulator did not start")
    return line


WebhookTargets = Annotated[
    tuple[str, ...],
    Parameter(
        help="URL=LOCAL: where the requests to a webhook's URL really go, for example "
        "https://hooks.example.com/in=http://127.0.0.1:9000/in; can be repeated.",
        negative=(),
    ),
]
LenientFields = Annotated[
    bool,
    Parameter(
        help="Pass over fields, expansions and parameters that the documentation does not know, as programs written "
        "for the public API send them, instead of refusing them.",
        negative=(),
    ),
]
AllowedHosts = Annotated[
    tuple[str, ...],
    Parameter(
        help="A further host name under which the control plane answers, beside localhost and IP addresses; "
        "can be repeated.",
        negative=(),
    ),
]


async def emulator(
    *,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        whole_number(help="Port to listen on; 0 takes a free one.", least=0, most=65_535),
    ] = 8080,
    empty: Annotated[bool, Parameter(help="Start without the seed data.", negative=())] = False,
    lenient_fields: LenientFields = False,
    env_file: Annotated[
        Path | None, Parameter(help="Write the addresses and credentials here as well, as shell variables to source.")
    ] = None,
    webhook_target: WebhookTargets = (),
    allow_remote_targets: Annotated[
        bool, Parameter(help="Also deliver to webhooks that are not on this machine.", negative=())
    ] = False,
    allow_host: AllowedHosts = (),
    until_stdin_closes: Annotated[
        bool, Parameter(help="Also end when standard input does, so that it never outlives its parent.", negative=())
    ] = False,
) -> int:
    """Serves until interrupted. Returns the exit status."""
    from socialapi.emulator.server import serve

    def write_env_file(ready: Mapping[str, str]) -> None:
        if env_file is not None:
            env_file.touch(mode=0o600)
            # An OSError is reported like that of any other output.
            env_file.write_text(_exports(ready), "utf-8")

    targets = dict(map(_target, webhook_target))
    await serve(
        host,
        port,
        empty=empty,
        lenient_fields=lenient_fields,
        webhook_targets=targets,
        allow_hosts=allow_host,
        allow_remote_targets=allow_remote_targets,
        until_stdin_closes=until_stdin_closes,
        on_ready=write_env_file,
    )
    return output.DONE


def _target(text: str) -> tuple[str, str]:
    """Returns a webhook's URL and its local address, both of which may contain equals signs.

    Raises InvalidInput for anything else.
    """
    match = re.fullmatch(r"((?i:https)://.+?)=(https?://\S+)", text)
    if match is None:
        raise InvalidInput(
            "--webhook-target takes URL=LOCAL, for example "
            f"https://hooks.example.com/in=http://127.0.0.1:9000/in, not {text!r}"
        )
    if broken := broken_rules(WebhookUrl, match[1], now=datetime.datetime.now(datetime.UTC)):
        raise InvalidInput(f"the URL of --webhook-target {text!r} {broken[0].reason}")
    return match[1], match[2]


def _exports(ready: Mapping[str, str]) -> str:
    """Returns the ready line as shell exports of the variables that a client reads."""
    from socialapi.emulator.server import variables

    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables(ready).items())
