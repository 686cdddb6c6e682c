"""Everything that takes foreign bytes apart has a target, and every target keeps its promises for
what is kept.
"""

import ast
import functools
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import socialapi
from socialapi._speedups import IS_ENABLED
from socialapi.bulk.inputs import files
from tests.fuzz.kept import FOLDER, inputs_of
from tests.fuzz.table import ALL
from tests.fuzz.target import MARKER_BYTE, TARGETS, Target

pytestmark = [pytest.mark.xdist_group("fuzz"), pytest.mark.timeout(300)]  # the replay is made once, by one worker

PACKAGE: Final = Path(socialapi.__file__).parent
COVERED: Final = frozenset(name for each in ALL.values() for name in each.covers)
EXAMPLES: Final = 25
MAX_CORPUS_BYTES: Final = 300_000
MAX_CORPUS_FILES: Final = 400
MAX_MEMORY_BYTES: Final = 40_000_000
"""What an input of 8 KB may take: an archive is unpacked in parts, and a feed is read in parts."""

PARSERS: Final = frozenset(
    (
        *("json.loads", "orjson.loads", "_DECODER.decode", "_LENIENT.decode", "decode_json", "tomllib.loads"),
        *("parse_qsl", "parse_qs", "urlsplit", "unquote", "b64decode", "base64.b64decode", "ipaddress.ip_address"),
        *("ipaddress.ip_network", "datetime.datetime.fromisoformat", "datetime.fromisoformat", "float.fromhex"),
        *("email.utils.parsedate_to_datetime", "csv.reader", "expat.ParserCreate", "sqlite3.connect", "ParquetFile"),
        *("gzip.GzipFile", "ZstdFile", "shlex.split", "pickle.loads", "zlib.decompress", "Decimal", "html.unescape"),
    )
)
"""What takes texts and bytes apart, as it is called in the package."""
_OWN: Final = "reads what this process wrote, and no other can change"
_CHILD: Final = "reads the line of a process that it has started itself"
WITHOUT_TARGET: Final[dict[str, str]] = {
    "bulk.erasure:_is_open": "asks SQLite whether a file is in use, and reads nothing of it",
    "bulk.audiences.cleanup:_from_base64": "is given what a pattern has matched",
    "bulk.inputs.layouts:_cells": "reads the line of a file whose layout has changed, for its message",
    "bulk.inputs.layouts:_toml_of": "reads a file of the user's own, in tests of every fault that it may have",
    "bulk.ledger:_KeptKeys.get": _OWN,
    "bulk.products.batcher:WaitingProducts._read": _OWN,
    "bulk.products.price_objects:_number": "is given what a pattern has matched",
    "bulk.sync.scratch:RowFile.numbers": _OWN,
    "cli.emulator:_detach": _CHILD,
    "cli.emulator:private_emulator": _CHILD,
    "cli.jobs:JobStatus.arguments": "reads the command of a journal, whose lines have checksums",
    "cli.jobs:_moment": "shows a time of a journal, whose lines have checksums",
    "cli.jobs:_time": "shows a time of a journal, whose lines have checksums",
    "emulator.catalogs.state:Stock.fields": _OWN,
    "emulator.faults:_odd_token": "changes an answer of the emulator itself",
    "emulator.platform.post_routing:PostRouter.missed": _OWN,
    "emulator.platform.state:PostStore.time_of": "reads the time of a post, or does without one that is none",
    "session.call:Call.located": "takes the address of its own request apart, which has been sent",
    "config:Config.addresses": "takes the addresses of hosts apart, which Config has checked",
    "emulator.stubs:Stubs.find": "reads the query of a request, as aiohttp has for its URL",
    "session.session:Session._observe": "takes the address of its own request apart, which has been sent",
    "session.telemetry:Telemetry._attributes_of": "takes the address of a host apart, which Config has checked",
    "wire.response:Reply.body": "decodes what it returns as bytes if it is no JSON",
    "wire.response:hide_secrets": "takes the header and the form of its own request apart, which have been sent",
}
"""Functions that call one of these, and why they have no target."""
READ_ONCE: Final = frozenset({"emulator.seed.records:contents"})
"""Functions that read a file of the package, for whatever test of the process comes first."""


