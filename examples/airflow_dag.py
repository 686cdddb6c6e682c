"""An Airflow DAG uploads each day's export.

Use it if Airflow already runs your nightly jobs. A task is retried only where that helps: it fails at once if
a token is wrong, and resumes where it stopped after a lost connection.

The task is asynchronous, which needs Airflow 3.2. The day is a template, so a run for an earlier day uploads
that day's file. Each day has a journal, from which a retried task continues. The report is the task's return
value (XCom). Hosts and credentials come from the worker's SOCIALAPI_* variables. Try it with a local
emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    AIRFLOW__CORE__DAGS_FOLDER=examples airflow dags test crm_upload 2026-05-01

What to change:

- `params`: the folder of the exports, the account and the audience
- `crm-{day}.csv`: the name of your export, or an address such as `f"s3://bucket/crm-{day}.csv"` instead
  of the path; keep journal and rejects on a disk that a retried task can access
- `schedule`, `retries` and `retry_delay`: when it runs, and how long it keeps trying
- `max_reject_share`: how many bad rows stop the upload; 0.05 is 5 %
"""

import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

from socialapi import Client, errors


@task(retries=4, retry_delay=datetime.timedelta(minutes=15))
async def upload(day: str, folder: str, account_id: str, audience_id: str) -> dict[str, Any]:
    """Uploads `crm-DAY.csv`. Returns the counts as plain data that Airflow can store."""
    files = Path(folder)
    try:
        async with Client.from_env() as client:
            audience = client.ads.account(account_id).custom_audience(audience_id)
            report = await audience.upload(
                files / f"crm-{day}.csv",
                journal=files / f"crm-{day}.journal",
                rejects=files / f"crm-{day}.rejects.csv",
                max_reject_share=0.05,
                allow_empty=False,
            )
    except errors.SocialApiError as problem:
        if problem.is_lasting:
            raise AirflowFailException(str(problem)) from problem
        raise
    return report.summary()


@dag(
    schedule="0 3 * * *",
    start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    catchup=False,
    max_active_runs=1,
    params={"folder": ".", "account_id": "18ce54d4x5t", "audience_id": "1nmth"},
)
def crm_upload() -> None:
    """Uploads an export every night."""
    upload("{{ ds }}", "{{ params.folder }}", "{{ params.account_id }}", "{{ params.audience_id }}")


crm_upload()
