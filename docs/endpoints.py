"""Writes `endpoints.md`: every endpoint with its SDK method. Run it after a change.

python docs/endpoints.py
"""

import ast
import inspect
import typing
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import attrs

import socialapi.routes.ads
import socialapi.routes.audiences
import socialapi.routes.catalogs
import socialapi.routes.creatives
import socialapi.routes.line_items
import socialapi.routes.oauth
import socialapi.routes.platform
from socialapi import Client, resources, types
from socialapi.routes.route import Route
from socialapi.wire.paging import PageSizes

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = ROOT / "docs" / "endpoints.md"
PUBLIC_GROUPS: Final[Collection[str]] = resources.__all__  # type: ignore[attr-defined]  # made at run time

AREAS: Final = {
    "Core platform": [socialapi.routes.platform],
    "Tokens and sign-in": [socialapi.routes.oauth],
    "Advertising": [socialapi.routes.ads, socialapi.routes.line_items, socialapi.routes.audiences],
    "Creatives": [socialapi.routes.creatives],
    "Product catalogs": [socialapi.routes.catalogs],
}


def _groups(cls: type, path: str) -> Iterator[tuple[str, str]]:
    """Yields each resource class with its path from the client, as the annotations say."""
    for name, member in vars(cls).items():
        function = getattr(member, "func", None) or getattr(member, "fget", None) or member
        returned = getattr(function, "__annotations__", {}).get("return")
        group = returned if isinstance(returned, str) else getattr(returned, "__name__", "")
        if not name.startswith("_") and group in PUBLIC_GROUPS:
            here = f"{path}.{name}" if function is not member else f"{path}.{name}({name[0]})"
            yield group, here
            yield from _groups(getattr(resources, group), here)


GROUPS: Final = dict(_groups(Client, "client"))

BY_THE_SESSION: Final = {("socialapi.routes.oauth", "APP_ONLY_TOKEN"): ["OAuth.app_only_token"]}
"""Routes that the session calls for a method."""

CHOSEN_SHAPES: Final = frozenset(
    {
        "POST_CREATE",
        "WEBHOOK_REPLAY",
        "POWERSTREAM_RULES",
        "ACTIVITY_STREAM",
        "CONNECTIONS",
        "CONNECTIONS_END",
        "CONNECTIONS_END_ENDPOINT",
        "CONNECTIONS_END_ALL",
        "ARTICLE_DRAFT",
        "ARTICLE_PUBLISH",
        "NEWS_SEARCH",
        "NEWS_STORY",
        "NOTE_EVALUATE",
        "NOTE_SUBMIT",
        "NOTES_ELIGIBLE_POSTS",
        "NOTES_WRITTEN",
        "SUBSCRIPTION_CREATE",
        "OAUTH2_AUTHORIZE",
        "OAUTH2_TOKEN",
    }
)
"""Routes whose endpoints the service's documentation only names."""


_CREDENTIALS: Final = {
    "platform": "app or user",
    "platform_user": "user",
    "platform_app": "app",
    "platform_caller": "user or app",
    "platform_subscriber": "user or app",
    "oauth": "its own",
    "ads": "user",
    "ads_sandbox": "user",
}


@attrs.frozen
class Method:
    """A public method that uses a route: its path from the client, and its signature."""

    path: str
    function: Any

    def text(self, route: Route[Any]) -> str:
        """Returns the method with its arguments, and with `await` if it is a coroutine."""
        call = f"await {self.path}" if inspect.iscoroutinefunction(self.function) else self.path
        return f"`{call}`{_arguments(self.function, route)}"

    @property
    def returns(self) -> str:
        """The class that the method returns, with the class of its items."""
        return _shown(inspect.signature(self.function).return_annotation)


