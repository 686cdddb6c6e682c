"""What is asked of a bundle. To make one takes minutes and an environment of its own: `make bundle`."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tools.bundle import check_output
from tools.release_check import Refusal

BUNDLE: Final = Path("/bundles/program")
RIGHT: Final[dict[str, Any]] = {
    "file": f"{BUNDLE}/_internal/socialapi/__init__.pyc",
    "speedups": True,
    "names": ["'0.1.0'"],
    "accepted": 2,
    "rejected": 1,
    "posts": [{"id": "1"}],
    "dashboard": "<html></html>",
}


def test_a_bundle_that_did_everything_passes() -> None:
    check_output(json.dumps(RIGHT), BUNDLE, has_extension=True)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"file": "/checkout/socialapi/__init__.py"}, "not from the bundle"),
        ({"accepted": 1}, "upload"),
        ({"posts": []}, "emulator"),
        ({"dashboard": ""}, "emulator"),
        ({"speedups": False}, "extension"),
    ],
)
def test_one_that_did_not_is_refused(found: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        check_output(json.dumps(RIGHT | found), BUNDLE, has_extension=True)
