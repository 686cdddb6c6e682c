"""`socialapi emulator`."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from socialapi.cli import exits


async def emulator(
    *,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        Parameter(help="Port to listen on; 0 takes a free one.", validator=validators.Number(gte=0, lte=65_535)),
    ] = 8080,
    empty: Annotated[bool, Parameter(help="Start without the seed data.", negative=())] = False,
    env_file: Annotated[
        Path | None, Parameter(help="Write the addresses and credentials here as well, as shell variables to source.")
    ] = None,
    until_stdin_closes: Annotated[
        bool, Parameter(help="Also end when standard input does, so that it never outlives its parent.", negative=())
    ] = False,
) -> int:
    """Run the service on this machine until interrupted.

    The first line of output is a JSON object with the addresses and with credentials that work. The control plane
    under /_emulator shows what the service holds, scripts faults and moves its clock.
    """
    from socialapi.emulator.serve import serve

    def write_env_file(ready: Mapping[str, str]) -> None:
        if env_file is not None:
            env_file.touch(mode=0o600)
            env_file.write_text(_exports(ready), "utf-8")  # an OSError is said as every other of an output

    await serve(host, port, empty=empty, until_stdin_closes=until_stdin_closes, on_ready=write_env_file)
    return exits.DONE


def _exports(ready: Mapping[str, str]) -> str:
    """The keys of the ready line as the variables that a client reads."""
    return "".join(
        f"export SOCIALAPI_{name.upper()}={shlex.quote(value)}\n" for name, value in ready.items() if name != "event"
    )
