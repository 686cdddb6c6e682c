"""Imports only go down: CONTRIBUTING.md draws the house, this walks its imports and fails on any other arrow."""

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs
import pytest

PACKAGE: Final = Path(__file__).parents[1] / "socialapi"

# A unit is a module or package directly below `socialapi`; the package itself is "socialapi". A unit may import from
# every floor below its own, and not from its neighbours on the same floor. Each module of `internal` is a unit too.
FLOORS: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(floor.split())
    for floor in (
        "_speedups console fairness internal lazy listening notebook pyinstaller secret shielded statuses unset version",
        "records",
        "file_lock private_files problems reports",
        "errors",
        "config credentials logs sqlite_file",
        "models",
        "routes",
        "wire",
        "session",
        "bulk streams",
        "resources",
        "client",
        "socialapi",
        "cli testing",
        "__main__",
    )
)
BOTTOM: Final = frozenset().union(*FLOORS[:5])
EVERYTHING_BELOW: Final = {
    unit: frozenset().union(*FLOORS[:level]) for level, floor in enumerate(FLOORS) for unit in floor
}
# Those who stand aside say what they may import, and who may import them.
ASIDE: Final = {
    "emulator": BOTTOM - {"reports"} | {"models", "routes"},
    "webhooks": BOTTOM | {"models", "routes", "wire"},
    "integrations": EVERYTHING_BELOW["socialapi"],  # what a program may use; a client makes what its environment names
    "journals": EVERYTHING_BELOW["resources"],  # what re-exports names imports their modules on first use
    "types": EVERYTHING_BELOW["client"],  # as journals
}
ALSO: Final = {
    "cli": frozenset({"emulator", "integrations", "webhooks"}),
    "client": frozenset({"integrations"}),
    "testing": frozenset({"emulator"}),
    "__main__": frozenset(),
}
# The only imports that go up, each in a method: every record, page and pager exports itself, by what knows them all.
UPWARD: Final = {
    # to_dict, to_json and from_dict
    ("socialapi.internal.records", "socialapi.wire.export"),
    ("socialapi.models.model", "socialapi.wire.export"),
    ("socialapi.models.oauth", "socialapi.wire.export"),
    ("socialapi.models.pages", "socialapi.wire.export"),
    # to_arrow and to_pandas
    ("socialapi.models.pages", "socialapi.integrations.arrow"),
    ("socialapi.session.pager", "socialapi.integrations.arrow"),
}
ALLOWED: Final = {unit: below | ALSO.get(unit, frozenset()) for unit, below in EVERYTHING_BELOW.items()} | ASIDE

# Within `bulk`, too, each room or module may import from those above it here, and a room from itself.
ROOMS_OF_BULK: Final = (
    "output_file",
    "rejects rows",
    "inputs",
    "outcomes",
    "ledger",
    "counters settled",
    "dispatcher",
    "journals progress",
    "job",
    "audiences products",
    "linting sync",
    "erasure",
)

# Libraries that only some may use. A client takes a session, connector or trace of the user's: it names their types.
MAY_USE_AIOHTTP: Final = frozenset({"session", "emulator", "testing"})
MAY_NAME_TYPES_OF_AIOHTTP: Final = frozenset({"client"})
MAY_USE_AIOHTTP_WEB: Final = MAY_USE_AIOHTTP | {"webhooks"}
# Extras, which not everybody has and nobody should wait for: imported in functions, when there is something for them.
EXTRAS: Final = frozenset(
    {"pyarrow", "pandas", "backports", "compression", "redis", "pyspark", "py4j", "aioresponses", "opentelemetry"}
)
MAY_USE_EXTRAS: Final = frozenset({"bulk", "integrations", "testing"})
USED_BY_ONE_MODULE: Final = {"opentelemetry": "socialapi.session.telemetry"}
READS_ADDRESSES: Final = "socialapi.bulk.inputs.remote"
"""It reads files of web servers, which are none of the service."""
NOT_IN_WIRE: Final = frozenset({"aiohttp", "asyncio", "time", "random"})

MAX_LINES: Final = 50

