"""Files that are replaced as a whole, or stay as they are."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[IO[bytes]]:
    """Yields a file beside the one at the path, which takes its place when the block ends.

    It is for its owner alone (mode 0600) before anything is written into it, and on the disk before
    it is in its place. If the block fails, the earlier file stays. Raises OSError.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
