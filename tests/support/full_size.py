"""Whether the tests run at full size, as `make prove`, `make matrix` and `make machines` have it."""

import os
from typing import Final

FULL_SIZE: Final = bool(os.environ.get("SOCIALAPI_FULL_SIZE"))