PUBLIC_PACKAGES: Final = frozenset(
    {
        "socialapi",
        "socialapi.emulator",
        "socialapi.resources",
        "socialapi.streams",
        "socialapi.webhooks",
        "socialapi.cli",
    }
)


@attrs.frozen
class Import:
    """One imported module, or name within one: `from a import b` is `a.b`, since `b` may be a module."""

    line: int
    name: str


parsed = functools.cache(ast.parse)
"""The tree of a source, which several tests walk and none changes."""


def imports(source: str, package: str) -> Iterator[Import]:
    """Every import of a module that lives in `package`: at the top, in functions, for type checkers, by name."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            yield from (Import(node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node).endswith(("import_module", "__import__")):
            yield from (
                Import(node.lineno, argument.value)
                for argument in node.args[:1]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def uses_outside_annotations(source: str, name: str) -> list[int]:
    """The lines that use a name for more than to say what type something has."""
    tree = parsed(source)
    said: set[ast.AST] = set()
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                said.update(ast.walk(annotation))
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    return sorted(node.lineno for node in used if node not in said)


def unit_of(module: str) -> str:
    """The unit that a dotted name belongs to."""
    parts = module.split(".")
    if parts[1:2] == ["internal"]:
        return parts[2] if len(parts) > 2 else parts[1]
    return parts[1] if len(parts) > 1 else parts[0]


def target_unit(name: str) -> str:
    """The unit that an imported name belongs to; a name of the package that is no unit is the package itself."""
    unit = unit_of(name)
    return unit if unit in ALLOWED else "socialapi"


def forbidden(module: str, source: str, *, package: str | None = None) -> list[str]:
    """What a module imports that it may not, as sentences."""
    unit = unit_of(module)
    if unit not in ALLOWED:
        return [f"{module} is on no floor of the house: give {unit} its place in {Path(__file__).name}"]
    found = imports(source, package or module.rpartition(".")[0] or module)
    wrong = [f"{module}:{each.line} may not import {each.name}" for each in found if not _may(module, each.name)]
    if unit in MAY_NAME_TYPES_OF_AIOHTTP:
        lines = uses_outside_annotations(source, "aiohttp")
        wrong += [f"{module}:{line} may name aiohttp in annotations only" for line in lines]
    if unit != "integrations":  # which nobody imports who does not have the extra
        wrong += [f"{module}:{line} may import {name} in functions only" for line, name in extras_at_once(source)]
    return wrong


class _RunTimeImports(ast.NodeTransformer):
    """Leaves out what is imported for type checkers only."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:  # the name that ast looks for
        return node.orelse if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def extras_at_once(source: str) -> Iterator[tuple[int, str]]:
    """The imports of extras that are made as soon as the module is; type checkers may have theirs."""
    tree = _RunTimeImports().visit(ast.parse(source))
    later = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node not in later and isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            if module.partition(".")[0] in EXTRAS:
                yield node.lineno, module


def _may(module: str, name: str) -> bool:
    unit, top = unit_of(module), name.partition(".")[0]
    if top in USED_BY_ONE_MODULE:
        return module == USED_BY_ONE_MODULE[top]
    if top == "socialapi":
        target = target_unit(name)
        return target == unit or target in ALLOWED[unit] or (module, name) in UPWARD
    if (unit == "wire" and top in NOT_IN_WIRE) or (top in EXTRAS and unit not in MAY_USE_EXTRAS):
        return False
    if top == "aiohttp":
        is_web = name.startswith("aiohttp.web.") or name == "aiohttp.web"
        if unit in MAY_NAME_TYPES_OF_AIOHTTP and name == top:
            return True
        return unit in (MAY_USE_AIOHTTP_WEB if is_web else MAY_USE_AIOHTTP) or module == READS_ADDRESSES
    return True


