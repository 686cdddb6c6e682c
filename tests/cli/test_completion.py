"""`socialapi completion`: the scripts in the shells that read them."""

import contextlib
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from socialapi.cli import app
from tests.cli.terminal import Printed

pytestmark = pytest.mark.slow

COMPLETED: Final = [
    ("socialapi em", ["emulator"]),
    ("socialapi audience up", ["upload"]),
    ("socialapi audience upload --oper", ["--operation"]),
    ("socialapi audience upload people.csv --operation ", ["delete", "update"]),
    ("socialapi audience upload peo", ["people.csv", "people.parquet"]),
    ("socialapi catalog upsert peo", ["people.csv", "people.parquet"]),
    ("socialapi audience upload people.csv --journal cr", ["crm.journal"]),
    ("socialapi jobs list cr", ["crm.journal"]),
    ("socialapi completion ", ["bash", "fish", "zsh"]),
]
"""Lines on which TAB is pressed, and what the shell offers for the last word."""


@pytest.fixture(scope="module")
def scripts() -> Mapping[str, str]:
    """What `socialapi completion` prints, by shell."""
    command = [sys.executable, "-W", "error", "-m", "socialapi", "completion"]
    shells = ("bash", "zsh", "fish")
    return {shell: subprocess.check_output([*command, shell], text=True) for shell in shells}


@pytest.fixture
def folder(tmp_path: Path, scripts: Mapping[str, str]) -> Path:
    """A folder with files to be completed, and the scripts beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("people.csv", "people.parquet", "crm.journal"):
        (folder / name).touch()
    for shell, script in scripts.items():
        (tmp_path / shell).write_text(script)
    return folder


def said_by(shell: str, folder: Path, program: str) -> list[str]:
    """The lines that a program of a shell prints in the folder, sorted."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    bare = {"bash": ["--noprofile", "--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[shell]
    done = subprocess.run(
        [path, *bare, "-c", program],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return sorted(done.stdout.splitlines())


PRESS_TAB: Final = """
source ../bash
set -- $(complete -p socialapi)
while [ "$1" != -F ]; do shift; done
function=$2
COMP_LINE={line}
COMP_POINT=${{#COMP_LINE}}
COMP_WORDS=($COMP_LINE)
[ "$COMP_LINE" = "${{COMP_LINE% }}" ] || COMP_WORDS+=('')
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$function socialapi
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(("line", "offered"), COMPLETED)
def test_bash_completes(line: str, offered: list[str], folder: Path) -> None:
    assert said_by("bash", folder, PRESS_TAB.format(line=f"'{line}'")) == offered


@pytest.mark.parametrize(("line", "offered"), COMPLETED)
def test_fish_completes(line: str, offered: list[str], folder: Path) -> None:
    said = said_by("fish", folder, f"source ../fish; complete -C'{line}'")
    assert [each.partition("\t")[0] for each in said] == offered


ZSHRC: Final = """
PS1=
unsetopt zle_bracketed_paste
autoload -Uz compinit
compinit -u -D
source ../zsh
bindkey '^I' complete-word
socialapi() { print -- "completed:$*:"; exit }
print ready:
"""


@contextlib.contextmanager
def zsh_in_a_terminal(folder: Path) -> Iterator[int]:
    """The terminal of a zsh that has read the script."""
    path = shutil.which("zsh")
    if path is None:
        pytest.skip("zsh is not installed")
    (folder.parent / ".zshrc").write_text(ZSHRC)
    ours, terminal = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "ZDOTDIR": str(folder.parent), "TERM": "dumb"}
    with subprocess.Popen(
        [path, "-d", "-i"], cwd=folder, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    ) as shell:
        os.close(terminal)
        try:
            yield ours
        finally:
            shell.kill()
            os.close(ours)


def read_until(mark: str, terminal: int) -> str:
    """What comes from a terminal until the mark has."""
    printed = ""
    while mark not in printed:
        assert select.select([terminal], [], [], 30)[0], f"there is no {mark} in {printed}"
        printed += os.read(terminal, 4096).decode()
    return printed


@pytest.mark.parametrize(("line", "offered"), [(line, offered[0]) for line, offered in COMPLETED if len(offered) == 1])
def test_zsh_completes(line: str, offered: str, folder: Path) -> None:
    """A completed line is printed by what is called there in place of the program."""
    with zsh_in_a_terminal(folder) as terminal:
        read_until("ready:", terminal)
        os.write(terminal, f"{line}\t\n".encode())
        printed = read_until(f"{offered}:", terminal)
    assert f"completed:{' '.join([*line.split()[1:-1], offered])}:" in printed


def test_tab_runs_no_program(folder: Path, scripts: Mapping[str, str]) -> None:
    """Python takes a third of a second to start, so the scripts have everything in them."""
    press = PRESS_TAB.format(line="'socialapi audience upload people.csv --operation '")
    assert said_by("bash", folder, f"PATH=/nowhere\n{press}") == ["delete", "update"]
    assert not [shell for shell, script in scripts.items() if "__complete" in script]


@pytest.mark.parametrize(
    ("shell", "folder"),
    [
        ("bash", ".local/share/bash-completion/completions"),
        ("zsh", ".zsh/completions"),
        ("fish", ".config/fish/completions"),
    ],
)
def test_it_is_installed_where_the_shell_looks_and_nothing_else_is_touched(
    shell: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ZSH", raising=False)
    monkeypatch.delenv("ZSH_CUSTOM", raising=False)
    for _ in range(2):
        assert app.run(["completion", shell, "--install"]) == 0
    said = printed.readouterr()
    (written,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written.parent == tmp_path / folder
    assert said.err.startswith(f"socialapi: wrote {written}; ")
    assert not said.out
    assert "socialapi" in written.read_text().splitlines()[0]


def test_a_place_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    (tmp_path / ".config").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert app.run(["completion", "fish", "--install"]) == 2
    said = printed.readouterr().err
    assert said.startswith(f"socialapi: {tmp_path}/.config")
    assert said.count("\n") == 1
