"""The page of bounds: what the code says, and the places of the code that could take without an
end.

Places are found by their form: `places_of` says which. A wait for a task or a future (`await
task`), a table that begins full, and one that a module fills for another are not among them.
"""

import ast
import inspect
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from socialapi.webhooks import Receiver
from socialapi.webhooks.queue import MemoryStore
from tests.support.bounded_places import BOUNDED, UNBOUNDED
from tests.support.modules import module_at

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "socialapi"

QUEUES: Final = frozenset(
    [
        "Queue",
        "LifoQueue",
        "PriorityQueue",
        "SimpleQueue",
        "deque",
        "Semaphore",
        "BoundedSemaphore",
        "OrderedDict",
        "WeakKeyDictionary",
        "WeakValueDictionary",
        "WeakSet",
        "defaultdict",
        "ThreadPoolExecutor",
        "TCPConnector",
        "_CleanConnector",
    ]
)
CACHES: Final = frozenset({"cache", "lru_cache"})
WAITS: Final = frozenset(
    [
        "wait_for",
        "wait",
        "timeout",
        "timeout_at",
        "sleep",
        "acquire",
        "run_with_timeout",
        "acquire_with_timeout",
        "wait_for_event",
        "communicate",
        "gather",
        "join",
        "FileLock",
        "AsyncFileLock",
        "ClientTimeout",
    ]
)
READS: Final = frozenset(
    [
        "read",
        "readline",
        "readlines",
        "readany",
        "readexactly",
        "iter_any",
        "iter_chunked",
        "fetchall",
        "read_text",
        "read_bytes",
        "recv",
    ]
)
GROWING: Final = frozenset({"dict", "list", "set", "deque", "Counter", "OrderedDict", "defaultdict"})
"""What begins empty, and may be a table or a queue."""
READS_NO_FILES: Final = ("models/", "wire/")
"""What is called `read` there decodes a value."""
HOLDS_ITS_WORLD: Final = "emulator/"
"""Its tables are what it emulates, which the page says."""
HOLDS_VALUES: Final = "models/"
"""The fields of a model are part of one answer or request."""


page = module_at(ROOT / "docs" / "bounds.py")


def name_of(function: ast.expr) -> str:
    """The last name of what is called, also where its type has arguments:
    `collections.deque[int]()` is a deque.
    """
    if isinstance(function, ast.Subscript):
        function = function.value
    return getattr(function, "attr", getattr(function, "id", ""))


def places_of(module: str, node: ast.AST, scope: tuple[str, ...] = ()) -> Iterator[str]:
    """Where a module queues, waits, remembers or reads: what it stands in, and what is called or
    made there.
    """
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        scope = (*scope, node.name)
        bare = [name_of(each) for each in node.decorator_list if not isinstance(each, ast.Call)]
        found = [name for name in bare if name in CACHES]
    elif isinstance(node, ast.Call):
        found = list(_called(module, node))
    elif isinstance(node, ast.Await) and _waits_for_a_queue(node.value):
        found = ["get"]
    elif isinstance(node, ast.Assign | ast.AnnAssign) and not module.startswith((HOLDS_ITS_WORLD, HOLDS_VALUES)):
        found = list(_tables(node, scope))
    else:
        found = []
    yield from (f"{module} {'.'.join(scope) or '-'} {name}" for name in found)
    for child in ast.iter_child_nodes(node):
        yield from places_of(module, child, scope)


def _called(module: str, call: ast.Call) -> Iterator[str]:
    name = name_of(call.func)
    only_lets_others_run = name == "sleep" and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    joins_texts = name == "join" and bool(call.args)
    reads = name in READS and isinstance(call.func, ast.Attribute) and not module.startswith(READS_NO_FILES)
    if reads or (name in QUEUES | CACHES | WAITS and not only_lets_others_run and not joins_texts):
        yield name


def _waits_for_a_queue(awaited: ast.expr) -> bool:
    """Whether `get()` is awaited. What has a `get` of its own that takes a key is no queue."""
    return isinstance(awaited, ast.Call) and name_of(awaited.func) == "get" and not (awaited.args or awaited.keywords)


def _tables(node: ast.Assign | ast.AnnAssign, scope: tuple[str, ...]) -> Iterator[str]:
    """An empty table or list that a module or an object keeps, by its name."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    is_kept = isinstance(target, ast.Attribute) and scope[-1:] == ("__init__",)
    if (_is_empty(node.value) and (is_kept or not scope)) or _has_growing_default(node.value):
        yield name_of(target)


def _is_empty(made: ast.expr | None) -> bool:
    if isinstance(made, ast.Call):
        return name_of(made.func) in ("dict", "list", "set") and not (made.args or made.keywords)
    return (isinstance(made, ast.Dict) and not made.keys) or (isinstance(made, ast.List) and not made.elts)


def _has_growing_default(made: ast.expr | None) -> bool:
    """Whether this is a field of an attrs class that begins as an empty table or list."""
    keywords = made.keywords if isinstance(made, ast.Call) else []
    return any(each.arg == "factory" and name_of(each.value) in GROWING for each in keywords)


def places() -> set[str]:
    return {
        place
        for path in sorted(PACKAGE.rglob("*.py"))
        for place in places_of(path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text("utf-8")))
    }


def test_the_page_is_what_the_code_says() -> None:
    assert page.PAGE.read_text("utf-8") == page.markdown(), "run: python docs/bounds.py"


def test_every_place_that_queues_waits_remembers_or_reads_keeps_a_bound_or_says_why_it_needs_none() -> None:
    listed = [place for named in (BOUNDED, UNBOUNDED) for found in named.values() for place in found]
    assert len(listed) == len(set(listed))
    found = places()
    assert sorted(found - set(listed)) == [], "bound them, and add them to tests/support/bounded_places.py"
    assert sorted(set(listed) - found) == [], "these are gone"


def test_every_bound_that_a_place_keeps_is_a_row_of_the_page() -> None:
    rows = [bound.what for bounds in page.SECTIONS.values() for bound in bounds]
    assert len(rows) == len(set(rows))
    assert sorted(BOUNDED.keys() - set(rows)) == []


def test_every_limit_of_a_setting_is_on_the_page() -> None:
    text = page.markdown()
    limits = [name for name in page.DEFAULTS if name.startswith("max_") or name.endswith("_seconds")]
    # These say how the service differs, and how a gap is told: no limit of this side.
    others = {"max_operations", "max_batch_bytes", "slow_reader_seconds", "gap_margin_seconds"}
    assert [name for name in limits if f"`Config.{name}`" not in text and name not in others] == []


async def test_the_identities_that_a_receiver_remembers_take_what_the_page_says() -> None:
    window = inspect.signature(Receiver).parameters["dedup_window"].default
    store = MemoryStore(max_queue=1, dedup_window=window)
    tracemalloc.start()
    try:
        for number in range(window + 10):
            assert await store.add(number.to_bytes(16, "big"), b"") == "new"
            await store.take()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken == pytest.approx(page.IDENTITIES_BYTES, rel=0.1)
