"""The version of the package, read by the build."""

from typing import Final

__version__: Final = "0.1.0"
