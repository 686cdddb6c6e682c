"""The pages of the API reference: an entry for each public name, which mkdocstrings fills with
signature and docstring.

`build.py` writes them. Names are read from the sources, so that nothing has to be imported or
installed.
"""

import ast
import builtins
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = {
    "socialapi": "The client, what it is made of, and what every program meets.",
    "socialapi.errors": "The tree of errors. [Errors and retries](../errors.md) explains it.",
    "socialapi.resources": "The groups of methods that a client hands out: `client.posts` is `Posts`.",
    "socialapi.streams": "Events of [streams](../streams.md) and their dispatch.",
    "socialapi.webhooks": "Receiving [webhooks](../webhooks.md): challenges, signatures and a receiver of events.",
    "socialapi.journals": "What an object needs that takes the place of a [journal](../journals.md) file.",
    "socialapi.emulator": "An [emulator](../emulator.md) of the service on this machine.",
    "socialapi.testing": "The pytest plugin: the fixtures of [tests](../testing.md).",
    "socialapi.types": "Models, reports, problems, queries and options: what else stands in a signature.",
}
"""The public modules with a sentence about each; a name that several export is described in the
first of them. The integrations are found by themselves.
"""
ABOUT: Final = (
    "Every public name. All other modules may change without notice. Methods name the endpoints that they call, which "
    "[a page of its own](../endpoints.md) lists. What models, pages and reports have in common (`to_dict`, `to_json`, "
    "`from_dict`) is described [on another](../export.md)."
)
LARGE: Final = "socialapi.types"
"""The module that has a page for each subject."""
KINDS: Final = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
CONSTANT_OPTIONS: Final = "    options:\n      show_attribute_values: true\n"
CLIENT_MADE_OPTIONS: Final = "    options:\n      merge_init_into_class: false\n      show_bases: false\n"
WITHOUT_BASES: Final = "    options:\n      show_bases: false\n"
MADE_BY_A_CLIENT: Final = frozenset({"socialapi.Pager", "socialapi.Stream"})
"""Classes beside `socialapi.resources` whose constructor is not for users."""


OF_TYPING: Final = frozenset({"Protocol", "TypedDict", "Generic", "NamedTuple"})


class Entry(NamedTuple):
    """A public name: where it is exported, where it is defined, and the page and anchor that
    describe it.
    """

    module: str
    name: str
    home: str
    page: str
    alias_of: str | None

    @property
    def anchor(self) -> str:
        """The public path of the name."""
        return f"{self.module}.{self.name}"


def modules() -> Mapping[str, str]:
    """Returns the public modules with a sentence about each, the integrations among them."""
    found = dict(MODULES)
    large = found.pop(LARGE)
    for path in sorted((ROOT / "socialapi" / "integrations").glob("*.py")):
        if "__all__ = " in path.read_text("utf-8"):
            found[f"socialapi.integrations.{path.stem}"] = ast.get_docstring(_tree(path)) or ""
    return {**found, LARGE: large}


@functools.cache
def entries() -> Sequence[Entry]:
    """Returns every public name in the order of the modules, and of the alphabet in each."""
    described: dict[tuple[str, str], str] = {}
    found: list[Entry] = []
    for module in modules():
        for name, home in sorted(_exported(module), key=lambda each: (each[0].lower(), each)):
            alias_of = described.setdefault((home, name), f"{module}.{name}")
            is_first = alias_of == f"{module}.{name}"
            found.append(Entry(module, name, home, _page(module, home), None if is_first else alias_of))
    return found


def pages() -> Mapping[str, str]:
    """Returns the Markdown of each page by its name, the index among them."""
    by_page: dict[str, list[Entry]] = {}
    for entry in sorted(entries(), key=lambda each: (list(modules()).index(each.module), each.page)):
        by_page.setdefault(entry.page, []).append(entry)
    written = {page: _written(page, of_page) for page, of_page in by_page.items()}
    return {"index.md": _index(by_page), **written}


def title_of(page: str) -> str:
    """Returns what a page is called in the navigation."""
    module, _, subject = page.removesuffix(".md").partition("-")
    return subject.replace("_", " ").capitalize() if subject else module.removeprefix("socialapi.")


def _exported(module: str) -> Iterator[tuple[str, str]]:
    """Each public name of a module with the module that defines it."""
    path = _source(module)
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom):
            yield from ((each.name, str(node.module)) for each in node.names if each.asname == each.name)
    for node in _tree(path).body:
        if isinstance(node, KINDS) and _is_listed(path, node.name):
            yield node.name, module


def _is_listed(path: Path, name: str) -> bool:
    """Whether a module offers a name that it defines: by its `__all__`, else by the name itself."""
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return name in ast.literal_eval(node.value)
    return not name.startswith("_")


def _page(module: str, home: str) -> str:
    """The page that has a name of a module."""
    if module != LARGE:
        return f"{module}.md"
    area, _, subject = home.removeprefix("socialapi.").rpartition(".")
    named = subject if area in ("models", "") and subject not in ("model", "unset") else "options"
    return f"{module}-{named}.md"


def _written(page: str, of_page: Sequence[Entry]) -> str:
    module = of_page[0].module
    title = f"`{module}`" + (f": {title_of(page).lower()}" if module == LARGE else "")
    return "\n".join([f"# {title}\n", f"{modules()[module]}\n", *map(_entry, of_page)])


def _entry(entry: Entry) -> str:
    if (entry.home, entry.name) == ("socialapi", "errors"):
        return f"## errors {{ #{entry.anchor} }}\n\nThe module [`socialapi.errors`](socialapi.errors.md).\n"
    if entry.alias_of is not None:
        described = f"The same as [`{entry.alias_of}`][{entry.alias_of}]."
        return f"## {entry.name} {{ #{entry.anchor} }}\n\n{described}\n"
    is_handed_out = entry.module == "socialapi.resources" or entry.anchor in MADE_BY_A_CLIENT
    options = CLIENT_MADE_OPTIONS if is_handed_out else "" if _has_entries_as_bases(entry) else WITHOUT_BASES
    return f"::: {entry.anchor}\n{options if _is_class_or_function(entry) else CONSTANT_OPTIONS}"


def _has_entries_as_bases(entry: Entry) -> bool:
    """Whether what the class derives from is Python's or has entries: other bases say nothing to those who use it."""
    classes = [each for each in _tree(_source(entry.home)).body if isinstance(each, ast.ClassDef)]
    bases = [ast.unparse(base).partition("[")[0] for cls in classes if cls.name == entry.name for base in cls.bases]
    named = {each.name for each in entries()} | set(dir(builtins)) | OF_TYPING
    return all(base in named for base in bases)


def _is_class_or_function(entry: Entry) -> bool:
    return any(isinstance(node, KINDS) and node.name == entry.name for node in _tree(_source(entry.home)).body)


def _index(by_page: Mapping[str, Sequence[Entry]]) -> str:
    """The page that lists every name."""
    lines = ["# API reference\n", f"{ABOUT}\n"]
    last = ""
    for page, of_page in by_page.items():
        module = of_page[0].module
        if module != last:
            lines += [f"## `{module}`\n", f"{modules()[module]}\n"]
        names = ", ".join(f"[`{each.name}`]({page}#{each.anchor})" for each in of_page)
        lines.append(f"{title_of(page)}: {names}\n" if module == LARGE else f"{names}\n")
        last = module
    return "\n".join(lines)


def _source(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
