"""Builds the site of the documentation: prepares its pages, runs Zensical, and checks every link of
the result.

python -m docs.site.build

The pages are the Markdown files of the repository, whose links work there. Here they get the
addresses that they have in the site, and its navigation is the list in `docs/contents.md`.
`.docs/pages` is written anew each time.
"""

import ast
import json
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from docs.site import api, check

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ROOT / ".docs" / "pages"
SITE: Final = ROOT / "site"
OUTSIDE: Final = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "examples/README.md": "examples/index.md",
    "examples/testing_a_service/README.md": "examples/testing_a_service.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "benchmarks/GROWTH.md": "benchmarks/growth.md",
    "benchmarks/README.md": "benchmarks/method.md",
}
"""Files outside of `docs` that are pages, with their addresses in the site."""
WITH_THEIR_FILES: Final = ("examples/testing_a_service/README.md",)
"""Pages about a folder that show its files as well."""
LANGUAGES: Final = {".py": "python", ".toml": "toml", ".sh": "sh"}
TIMEOUT_SECONDS: Final = 600.0
PICTURES: Final = ("benchmarks/plots", "docs/assets")
LINK: Final = re.compile(r"(\]\()([^)\s]+)\)")
TABS: Final = {
    "Start": ["Start here"],
    "Guides": ["Move data", "Make calls", "Receive events", "Run it", "Test"],
    "Examples": ["Examples"],
    "Reference": ["Look up"],
    "Project": ["The project"],
}
"""The entries of the bar at the top, with the groups of the contents in each."""
API_INDEX: Final = "api/index.md"
API_LINE: Final = "- API reference (in the site that `make docs` builds): "
"""How the line of the contents begins that has a page to link to in the site alone."""


