"""The page on telemetry lists what is emitted; `tests/test_readme.py` runs it."""

import re
from pathlib import Path
from typing import Final, get_args

from socialapi.bulk.counters import RowCounters
from socialapi.bulk.products.counters import ProductCounters
from socialapi.streams.backoff import DisconnectKind
from socialapi.webhooks.endpoint import DeliveryResult

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "telemetry.md").read_text("utf-8")


def test_the_page_names_everything_that_is_emitted_and_nothing_else() -> None:
    package = ROOT / "socialapi"
    source = "".join((package / folder / "telemetry.py").read_text("utf-8") for folder in ("session", "integrations"))
    pattern = r"(?:socialapi|http|url|server|error|db)\.[a-z_.]+[a-z]"
    emitted = set(re.findall(rf'"({pattern})"', source))
    counts = {"socialapi.job.read", "socialapi.job.accepted"}  # a job has every count of its report
    modules = {"socialapi.integrations.telemetry", "socialapi.webhooks"}
    assert set(re.findall(rf"`({pattern})`", PAGE)) - modules == emitted | counts
    reasons = {"not_sent", "no_answer", "answer_not_accepted", "token_renewed"}
    assert {f'"{reason}"' for reason in reasons} <= set(re.findall(r'"\w+"', source))
    outcomes = {*RowCounters.OUTCOMES, *ProductCounters.OUTCOMES}
    assert {f"`{word}`" for word in {*reasons, *outcomes, *get_args(DeliveryResult), *get_args(DisconnectKind)}} <= set(
        re.findall(r"`\w+`", PAGE)
    )


def test_the_page_lists_the_attributes_of_log_records() -> None:
    folders = [ROOT / "socialapi" / name for name in ("session", "streams", "webhooks")]
    paths = [path for folder in folders for path in folder.glob("*.py")]
    paths += (ROOT / "socialapi" / "integrations").glob("redis_*.py")
    sources = [path.read_text("utf-8") for path in paths]
    written = {name for source in sources for name in re.findall(r'"(socialapi_[a-z_]+)"', source)}
    assert written == set(re.findall(r"`(socialapi_[a-z_]+)`", PAGE)) - {"socialapi_job_rows_total"}
