"""`socialapi jobs forget`: deletes the files of a job on this machine."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from socialapi.bulk.erasure import Kind, erase, kind_of
from socialapi.bulk.output_file import part_of, same_file
from socialapi.bulk.rejects import RejectsFile
from socialapi.cli import output
from socialapi.cli.jobs import GONE, RUNNING, JobStatus, all_jobs, file_of, find, found_job, unlink
from socialapi.cli.output import printable
from socialapi.errors import InvalidInput

CONSEQUENCES: Final[dict[Kind, str]] = {
    "snapshot": "without the file, the next sync adds everyone again, and people who left since the last sync are not "
    "removed",
    "digest file": "without the file, the next load sends every product again, and products that vanished since the last "
    "load are not deleted",
    "rejects file": "the rejected rows are listed nowhere else",
}


def forget(
    job: Annotated[
        str | None,
        Parameter(
            name="JOB",
            help="Id of a job, as `socialapi jobs list` shows it, or the path of its journal; or the path of a snapshot, "
            "a digest file or a rejects file.",
        ),
    ] = None,
    /,
    *,
    gone: Annotated[bool, Parameter(help="Forget every job whose journal is gone.")] = False,
    yes: Annotated[
        bool,
        Parameter(
            help="Delete the job even if it is unfinished and could be resumed, or the file even if later jobs need it."
        ),
    ] = False,
    keep_rejects: Annotated[bool, Parameter(help="Keep the rejects file of the job.")] = False,
) -> int:
    """Deletes all files of a job, or a single file, and returns the exit status."""
    if gone == (job is not None):
        raise InvalidInput("specify a JOB or --gone")
    if job is None:
        # If the folder is also missing, it may be on a disk that is not mounted.
        gone_jobs = [each for each in all_jobs() if each.state == GONE and each.path.parent.is_dir()]
        done = [_forget(each, keep_rejects=keep_rejects) for each in gone_jobs]
        return output.DONE if all(done) else output.SOME_REJECTED
    where = find(job)
    kind = None if where is not None and where[1] else kind_of(job)  # listed files are journals
    if kind in CONSEQUENCES:
        path = Path(job)
        if not (yes or _confirmed(f"Delete the {kind} {path}? {CONSEQUENCES[kind].capitalize()}.")):
            raise InvalidInput(f"the {kind} {path} is deleted only with --yes: {CONSEQUENCES[kind]}")
        if not erase(path, kind):
            raise InvalidInput(f"the {kind} {path} is in use by a job: end it first")
        output.say(f"deleted the {kind} {path}")
        return output.DONE
    found = found_job(job, may_be_unreadable=True)
    _check(found, yes=yes)
    return output.DONE if _forget(found, keep_rejects=keep_rejects) else output.SOME_REJECTED


def _forget(found: JobStatus, *, keep_rejects: bool) -> bool:
    """Deletes the files of a job, and prints the files that it keeps. Returns False if a rejects file was kept."""
    # The job is removed from the list last, so that a failed deletion can be tried again.
    is_whole = keep_rejects or _forget_rejects(found)
    was_there = found.path.exists()
    # If the journal itself is gone, this erases the files next to it.
    if found.path.parent.is_dir() and not erase(found.path, "journal"):
        raise InvalidInput(f"the job {found.id} is running: end it first")
    output.say(f"deleted the journal {found.path}" if was_there else f"removed the job {found.id} from the list")
    unlink(found.path)
    digests = file_of(found.arguments, "digests")
    if digests is not None and digests.is_file():
        command = f"socialapi jobs forget {shlex.quote(str(digests))}"
        output.say(f"the digest file {digests} is kept, because later loads need it; `{command}` deletes it")
    outcomes = file_of(found.arguments, "outcomes")
    for path in () if outcomes is None else filter(Path.is_file, (outcomes, part_of(outcomes))):
        output.say(f"the outcomes file {path} is kept, because it is a result; delete it when it is no longer needed")
    return is_whole


def _check(job: JobStatus, *, yes: bool) -> None:
    """Raises InvalidInput if the job is running, or if it is unfinished and the user does not confirm."""
    if job.state == RUNNING:
        raise InvalidInput(f"the job {job.id} is running: end it first")
    is_over = job.state in (GONE, "empty") or job.view.is_finished
    question = f"The job {job.id} is {job.state} and needs {job.path} to resume. Delete the file anyway?"
    if not (is_over or yes or _confirmed(question)):
        raise InvalidInput(
            f"the job {job.id} is {job.state}, and cannot be resumed without its journal: add --yes to delete it anyway"
        )


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    return input(printable(f"{question} [y/N] ")).strip().lower() in ("y", "yes")


def _forget_rejects(job: JobStatus) -> bool:
    """Deletes the rejects file of the job, or prints why not. Returns False if a file of this job may remain."""
    path = file_of(job.arguments, "rejects")
    if path is None or not (path.is_file() or part_of(path).is_file()):
        return True
    later = _later_job(path, job)
    if later is not None:
        output.say(f"the rejects file {path} now belongs to the job {later}, and is kept")
        return True
    if path.is_file() and not RejectsFile.is_like(path):
        output.say(f"{path} is no longer a rejects file, and is kept")
        return False
    if path.is_file() and not job.has_left(path):
        command = f"socialapi jobs forget {shlex.quote(str(path))}"
        output.say(f"the rejects file {path} was changed after the job, so it is kept; `{command}` deletes it")
        return False
    if not erase(path, "rejects file"):
        output.say(f"the rejects file {path} is in use by another job, and is kept")
        return False
    output.say(f"deleted the rejects file {path}")
    return True


def _later_job(rejects: Path, job: JobStatus) -> str | None:
    """Returns the id of a later job that has replaced this rejects file, or None."""
    for other in all_jobs():
        its = file_of(other.arguments, "rejects")
        is_later = other.id != job.id and other.view.last_run_at > job.view.last_run_at
        if is_later and its is not None and same_file(its, rejects):
            return other.id
    return None
