"""A program that runs where the package is not in a folder: in a zip file or a PyInstaller bundle.

It uses every public name, uploads an audience to an emulator of its own, and prints what it found
as JSON. With arguments, it is the command line.
"""

import asyncio
import importlib
import json
import sys
import urllib.request
from typing import Any, Final

import socialapi
from socialapi import _speedups
from socialapi.cli import main as command_line
from socialapi.emulator import Emulator

MODULES: Final = ("emulator", "journals", "resources", "streams", "types", "webhooks")
PEOPLE: Final = [{"email": "ada@example.com"}, {"phone_number": "030 23125000"}, {"email": "nobody"}]


async def found() -> dict[str, Any]:
    """Returns what an upload, a post and the dashboard are like, and where the package is."""
    async with Emulator() as emulator, socialapi.Client(emulator.config, emulator.credentials) as client:
        account, audience = emulator.seed["account_ids"][0], emulator.seed["custom_audience_ids"][0]
        report = await client.ads.account(account).custom_audience(audience).upload(PEOPLE, default_region="DE")
        posts = await client.posts.lookup(emulator.seed["post_ids"][:1])
        dashboard = f"{emulator.config.base_url}/_emulator/"
        with await asyncio.to_thread(urllib.request.urlopen, dashboard) as answer:
            page = answer.read().decode()
    public = [socialapi, *(importlib.import_module(f"socialapi.{name}") for name in MODULES)]
    return {
        "file": socialapi.__file__,
        "speedups": _speedups.IS_ENABLED,
        "names": [repr(getattr(module, name)) for module in public for name in module.__all__],
        "accepted": report.accepted,
        "rejected": report.rejected,
        "posts": posts.to_dict()["data"],
        "dashboard": page,
    }


if __name__ == "__main__":
    if sys.argv[1:]:
        command_line()
    print(json.dumps(asyncio.run(found())))
