"""A slow and plain reading of the demo's export, with the phone number library, to hold its truth against."""

import csv
import hashlib
import re
from collections import deque
from pathlib import Path

import phonenumbers

from socialapi.cli.demo_data import DEFAULT_REGION, ExpectedOutcome, Member

RECENT_ROWS = 1_000


def judge(path: Path) -> ExpectedOutcome:
    """What the file holds."""
    counts = {"accepted": 0, "rejected": 0, "duplicate": 0}
    warnings = 0
    members: set[Member] = set()
    recent: deque[frozenset[Member]] = deque(maxlen=RECENT_ROWS)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        for row in reader:
            cells = dict(zip(header, row, strict=False))
            found = (_email(cells.get("E-Mail", "")), _phone_number(cells.get("Mobile phone", "")))
            usable = frozenset(member for member in found if isinstance(member, tuple))
            if not usable:
                outcome = "rejected"
            elif usable <= members and usable <= frozenset().union(*recent):
                outcome = "duplicate"
            else:
                outcome = "accepted"
            if outcome == "accepted":
                warnings += found.count("unusable")
                members |= usable
            counts[outcome] += 1
            recent.append(usable)
    return ExpectedOutcome(read=sum(counts.values()), warnings=warnings, members=frozenset(members), **counts)


def _email(text: str) -> Member | str | None:
    text = text.strip().lower()
    if not text:
        return None
    if re.fullmatch("[0-9a-f]{64}", text):
        return ("email", text)
    if re.fullmatch(r"[^\s@]+@[^\s@]+\.[a-z]+", text):
        return ("email", hashlib.sha256(text.encode()).hexdigest())
    return "unusable"


def _phone_number(text: str) -> Member | str | None:
    if not text.strip():
        return None
    try:
        number = phonenumbers.parse(text, DEFAULT_REGION)
    except phonenumbers.NumberParseException:
        return "unusable"
    if not phonenumbers.is_valid_number(number):
        return "unusable"
    e164 = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return ("phone_number", hashlib.sha256(e164.encode()).hexdigest())
