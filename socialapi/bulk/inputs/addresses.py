"""Recognizes the URLs of files, such as `s3://bucket/crm.csv`, and removes secrets from URLs in messages."""

import os
import re
from typing import Any, Final

from socialapi.internal.secret import hidden

_find_scheme: Final = re.compile(r"[\s'\"]*([A-Za-z][A-Za-z0-9+.-]+):[:/]").match
_find_schemes: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/").findall
_WITHOUT_QUERY: Final = frozenset({"s3", "gs", "memory"})
"""The URL schemes whose object names may contain `?` and `#`."""
ONLY_HERE: Final = "must be a path on this machine, not an address"
"""The error for a URL where a job needs the path of a local file to write."""


def scheme_of(text: str) -> str:
    """Returns the scheme of an address in lower case, or an empty string for a path."""
    found = _find_scheme(text)
    return found[1].lower() if found else ""


def is_address(text: str) -> bool:
    """Returns whether a string is the address of a file (even a misspelled one) and not a path."""
    return _find_scheme(text) is not None


def name_of_address(address: str) -> str:
    """Returns an address without user name, password, query and fragment for a message, or a path unchanged."""
    if not is_address(address):
        return address
    schemes = {each.lower() for each in _find_schemes(address)}
    name = address.strip() if schemes <= _WITHOUT_QUERY else re.split("[?#]", address.strip())[0]
    # In an Azure address, the part before the @ is the container and not a user name.
    return name if "abfs" in schemes else re.sub(r"(:/+)[^/]*@", r"\1", name)


def with_hidden_addresses(records: Any) -> Any:
    """Returns a job's input so that its repr hides file addresses, because error trackers record the repr."""
    if isinstance(records, str):
        return hidden(records) if is_address(records) else records
    if isinstance(records, list | tuple) and all(isinstance(each, str | os.PathLike) for each in records):
        return [with_hidden_addresses(each) for each in records]
    return records
