"""Compares the package with an earlier commit of itself, both without C."""

import contextlib
import io
import itertools
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from benchmarks.harness.processes import ROOT
from benchmarks.harness.work import NO_SPEEDUPS, Contestant, Target, Work

LARGEST_RATIO: Final = 1.05


@contextlib.contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A folder with the package of a commit, until the end of the block.

    Raises CalledProcessError where there is no such commit.
    """
    archive = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "socialapi"]
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(archive, stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def compare(work: Work, commit: str, path: Path) -> Work | None:
    """Returns the work with the earlier version and this one for contestants, or None where socialapi does not
    take part.
    """
    now = [each for each in work.contestants if each.module == "socialapi_client" and not each.is_without_speedups]
    if not now:
        return None
    # The package is taken from the other folder, and the benchmarks from here.
    elsewhere = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join((str(path), str(ROOT)))}
    pairs = [
        (
            attrs.evolve(
                each,
                name=f"{each.name}, {commit}",
                options={**each.options, "version": commit},
                environment={**elsewhere, **NO_SPEEDUPS},
                is_optional=True,
            ),
            attrs.evolve(each, environment=NO_SPEEDUPS),
        )
        for each in now
    ]
    return attrs.evolve(
        work,
        base=None,
        contestants=list(itertools.chain.from_iterable(pairs)),
        targets=[_target(work, before, after) for before, after in pairs],
        cannot={},
        notes=(),
    )


def _target(work: Work, before: Contestant, after: Contestant) -> Target:
    if work.is_higher_better:
        return Target(of=after.name, to=before.name, at_least=1 / LARGEST_RATIO)
    return Target(of=after.name, to=before.name, at_most=LARGEST_RATIO)