def main() -> int:
    """Builds the site. Returns the status of the program."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    for name, text in site_pages().items():
        path = PAGES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for folder in PICTURES:
        shutil.copytree(ROOT / folder, PAGES / folder)
    for name in ("site.css", "file-workers.js", "copy-commands.js"):
        shutil.copy(Path(__file__).parent / "theme" / name, PAGES)
    program = str(Path(sys.executable).with_name("zensical"))
    command = [program, "build", "--clean", "--strict"]
    status = subprocess.run(command, cwd=ROOT, check=False, timeout=TIMEOUT_SECONDS).returncode  # noqa: S603  # ours
    faults = [] if status else check.faults_of(SITE, {each.anchor: each.page for each in api.entries()})
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    if not status:
        pages = site_pages()
        for name, text in {**pages, **for_machines(pages)}.items():
            path = SITE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return status or bool(faults)


def site_pages() -> Mapping[str, str]:
    """Returns the Markdown of every page of the site by its name there, navigation included."""
    addresses = _addresses()
    pages = {address: _for_site(source, addresses) for source, address in addresses.items()}
    pages |= {f"api/{name}": text for name, text in api.pages().items()}
    return {**pages, "NAVIGATION.md": _navigation(pages["contents.md"])}


def for_machines(pages: Mapping[str, str]) -> Mapping[str, str]:
    """Returns what programs read that know nothing of this site: `llms.txt`, which lists the pages
    with a sentence on each, and `llms-full.txt`, which has their text. The links lead to the
    Markdown of the pages. The API reference is left out: `help()` shows it.
    """
    listed = pages["contents.md"].partition("\n- [API reference]")
    lines = f"{listed[0]}{listed[2][listed[2].index(chr(10)) :]}".splitlines()
    summary = pages["index.md"].split("\n\n")[1].replace("\n", " ")
    groups = [f"## {line[:-1]}" if line.endswith(":") else line for line in lines[1:]]
    names = [link for link in LINK.findall("\n".join(lines)) if link[1] in pages]
    about_the_project = frozenset(LINK.findall(listed[2].partition("\nThe project:")[2]))
    full = "\n\n".join(
        f"<!-- {link[1]} -->\n\n{pages[link[1]].strip()}" for link in names if link not in about_the_project
    )
    about = f"[llms-full.txt](llms-full.txt) has the text of these pages ({len(full) // 1000} kB), except those about the project. Each page begins with a line such as `<!-- {names[0][1]} -->`, so that `awk '/^<!-- .*md -->$/ {{on = ($2 == \"streams.md\")}} on' llms-full.txt` prints one page."
    return {
        "llms.txt": f"# socialapi\n\n> {summary}\n\n{about}\n" + "\n".join(groups) + "\n",
        "llms-full.txt": f"{full}\n",
    }


def _addresses() -> Mapping[str, str]:
    """The pages of the site by the files of the repository that they are made of."""
    found = {f"docs/{path.name}": path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    examples = sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb", ".sh"))
    return {**found, **OUTSIDE, **{f"examples/{path.name}": f"examples/{path.stem}.md" for path in examples}}


def _for_site(source: str, addresses: Mapping[str, str]) -> str:
    """A file of the repository as a page: its links lead to the other pages of the site."""
    text = (ROOT / source).read_text("utf-8")
    if source.endswith((".py", ".sh")):
        return _example(source, text)
    if source.endswith(".ipynb"):
        return _notebook(text)

    def moved(link: re.Match[str]) -> str:
        path, number, anchor = link[2].partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        target = f"{target}/README.md" if path.endswith("/") else target
        if not path or ":" in path:
            return link[0]
        here = posixpath.dirname(addresses[source])
        return f"{link[1]}{posixpath.relpath(addresses.get(target, target), here or '.')}{number}{anchor})"

    lines = (line if is_code else _table_row(LINK.sub(moved, line)) for is_code, line in _lines(text))
    code = _files(Path(source).parent) if source in WITH_THEIR_FILES else ""
    return "".join(lines).replace(API_LINE, f"- [API reference]({API_INDEX}): ") + code


def _table_row(line: str) -> str:
    """A line for Zensical, which takes a `|` in code for itself in tables too, where code hosts
    want it escaped.
    """
    return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), line) if line.startswith("|") else line


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """The lines of a page, with whether they are in a block of code."""
    is_code = False
    for line in text.splitlines(keepends=True):
        is_fence = line.lstrip().startswith("```")
        yield is_code or is_fence, line
        is_code ^= is_fence


def _example(source: str, text: str) -> str:
    """The page of a program: what its docstring or its first comment says, then the program itself."""
    if source.endswith(".sh"):
        comment = re.findall(r"(?m)\A#!.*\n((?:#.*\n)+)", text)[0]
        described, code = re.sub(r"(?m)^# ?", "", comment), text.replace(comment, "")
    else:
        docstring = ast.parse(text).body[0]
        described = ast.get_docstring(ast.parse(text)) or source
        code = "".join(text.splitlines(keepends=True)[docstring.end_lineno :]).lstrip("\n")
    title, _, about = described.strip().partition(".\n\n")
    about = about.replace("What to change:\n", "## What to change\n")
    return f"# {title}\n\n{about}\n\n## The program\n\n`{source}`:\n\n```{LANGUAGES[Path(source).suffix]}\n{code}```\n"


def _files(folder: Path) -> str:
    """The files of a project as sections of its page: first the program, then its settings and tests."""
    names = sorted(path.name for path in (ROOT / folder).iterdir() if path.suffix in LANGUAGES)
    tests_last = sorted(names, key=lambda name: (name.startswith("test_"), name == "conftest.py"))
    return "".join(
        f"\n## `{name}`\n\n```{LANGUAGES[Path(name).suffix]}\n{(ROOT / folder / name).read_text('utf-8')}```\n"
        for name in tests_last
    )


def _notebook(text: str) -> str:
    """The page that shows a notebook: its cells, one after another."""
    cells = [(each["cell_type"], "".join(each["source"])) for each in json.loads(text)["cells"]]
    return "\n\n".join(f"```python\n{source}\n```" if kind == "code" else source for kind, source in cells) + "\n"


def _navigation(contents: str) -> str:
    """The navigation: the lists of the contents below the lines that introduce them, in the five
    entries of the bar at the top. The API reference is a group.
    """
    groups = dict(re.findall(r"^(\w[^\n]*?)(?:,[^\n]*)?:\n\n((?:- .*\n(?:  .*\n)*)+)", contents, re.MULTILINE))
    lines: list[str] = []
    for tab, titles in TABS.items():
        lines += [f"* {tab}", *(["    * [socialapi](index.md)", "    * [All pages](contents.md)"] if not lines else [])]
        for title in titles:
            indent = "    " if len(titles) == 1 else "        "
            lines += [] if len(titles) == 1 else [f"    * {title}"]
            entries = re.findall(r"^- \[([^\]]+)\]\(([^)]+)\)", groups.pop(title), re.MULTILINE)
            lines += [f"{indent}* [{name}]({address})" for name, address in entries if address != API_INDEX]
            for name, _ in (entry for entry in entries if entry[1] == API_INDEX):
                lines += [indent + line for line in _api_navigation(name)]
    if groups:
        raise ValueError(f"groups of docs/contents.md that are in no tab: {', '.join(groups)}")
    return "\n".join(lines) + "\n"


def _api_navigation(title: str) -> list[str]:
    """The pages of the API reference, those of one module in a group of their own."""
    pages = [page for page in api.pages() if page != "index.md"]
    of_large = [page for page in pages if page.startswith(f"{api.LARGE}-")]
    lines = [f"* {title}", f"    * [All names]({API_INDEX})"]
    lines += [f"    * [{api.title_of(page)}](api/{page})" for page in pages if page not in of_large]
    lines.append(f"    * {api.title_of(api.LARGE)}")
    return lines + [f"        * [{api.title_of(page)}](api/{page})" for page in of_large]


if __name__ == "__main__":
    sys.exit(main())