def parsing_functions() -> Iterator[str]:
    """The functions of the package that take something apart, as `module:function`."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for name, function in _functions(ast.parse(path.read_text("utf-8"))):
            calls = {ast.unparse(each.func) for each in ast.walk(function) if isinstance(each, ast.Call)}
            if not calls.isdisjoint(PARSERS):
                yield f"{module}:{name}"


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{node.name}", node


class Reached:
    """The functions of the package that are called in a block, on any thread, as `module:function`."""

    def __init__(self) -> None:
        self._codes: set[Any] = set()

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: Any, event: str, _: object) -> None:
        if event == "call":
            self._codes.add(frame.f_code)

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names, without those of functions within functions."""
        found = set()
        for code in self._codes:
            path = Path(code.co_filename)
            if path.is_relative_to(PACKAGE):
                module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
                found.add(f"{module}:{code.co_qualname.partition('.<locals>')[0]}")
        return frozenset(found)


class Replayed(NamedTuple):
    """What became of the inputs that are kept for a target: the functions that it reached, and what
    it broke.
    """

    reached: frozenset[str]
    broken: list[str]


@functools.cache
def replayed(name: str) -> Replayed:
    """Gives a target its inputs, once."""
    reached, faults = Reached(), list[str]()
    for each in inputs_of(name):
        with reached:  # anew for each: Python lets go of a profiler that meets a RecursionError
            faults.append(_fault(ALL[name], each.data))
    return Replayed(reached.names, list(filter(None, faults)))


def _fault(target: Target, data: bytes) -> str:
    try:
        target(data)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is no refusal
        return f"{data[:200]!r}: {type(error).__name__}: {error}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_what_is_kept_is_read_or_refused_and_reaches_what_the_target_is_there_for(name: str) -> None:
    reached, faults = replayed(name)
    assert faults == []
    covered = [each for each in ALL[name].covers if not each.startswith(("_native:", "FORMATS:", "archive:"))]
    assert [each for each in covered if not any(found.startswith(each) for found in reached)] == []


@pytest.mark.slow
def test_every_function_that_takes_something_apart_is_reached_by_a_target() -> None:
    reached = frozenset[str]().union(*(replayed(name).reached for name in ALL))
    missing = set(parsing_functions()) - reached
    assert missing - READ_ONCE == WITHOUT_TARGET.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, each in ALL.items() if each.is_searched_in_tests])
def test_what_is_like_something_kept_is_read_or_refused_too(name: str) -> None:
    @given(st.sampled_from([each.data for each in inputs_of(name)]), CHANGES)
    @settings(max_examples=EXAMPLES, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def check(data: bytes, changes: list[tuple[int, int, bytes]]) -> None:
        for at, length, new in changes:
            position = at % (len(data) + 1)
            data = data[:position] + new + data[position + length :]
        ALL[name](data)

    check()


CHANGES: Final = st.lists(
    st.tuples(
        st.integers(0, 1_000),
        st.sampled_from((0, 0, 1, 1, 2, 40)),
        st.binary(max_size=2)
        | st.sampled_from((MARKER_BYTE, b"\xff\xfe", b'"', b"{", b"]", b"<", b"%", b"0" * 30, b"\xed\xa0\x80")),
    ),
    max_size=3,
)


def test_every_name_of_the_extension_in_c_has_a_target() -> None:
    if not IS_ENABLED:
        pytest.skip("the extension is not used here")
    from socialapi._speedups import _native

    public = {name: each for name, each in vars(_native).items() if not name.startswith("_")}
    methods = {
        f"_native:{name}.{method}"
        for name, each in public.items()
        if isinstance(each, type)
        for method in vars(each)
        if not method.startswith("_")
    }
    assert {*(f"_native:{name}" for name in public), *methods} == {each for each in COVERED if each[0] == "_"}


def test_every_format_of_files_and_archives_has_a_target() -> None:
    wanted = {f"FORMATS:{extension}" for extension in files.FORMATS} | {
        f"archive:{magic.hex()}" for magic in files._KINDS
    }
    assert {each for each in COVERED if each.startswith(("FORMATS:", "archive:"))} == wanted


def test_the_table_has_every_target_and_the_corpus_a_file_for_each() -> None:
    assert list(ALL) == sorted(TARGETS)
    assert {path.stem for path in FOLDER.iterdir()} - (set() if IS_ENABLED else NATIVE) == set(ALL)
    sizes = [path.stat().st_size for path in FOLDER.iterdir()]
    assert len(sizes) <= MAX_CORPUS_FILES
    assert sum(sizes) <= MAX_CORPUS_BYTES


NATIVE: Final = frozenset(path.stem for path in FOLDER.glob("native-*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["archive", "xml", "csv", "json-file", "answer", "webhook"])
def test_no_input_that_is_kept_takes_much_more_memory_than_its_size(name: str) -> None:
    for each in inputs_of(name):
        tracemalloc.start()
        try:
            ALL[name](each.data)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert most <= MAX_MEMORY_BYTES, each.name
