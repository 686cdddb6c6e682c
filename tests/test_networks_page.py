"""The page on networks is run as it stands: with a proxy, a service behind TLS, and an authority of our own."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.proxy import ForwardProxy
from tests.support.server import Server, answer
from tests.support.tls import Authority
from tests.test_readme import Shell, run_console, run_python, snippets_of

pytestmark = pytest.mark.slow

PAGE: Final = Path(__file__).parents[1] / "docs" / "networks.md"
HOST: Final = "api.northwind.example"


async def test_the_page_on_networks_does_what_it_says(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    (tmp_path / "authority.pem").write_bytes(authority.file.read_bytes())
    (tmp_path / "client.pem").write_bytes(authority.issue("ada.example").read_bytes())
    tls = authority.server(HOST, wants_client=True)
    by_proxy, shell, by_context, own_session = snippets_of(PAGE)
    bare = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    bare["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    async with Server(then=answer({"data": [], "meta": {"result_count": 0}}), tls=tls) as server:
        async with ForwardProxy({HOST: server.port}) as proxy:
            environ = bare | {
                "HTTPS_PROXY": proxy.url,
                "SOCIALAPI_BASE_URL": f"https://{HOST}",
                "SOCIALAPI_BEARER_TOKEN": "bearer",
            }
            files = {"SOCIALAPI_CA_FILE": "authority.pem", "SOCIALAPI_CLIENT_CERT": "client.pem"}
            said = await asyncio.to_thread(run_python, by_proxy, tmp_path, environ | files)
            assert said == f"200\nhttps://{HOST}\n"
            ours = {"SOCIALAPI_PROXY": environ["HTTPS_PROXY"], "HTTPS_PROXY": "http://127.0.0.1:1"}
            with Shell(tmp_path, environ | ours) as typed:
                await asyncio.to_thread(run_console, shell, typed)
            assert await asyncio.to_thread(run_python, by_context, tmp_path, environ) == "200\n"
            assert await asyncio.to_thread(run_python, own_session, tmp_path, environ) == f"https://{HOST}\n"
        assert proxy.connects == [f"{HOST}:443"] * 3
        assert [request.path.partition("?")[0] for request in server.requests] == [
            "/2/tweets",
            "/2/webhooks",
            "/2/tweets",
        ]


def test_the_page_names_every_variable_that_is_read() -> None:
    source = (PAGE.parents[1] / "socialapi" / "session" / "network.py").read_text("utf-8")
    read = set(re.findall(r'"((?:SSL|SOCIALAPI)_[A-Z_]+)"', source))
    assert len(read) == 7
    assert read <= set(re.findall(r"`([A-Z_]+)`", PAGE.read_text("utf-8")))
