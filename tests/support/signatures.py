"""What stands in the signatures of public names: read from the sources, where strings and late imports are no matter."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import attrs

CALLED_BY_USERS: Final = frozenset(
    ["__init__", "__call__", "__aenter__", "__aiter__", "__anext__", "__await__", "__getitem__", "__iter__", "__next__"]
)
FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
PUBLIC_MODULES: Final = (
    "socialapi",
    "socialapi.emulator",
    "socialapi.errors",
    "socialapi.integrations.redis",
    "socialapi.integrations.telemetry",
    "socialapi.journals",
    "socialapi.resources",
    "socialapi.streams",
    "socialapi.testing",
    "socialapi.types",
    "socialapi.webhooks",
)
"""CONTRIBUTING.md says the same."""
NOT_INSTALLED_HERE: Final = ("socialapi.integrations.spark",)
"""What needs a library that has an environment of its own."""


def names_of(module: ModuleType) -> set[str]:
    """Its list of public names, or else what it defines."""
    listed: list[str] | None = getattr(module, "__all__", None)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return set(listed if listed is not None else (name for name in own if not name.startswith("_")))


PUBLIC: Final = [
    (module, name) for module in PUBLIC_MODULES for name in sorted(names_of(importlib.import_module(module)))
]


@attrs.frozen
class Name:
    """A name of the package with the module that defines it."""

    module: str
    name: str


class Package:
    """A package as it stands in its files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> "Module | None":
        """None for modules outside of the package, and for what is no module."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> "Module | None":
        top, *below = name.split(".")
        if top != self._folder.name:
            return None
        path = self._folder.joinpath(*below)
        files = (path.with_suffix(".py"), path / "__init__.py")
        found = next((each for each in files if below or each.parent == path if each.is_file()), None)
        return Module(name, ast.parse(found.read_text("utf-8"))) if found is not None else None

    def resolve(self, module: str, name: str) -> Name | None:
        """Where a name that a module uses is defined; None for names from outside, builtins and modules."""
        here = self.module(module)
        if here is None or name in here.definitions:
            return Name(module, name) if here is not None else None
        home, there = here.imports.get(name, ("", ""))
        return None if self.module(f"{home}.{there}") is not None else self.resolve(home, there) if home else None

    def definition(self, name: Name) -> ast.stmt:
        """The statement that defines it."""
        module = self.module(name.module)
        assert module is not None
        return module.definitions[name.name]


class Module:
    """The definitions of a module by their names, and what it imports from where, also for type checkers alone."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name: Final = name
        self.definitions: Final[dict[str, ast.stmt]] = {}
        self.imports: Final[dict[str, tuple[str, str]]] = {}
        self._read(tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.If):
                self._read([*node.orelse, *node.body])  # what type checkers see goes before
            elif isinstance(node, ast.ImportFrom):
                self.imports.update((each.asname or each.name, (str(node.module), each.name)) for each in node.names)
            else:
                self.definitions.update(dict.fromkeys(_names_defined(node), node))


def _names_defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | FUNCTION[0] | FUNCTION[1]):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def named_in(annotation: ast.expr | None) -> Iterator[str]:
    """The names in an annotation, also in one that is a string; no literals, and no rules beside a type."""
    match annotation:
        case ast.Name(id=name):
            yield name
        case ast.Constant(value=str(text)):
            yield from named_in(ast.parse(text, mode="eval").body)
        case ast.Subscript(value=ast.Name(id="Literal")) | ast.Constant() | ast.Call() | None:
            return
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *_])):
            yield from named_in(kind)
        case _:
            for part in ast.iter_child_nodes(annotation):
                yield from named_in(part if isinstance(part, ast.expr) else None)


def annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr | None]:
    """Those of the parameters and of the result."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    yield from (each.annotation for each in parameters if each is not None)
    yield function.returns


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in CALLED_BY_USERS


def _attributes(init: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(init):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute) and _is_public(node.target.attr):
            yield node.annotation


def of_class(definition: ast.ClassDef, *, is_made_by_users: bool = True) -> Iterator[ast.expr | None]:
    """The annotations of what is public in a class, without what it inherits."""
    for node in definition.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_public(node.target.id):
            yield node.annotation
        elif isinstance(node, FUNCTION) and node.name == "__init__":
            yield from _attributes(node)
            yield from annotations(node) if is_made_by_users else ()
        elif isinstance(node, FUNCTION) and _is_public(node.name):
            yield from annotations(node)
    for base in definition.bases:
        yield base.slice if isinstance(base, ast.Subscript) else None


def is_rule(package: Package, name: Name) -> bool:
    """Whether an alias only adds a rule to a type, or takes one value for a list: callers see the type itself."""
    node = package.definition(name)
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation) == "TypeAlias" and name.module == "socialapi.models.validation"
    words = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return isinstance(node, ast.Assign) and bool(words & {"Annotated", "AnyId", "ListOf", "TypeVar"})


class Signatures:
    """Follows signatures from one name to the next. `found` has each name that was reached, with what led to it.

    The classes that are not made by users have constructors of their own business. The attributes of `opaque` ones are
    not promised.
    """

    def __init__(self, package: Package, *, not_made_by_users: frozenset[Name], opaque: frozenset[Name]) -> None:
        self._package = package
        self._not_made = not_made_by_users
        self._opaque = opaque
        self.found: Final[dict[Name, str]] = {}

    def follow(self, module: str, name: str, came_from: str) -> None:
        """What a module means by a name, and everything in its signatures."""
        target = self._package.resolve(module, name)
        if target is None or target in self.found:
            return
        self.found[target] = came_from
        if target not in self._opaque:
            for there, annotation in self._annotations(target):
                for each in named_in(annotation):
                    self.follow(there, each, f"{target.module}.{target.name}")

    def _annotations(self, target: Name) -> Iterator[tuple[str, ast.expr | None]]:
        node = self._package.definition(target)
        if isinstance(node, ast.ClassDef):
            yield from self._of_class(target, node, is_made_by_users=target not in self._not_made)
        elif isinstance(node, FUNCTION):
            yield from ((target.module, each) for each in annotations(node))
        elif isinstance(node, ast.AnnAssign):
            yield target.module, node.value if ast.unparse(node.annotation) == "TypeAlias" else node.annotation
        elif isinstance(node, ast.Assign):
            yield target.module, node.value

    def _of_class(
        self, target: Name, node: ast.ClassDef, *, is_made_by_users: bool
    ) -> Iterator[tuple[str, ast.expr | None]]:
        yield from ((target.module, each) for each in of_class(node, is_made_by_users=is_made_by_users))
        for name in (name for base in node.bases for name in named_in(base)):
            inherited = self._package.resolve(target.module, name)
            there = self._package.definition(inherited) if inherited is not None else None
            if inherited is not None and isinstance(there, ast.ClassDef):
                yield from self._of_class(inherited, there, is_made_by_users=is_made_by_users)