def modules() -> Iterator[tuple[str, str, str]]:
    """Name, package and source of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["socialapi", *path.relative_to(PACKAGE).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        yield module, module if is_package else ".".join(parts[:-1]), path.read_text("utf-8")


def test_imports_only_go_down() -> None:
    wrong = [each for module, package, source in modules() for each in forbidden(module, source, package=package)]
    assert not wrong, "\n".join(wrong)


def test_no_import_may_go_up_that_nobody_makes() -> None:
    assert {(module, each.name) for module, package, source in modules() for each in imports(source, package)} >= UPWARD


def test_the_rooms_of_bulk_lie_one_above_the_other() -> None:
    level = {room: number for number, rooms in enumerate(ROOMS_OF_BULK) for room in rooms.split()}
    wrong = [
        f"{module}:{each.line} may not import {each.name}"
        for module, package, source in modules()
        if module.startswith("socialapi.bulk.")
        for each in imports(source, package)
        if each.name.startswith("socialapi.bulk.") and not _goes_down(module, each.name, level)
    ]
    assert not wrong, "\n".join(wrong)


def _goes_down(module: str, name: str, level: Mapping[str, int]) -> bool:
    room, other = module.split(".")[2], name.split(".")[2]
    return room == other or level[other] < level[room]


def test_package_files_are_empty_but_for_the_public_ones_and_the_switch_of_the_extension() -> None:
    filled = {module for module, package, source in modules() if module == package and source.strip()}
    assert filled <= PUBLIC_PACKAGES | {"socialapi._speedups"}


def test_extras_are_not_imported_until_there_is_something_for_them() -> None:
    script = """
import sys, socialapi
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.formats import open_records
open_records("crm.csv", IdentifierColumns.of(None, ["email"]))
print(*{name.partition(".")[0] for name in sys.modules} & {"pyarrow", "pandas", "numpy"})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# An error that is raised while another one is handled keeps it as its context, shown or not. These hold no values of a
# caller or of the service: they are of this package, about a file, or about time.
HARMLESS: Final = frozenset(
    [
        "ApiError",
        "ConfigurationError",
        "DecodeError",
        "InvalidInput",
        "SocialApiError",
        "TransportError",
        "WebhookRejected",
        "FileNotFoundError",
        "ImportError",
        "OSError",
        "OverflowError",
        "RecursionError",
        "Timeout",
        "TimeoutError",
        "asyncio.CancelledError",
    ]
)
# `wire/converter.py` makes its errors anew where they leave it; a position holds ids alone; a stream raises what it has.
LOOKED_AT: Final = frozenset({"session/pager.py", "streams/link.py", "wire/converter.py", "wire/readers.py"})


def keepers(source: str) -> Iterator[int]:
    """The lines that raise something while an error that may hold values is handled."""
    for handler in ast.walk(parsed(source)):
        if not isinstance(handler, ast.ExceptHandler):
            continue
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if {ast.unparse(each) if each is not None else "" for each in caught} <= HARMLESS:
            continue
        yield from (each.lineno for each in ast.walk(handler) if isinstance(each, ast.Raise) and each.exc is not None)


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in ("bulk", "emulator")
        and path.relative_to(PACKAGE).as_posix() not in LOOKED_AT
    ],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_no_error_keeps_another_one_that_may_hold_values(path: Path) -> None:
    assert list(keepers(path.read_text("utf-8"))) == []


def imported_modules(source: str, package: str, known: Collection[str]) -> set[str]:
    """The modules that a module imports: at once, in its functions or for type checkers."""
    names = {each.name for each in imports(source, package)}
    return {name if name in known else name.rpartition(".")[0] for name in names} & set(known)


def test_no_modules_import_one_another_in_a_circle() -> None:
    found = {module: (package, source) for module, package, source in modules()}
    graph = {
        module: {
            each for each in imported_modules(source, package, found) if each != module and (module, each) not in UPWARD
        }
        for module, (package, source) in found.items()
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_no_function_is_longer_than_a_screen() -> None:
    """Of a command, whose signature is the documentation of its options, only the body counts."""
    long = [
        f"{module}:{node.lineno} {node.name}"
        for module, _, source in modules()
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node, module) > MAX_LINES
    ]
    assert not long


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> int:
    is_command = module.startswith("socialapi.cli.") and bool(function.decorator_list)
    first = function.body[0].lineno if is_command else function.lineno
    return (function.end_lineno or first) - first + 1
