"""Memory over ten million records."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv, write_parquet
from benchmarks.harness.work import Contestant, Order, Told, Work, both_ways, expect

MEGABYTE: Final = 1_000_000


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the peak, the growth in the second half, and the course of memory use."""
    expect("records", told["items"], order["records"])
    expect("records that arrived", seen["rows"], order["records"])
    samples = told["samples"]
    half_peak = max(peak for seconds, _, peak in samples if seconds <= told["seconds"] / 2)
    return {
        "peak_mb": told["peak"] / MEGABYTE,
        "grown_mb": (told["peak"] - half_peak) / MEGABYTE,
        "records_a_second": told["items"] / told["seconds"],
        "series": [(seconds, size / MEGABYTE) for seconds, size, _ in samples],
    }


def prepare(order: Order) -> None:
    """Writes the file to upload."""
    folder = Path(order["folder"])
    write_csv(folder / "people.csv", canned.people(order))
    write_parquet(folder / "people.parquet", canned.people(order))


def _upload(name: str, file: str) -> Contestant:
    return Contestant(name=name, module="socialapi_client", job="upload_file", options={"file": file})


WORK: Final = Work(
    name="memory",
    title="Memory while uploading ten million records",
    says="Uploads ten million records, each with an e-mail address and a phone number, from a file.",
    metric="peak_mb",
    unit="MB resident at most",
    digits=0,
    base=None,
    contestants=(
        *both_ways(_upload("socialapi, CSV", "people.csv")),
        *both_ways(_upload("socialapi, Parquet", "people.parquet")),
    ),
    judge=judge,
    full={"records": 10_000_000},
    quick={"records": 200_000},
    rounds=1,
    also={"grown_mb": "MB more in the second half", "records_a_second": "records a second"},
    cannot={
        "tweepy": "no uploads",
        "xdk": "no uploads",
        "twitter-ads": "it reads no files, and sends a list as one request",
        "facebook-business": "as twitter-ads",
        "httpx": "it has no uploads",
    },
    prepare=prepare,
)
