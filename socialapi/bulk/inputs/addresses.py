"""Addresses of files, such as `s3://bucket/crm.csv`: told from paths, and shown without what may be
secret.
"""

import re
from typing import Final

_find_scheme: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(?:::|://)").match


def scheme_of(text: str) -> str:
    """Returns the scheme of an address, in small letters; empty for a path."""
    found = _find_scheme(text)
    return found[1].lower() if found else ""


def is_address(text: str) -> bool:
    """Returns whether it is the address of a file, rather than a path."""
    return bool(scheme_of(text))


def name_of_address(address: str) -> str:
    """Returns the address for a message: without user name, password, query and fragment."""
    if not is_address(address):
        return address
    scheme, _, rest = address.partition("://")
    if scheme_of(address) in ("http", "https"):  # elsewhere these letters are a part of the name
        rest = re.split("[?#]", rest)[0]
    host, slash, path = rest.partition("/")
    if scheme_of(address) != "abfs":  # where the container stands in front
        host = host.rpartition("@")[2]
    return f"{scheme}://{host}{slash}{path}"
