"""Addresses of files, such as `s3://bucket/crm.csv`: told from paths, and shown without what may be
secret.
"""

import re
from typing import Final

_find_scheme: Final = re.compile(r"[\s'\"]*([A-Za-z][A-Za-z0-9+.-]+):[:/]").match
_find_schemes: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/").findall
_WITHOUT_QUERY: Final = frozenset({"s3", "gs", "memory"})
"""In names of their objects, `?` and `#` are letters as others."""


def scheme_of(text: str) -> str:
    """Returns the scheme of an address, in small letters; empty for a path."""
    found = _find_scheme(text)
    return found[1].lower() if found else ""


def is_address(text: str) -> bool:
    """Returns whether it is the address of a file, if perhaps a misspelt one, rather than a path."""
    return bool(scheme_of(text))


def name_of_address(address: str) -> str:
    """Returns the address for a message: without user name, password, query and fragment. Paths stay."""
    if not is_address(address):
        return address
    schemes = {each.lower() for each in _find_schemes(address)}
    name = address.strip() if schemes <= _WITHOUT_QUERY else re.split("[?#]", address.strip())[0]
    # In front of an account of Azure stands the container.
    return name if "abfs" in schemes else re.sub(r"(:/+)[^/]*@", r"\1", name)
