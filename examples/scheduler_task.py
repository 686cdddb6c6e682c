"""A task for a scheduler, such as cron, uploads a day's export.

Use it with cron, systemd timers, Kubernetes jobs or any scheduler that checks an exit status. A repeated task
continues where it stopped, and a finished task sends nothing.

A scheduler calls `run(day, …)`, or runs this file and checks the exit status. Each day has a journal. The
report is one line of JSON on standard output.

| Status | Meaning |
|---|---|
| 0, 1 | done; with 1, rows were rejected |
| 2 | fix something first, for example a wrong token or id: do not retry |
| 3, 130 | the service was unavailable, or the task was stopped: retry |

Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/scheduler_task.py 2026-05-01 18ce54d4x5t 1nmth

What to change:

- `crm-{day}.csv`: the name of your export; an address such as `s3://bucket/crm-{day}.csv` works too
- `journal` and `rejects`: paths on a disk that the next attempt can access
- `max_reject_share`: how many bad rows stop the upload; 0.05 is 5 %
- add `default_region="US"` if phone numbers have no country code
"""

import asyncio
import datetime
import json
import signal
import sys
from typing import Any

from socialapi import Client, errors


async def upload(day: datetime.date, account_id: str, audience_id: str) -> dict[str, Any]:
    """Uploads `crm-DAY.csv`. Returns the counts as plain data that a scheduler can store."""
    async with Client.from_env() as client:
        audience = client.ads.account(account_id).custom_audience(audience_id)
        report = await audience.upload(
            f"crm-{day}.csv",
            journal=f"crm-{day}.journal",
            rejects=f"crm-{day}.rejects.csv",
            max_reject_share=0.05,
            allow_empty=False,
        )
    return report.summary()


def run(day: datetime.date, account_id: str, audience_id: str) -> int:
    """Uploads a day's export, prints the report, and returns the exit status."""
    try:
        report = asyncio.run(upload(day, account_id, audience_id))
    except KeyboardInterrupt:
        return 130
    except errors.SocialApiError as problem:
        counts = problem.report.summary() if isinstance(problem, errors.BulkError) else {}
        print(json.dumps({"day": str(day), **counts, "error": str(problem)}))
        return 2 if problem.is_lasting else 3
    print(json.dumps({"day": str(day), **report}))
    return 1 if report["rejected"] else 0


if __name__ == "__main__":
    # Schedulers stop a task with SIGTERM: docs/deployment.md explains why both lines are needed.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    sys.exit(run(datetime.date.fromisoformat(sys.argv[1]), *sys.argv[2:4]))
