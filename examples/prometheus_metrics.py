"""An upload provides metrics that Prometheus scrapes.

Use it to see rows, requests, retries and waits for rate limits on your dashboards. It needs one argument of
the client, `telemetry=True`, and an OpenTelemetry exporter.

    pip install 'aiosocialapi[otel]' opentelemetry-exporter-prometheus

Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/prometheus_metrics.py 18ce54d4x5t 1nmth

What to change:

- `served_metrics`: the `port` that Prometheus scrapes, and the address `127.0.0.1` if Prometheus runs elsewhere
- the upload in `main`: your own job; keep the server running for as long as the program runs
- remove `scrape`, which only shows you the metrics
"""

import asyncio
import contextlib
import sys
import urllib.request
from collections.abc import Iterator

from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import start_http_server

from socialapi import AudienceUser, Client


@contextlib.contextmanager
def served_metrics(port: int = 0) -> Iterator[str]:
    """Serves the program's metrics, and yields the address for Prometheus. Port 0 selects a free port."""
    provider = MeterProvider([PrometheusMetricReader()])
    metrics.set_meter_provider(provider)
    server, thread = start_http_server(port, "127.0.0.1")
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        provider.shutdown()


def scrape(address: str) -> list[str]:
    """Returns this package's metrics, as Prometheus would scrape them."""
    with urllib.request.urlopen(address) as reply:  # noqa: S310  # the address is our own
        lines: list[str] = reply.read().decode().splitlines()
    return [line for line in lines if line.startswith(("socialapi_", "http_client_")) and "_bucket{" not in line]


async def main(account_id: str, audience_id: str) -> int:
    """Uploads the users, and prints what Prometheus would read."""
    with served_metrics() as address:
        async with Client.from_env(telemetry=True) as client:
            audience = client.ads.account(account_id).custom_audience(audience_id)
            await audience.upload(AudienceUser(email=f"customer{number}@example.com") for number in range(5_000))
        print("\n".join(await asyncio.to_thread(scrape, address)))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
