"""The types in public signatures: models, reports, problems and options. Each is imported on first
use.
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__ = on_first_use(__name__)
