"""The page on versions says what the code does."""

import re
import tomllib
from pathlib import Path
from typing import Final

from socialapi.bulk.journals.sqlite_journal import SCHEMA as JOURNAL
from socialapi.bulk.products.snapshot import SCHEMA as DIGEST_FILE
from socialapi.bulk.sync.snapshot import SCHEMA as SNAPSHOT
from socialapi.webhooks.inbox import SCHEMA as INBOX

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "docs" / "versioning.md").read_text("utf-8")


def test_the_formats_of_files_are_those_that_are_written() -> None:
    listed = {name: int(number) for name, number in re.findall(r"^\| ([a-z ]+) \| (\d+) \| ", PAGE, re.MULTILINE)}
    assert listed == {
        "journal": JOURNAL.version,
        "snapshot": SNAPSHOT.version,
        "digest file": DIGEST_FILE.version,
        "inbox": INBOX.version,
    }


def test_the_supported_pythons_are_those_that_the_package_is_classified_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = [re.search(r":: Python :: (3\.\d+)$", each) for each in project["classifiers"]]
    assert f"| CPython | {', '.join(each[1] for each in found if each)} |" in PAGE
