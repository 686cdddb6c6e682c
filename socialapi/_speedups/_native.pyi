from typing import Final

INTERFACE: Final[int]

def sha256_implementation() -> str: ...