def _shown(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    items = ["..." if each is ... else _shown(each) for each in typing.get_args(kind)]
    name = getattr(typing.get_origin(kind) or kind, "__name__", str(kind))
    return f"{name}[{', '.join(items)}]" if items else name


@attrs.frozen
class Row:
    """One line of the table."""

    area: str
    name: str
    route: Route[Any]
    methods: tuple[Method, ...]

    @property
    def shape(self) -> str:
        """`specified` if the service's documentation describes requests and responses, otherwise `chosen`."""
        return "chosen" if self.name in CHOSEN_SHAPES else "specified"

    def line(self) -> str:
        """Returns the row in Markdown."""
        cells = (f"{self.route.method} `{self.route.path}`", "; ".join(each.text(self.route) for each in self.methods))
        return f"| {' | '.join(cells)} | {self.result} | {self.credential} | {self.shape} |"

    @property
    def result(self) -> str:
        """What the methods return, in their order, without repetitions."""
        return "; ".join(dict.fromkeys(f"`{each.returns}`" for each in self.methods))

    @property
    def credential(self) -> str:
        """The credential of the endpoint, and the scopes that a user's OAuth 2.0 token needs."""
        scopes = "".join(f" `{scope}`" for scope in self.route.scopes)
        return _CREDENTIALS[self.route.family.name] + (f":{scopes}" if scopes else "")


def rows() -> list[Row]:
    """Returns a row for each route, in the order of the route modules."""
    methods = _methods()
    found = []
    for area, module in ((area, module) for area, modules in AREAS.items() for module in modules):
        for name, route in vars(module).items():
            if isinstance(route, Route):
                used_by = methods.get((module.__name__, name), [])
                found.append(Row(area, name, route, tuple(dict.fromkeys(used_by))))
    return found


def _methods() -> dict[tuple[str, str], list[Method]]:
    """Maps each route to the public methods that use it, from the source of the resources."""
    found = {route: [_method(*name.split(".")) for name in names] for route, names in BY_THE_SESSION.items()}
    for path in sorted((ROOT / "socialapi" / "resources").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        modules = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "socialapi.routes"
            for alias in node.names
        }
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for cls in (cls for name, cls in classes.items() if name in GROUPS):
            bases = [classes[base.id] for base in cls.bases if isinstance(base, ast.Name) and base.id in classes]
            body = [node for each in (*bases, cls) for node in each.body]
            for method, module, name in _uses(body, modules):
                found.setdefault((module, name), []).append(_method(cls.name, method))
    return found


def _method(group: str, name: str) -> Method:
    return Method(f"{GROUPS[group]}.{name}", getattr(getattr(resources, group), name))


def _arguments(method: Any, route: Route[Any]) -> str:
    """Returns the arguments of a method, optional ones in brackets, without the options of jobs. Arguments that must be
    named end with `=`, and page sizes have their bounds.
    """
    required, optional = list[str](), list[str]()
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            unpacked = next(iter(typing.get_args(parameter.annotation)), dict)
            fields: Any = getattr(types, getattr(unpacked, "__forward_arg__", ""), unpacked)
            if not typing.is_typeddict(fields) or fields.__name__.endswith("Keywords"):
                optional.append(f"`**{name}`")
                continue
            for each in typing.get_type_hints(fields):
                (required if each in fields.__required_keys__ else optional).append(f"`{each}=`{_bounds(route, each)}")
        elif name != "self":
            sign = "=" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else ""
            shown = f"`{name}{sign}`{_bounds(route, name)}"
            (required if parameter.default is parameter.empty else optional).append(shown)
    return f" {', '.join(required)}".rstrip() + (f" [{', '.join(optional)}]" if optional else "")


def _bounds(route: Route[Any], name: str) -> str:
    """Returns the bounds of a page size, in parentheses, or an empty string for any other argument."""
    sizes = PageSizes.of(route.family, route.query, {})
    return f" ({sizes.least} to {sizes.most:,})" if sizes is not None and name == sizes.parameter else ""


def _uses(body: list[ast.stmt], modules: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yields (method, module, route) for each route that a method of a class uses, directly or through
    a private method. `body` contains the statements of the class and its bases.
    """
    functions = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    private = {f.name: list(_named(f, modules)) for f in functions if f.name.startswith("_")}
    for function in functions:
        if function.name.startswith("_"):
            continue
        called = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
        through = [use for name, uses in private.items() if name in called for use in uses]
        if not called.isdisjoint(("_destination", "_upload")):
            through += private["__init__"]
        for module, name in (*_named(function, modules), *through):
            yield function.name, module, name


def _named(function: ast.AST, modules: dict[str, str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


def markdown() -> str:
    """Returns the complete page."""
    lines = [
        "# Endpoints",
        "",
        "`docs/endpoints.py` generates this table of all endpoints from the code. The emulator serves all of",
        "them.",
        "",
        "- *SDK* is the method with its arguments. Arguments in brackets are optional, and those with `=`",
        "  must be named. A method with `await` is a coroutine. A method without it sends no request itself.",
        "- *Returns* is the class of the result. Read a `Pager` ([collections](calls.md#collections)) with",
        "  `async for`, and a `Stream` ([streams](streams.md)) with `async with` and `async for`. A `Page`,",
        "  `Items` or `tuple` is complete: read it with `for`.",
        "- *Credential* is the app's app-only token, or a user's OAuth 1.0a or OAuth 2.0 token, with the",
        "  scopes that an OAuth 2.0 token needs. Activity subscriptions also need the scope of the event,",
        "  such as `dm.read`.",
        "- *Format* is `specified` if the service's documentation describes requests and responses. It is",
        "  `chosen` if the documentation only names the endpoint: see [choices](choices.md).",
    ]
    area = ""
    for row in rows():
        if row.area != area:
            area = row.area
            lines += [
                "",
                f"## {area}",
                "",
                "| Endpoint | SDK | Returns | Credential | Format |",
                "|---|---|---|---|---|",
            ]
        lines.append(row.line())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(markdown(), "utf-8")
