"""Files at addresses: what is asked of their servers, one version from beginning to end, and what is never shown."""

import gzip
import io
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import fsspec
import pyarrow
import pyarrow.parquet
import pytest

from socialapi import Client, Config, OAuth1
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs import remote
from socialapi.bulk.inputs.addresses import is_address, name_of_address
from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.reader import TableForm
from socialapi.bulk.inputs.remote import MAX_REDIRECTS, RETRIES
from socialapi.bulk.journals.journal import fingerprint
from socialapi.errors import BulkError, InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS
from tests.bulk.input_files import open_users, read, read_until_error, values
from tests.session.test_tracebacks import frames_of
from tests.support.server import Cut, Fault, Received, Server, Step, answer
from tests.support.tls import Authority

CSV: Final = b"email\n" + b"".join(b"%06d@example.com\n" % number for number in range(30_000))
EVERYBODY: Final = [[f"{number:06d}@example.com"] for number in range(30_000)]


def parquet(rows: int = len(EVERYBODY)) -> bytes:
    sink = io.BytesIO()
    table = pyarrow.table(
        {"unused": [f"{n:0200d}" for n in range(rows)], "email": [one for (one,) in EVERYBODY[:rows]]}
    )
    pyarrow.parquet.write_table(table, sink, compression="none", use_dictionary=False)
    return sink.getvalue()


@attrs.define
class Website:
    """A server of one file, which answers as these headers say."""

    content: bytes
    headers: dict[str, Any] = attrs.field(factory=lambda: {"ETag": '"one"'})
    gives_ranges: bool = True
    whole: Callable[[bytes], Step] | None = None
    """Answers the request for the whole file, of these bytes."""

    async def serve(self, asked: Received) -> Any:
        if asked.method != "GET":  # as an address that is signed for reading
            return answer(status=403)
        condition = asked.headers.get("if-match", self.headers.get("ETag"))
        if condition != self.headers.get("ETag"):
            return answer(status=412)
        start, _, end = asked.headers.get("range", "").removeprefix("bytes=").partition("-")
        if not (start and self.gives_ranges):
            return answer(self.content, **self.headers) if self.whole is None else self.whole(self.content)
        part = self.content[int(start) : int(end or len(self.content)) + 1]
        span = f"bytes {start}-{int(start) + len(part) - 1}/{len(self.content)}"
        return answer(part, status=206, Content_Range=span, **self.headers)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def server(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setenv("SOCIALAPI_CA_FILE", str(authority.file))
    async with Server(tls=authority.server("127.0.0.1")) as running:
        yield running


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits before requests that are repeated."""
    found = list[float]()
    monkeypatch.setattr(remote, "sleep", found.append)
    return found


def address(server: Server, site: Website, path: str = "/exports/crm.csv") -> str:
    server.then = site.serve
    return f"{server.url}{path}"


async def test_a_file_of_a_web_server_is_read_by_one_request_from_its_beginning_to_its_end(server: Server) -> None:
    found = await read(address(server, Website(CSV)))
    assert values(found) == EVERYBODY
    look, whole = server.requests  # the first is answered with a byte, and says size and version
    assert (look.method, look.headers["range"]) == ("GET", "bytes=0-0")
    assert "range" not in whole.headers
    assert (whole.headers["if-match"], whole.headers["accept-encoding"]) == ('"one"', "identity")


async def test_the_format_is_that_of_the_path_and_the_query_is_sent_as_it_is(server: Server) -> None:
    site = Website(gzip.compress(b'{"email": "a@b.example"}\n'))
    assert values(await read(address(server, site, "/a/crm.jsonl.gz?X-Signature=ab%2Fc&x=.csv"))) == [["a@b.example"]]
    assert {asked.path for asked in server.requests} == {"/a/crm.jsonl.gz?X-Signature=ab%2Fc&x=.csv"}


async def test_parquet_is_read_by_ranges_of_one_version(server: Server) -> None:
    site = Website(parquet())
    assert values(await read(address(server, site, "/crm.parquet"))) == EVERYBODY
    assert {asked.headers.get("if-match") for asked in server.requests[1:]} == {'"one"'}
    ranges = [asked.headers["range"].removeprefix("bytes=").split("-") for asked in server.requests[2:]]
    # Of the other column, which is nearly all of the file, only the first rows are looked at.
    assert sum(int(last) - int(first) for first, last in ranges) < len(site.content)


async def test_parquet_of_a_server_without_ranges_is_refused(server: Server) -> None:
    site = Website(parquet(), gives_ranges=False)
    _, error = await read_until_error(address(server, site, "/crm.parquet"), InvalidInput)
    assert (
        str(error)
        == f"{server.url}/crm.parquet: the server does not support ranges, which Parquet needs: download the file first"
    )


def chunked(content: bytes, **headers: str) -> bytes:
    parts = [content[start : start + 50_000] for start in range(0, len(content), 50_000)]
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return f"HTTP/1.1 200 OK\r\n{lines}Transfer-Encoding: chunked\r\n\r\n".encode() + body


CUT_SHORT: Final[dict[str, Website]] = {
    "in its announced length": Website(CSV, whole=lambda content: Cut(answer(content, ETag='"one"')[:-100_000])),
    "in chunks": Website(CSV, {}, gives_ranges=False, whole=lambda content: Cut(chunked(content))),
    "shorter than was said": Website(CSV, whole=lambda content: answer(content[:-17], ETag='"one"')),
}


@pytest.mark.parametrize("how", CUT_SHORT)
async def test_a_file_that_ends_early_ends_the_input(server: Server, how: str) -> None:
    rows, error = await read_until_error(address(server, CUT_SHORT[how]), InvalidInput)
    assert values(rows) == EVERYBODY[: len(rows)]
    # A look, and a request from the beginning to the end, repeated only if a reset discarded all that had arrived.
    assert len(server.requests) == 2 or how != "shorter than was said"
    assert str(error).startswith(f"{server.url}/exports/crm.csv: ")


TRANSIENT: Final[dict[str, tuple[Step, tuple[float, float]]]] = {
    "503": (answer(status=503), (0, 0.5)),
    "429": (answer(status=429), (0.5, 2)),
    "429, with a time": (answer(status=429, Retry_After="7"), (7, 8)),
    "a reset": (Fault.RESET, (0, 0.5)),
    "an answer that breaks off": (Cut(b""), (0, 1)),
}


@pytest.mark.parametrize("fault", TRANSIENT)
@pytest.mark.parametrize("path", ["/crm.csv", "/crm.parquet"])
async def test_a_request_that_fails_for_the_moment_is_repeated_under_the_same_condition(
    server: Server, waits: list[float], path: str, fault: str
) -> None:
    step, (least, most) = TRANSIENT[fault]
    is_text, failed = path.endswith("csv"), Counter[str]()
    site = Website(CSV[: 6 + 19 * 2_000] if is_text else parquet(2_000))

    async def serve(asked: Received) -> Any:
        which = asked.headers.get("range", "")
        if which != "bytes=0-0":
            assert asked.headers["if-match"] == '"one"'
        # A body of text that has begun is never asked for again.
        if failed[which] == 2 or (isinstance(step, Cut) and (is_text or which == "bytes=0-0")):
            return await site.serve(asked)
        failed[which] += 1
        return Cut((await site.serve(asked))[:-40]) if isinstance(step, Cut) else step

    where = address(server, site, path)
    server.then = serve
    assert values(await read(where)) == EVERYBODY[:2_000]
    assert all(least <= each <= most for each in waits)
    assert len(waits) >= failed.total() // 2  # after a reset, aiohttp asks once more by itself


async def test_after_some_attempts_or_where_the_wait_would_be_long_a_server_is_given_up(
    server: Server, waits: list[float]
) -> None:
    path = address(server, Website(CSV))
    server.then = answer(status=503)
    _, error = await read_until_error(path, InvalidInput)
    assert str(error) == f"{path}: the server answered HTTP 503"
    assert len(server.requests) == RETRIES.max_attempts == len(waits) + 1
    server.then = answer(status=429, Retry_After="3600")
    _, error = await read_until_error(path, InvalidInput)
    assert str(error) == f"{path}: the server answered HTTP 429"
    assert len(server.requests) == RETRIES.max_attempts + 1


@pytest.mark.parametrize("status", [200, 302, 403, 412, 503])
@pytest.mark.parametrize("job", ["upload", "sync", "lint", "upsert"])
async def test_no_frame_of_an_error_shows_a_query(
    server: Server, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, status: int
) -> None:
    monkeypatch.delenv("SOCIALAPI_CA_FILE")  # the client's own settings are enough for every job
    config, trust = Config(ads_url=server.url), ssl.create_default_context(cafile=authority.file)
    async with Client(config, [OAuth1("key", "secret", "token", "secret")], ssl=trust) as client:
        audience = client.ads.account("a1").custom_audience("c1")
        run: Any = client.catalog("1").products.upsert if job == "upsert" else getattr(audience, job)
        options = {"snapshot": tmp_path / "snapshot"} if job == "sync" else {}
        server.then = answer(
            b"email,email\n", status=status, Location="http://h.example/?token=planted", Content_Encoding="br"
        )
        for where in (f"{server.url}/a.csv?token=planted", [f"{server.url}/a.csv?token=planted"]):
            with pytest.raises((InvalidInput, BulkError)) as failed:
                await run(where, **options)
            assert "certificate" not in str(failed.value)
            for frame in frames_of(failed.value):
                if frame.f_globals["__name__"].startswith("socialapi"):
                    shown = [name for name, value in frame.f_locals.items() if "planted" in repr(value)]
                    assert not shown, (frame.f_code, shown)


async def test_what_deletes_refuses_a_file_whose_end_cannot_be_told_from_a_broken_connection(server: Server) -> None:
    def until_the_end(content: bytes) -> Step:
        return Cut(b"HTTP/1.0 200 OK\r\n\r\n" + content)

    path = address(server, Website(b"email\na@b.example\n", {}, gives_ranges=False, whole=until_the_end))
    assert values(await read(path)) == [["a@b.example"]]
    selection = IdentifierColumns.of(None, IDENTIFIER_KINDS, TableForm(guesses=False))
    with pytest.raises(InvalidInput, match="the server does not report the file's length"):
        async with open_records(path, selection) as reader:
            await reader.read_block()


@pytest.mark.parametrize("changed", [{"ETag": '"two"'}, {"Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}])
async def test_a_file_that_changed_since_it_was_looked_at_is_not_read(server: Server, changed: dict[str, str]) -> None:
    before = {"ETag": '"one"'} if "ETag" in changed else {"Last-Modified": "Sun, 01 Nov 2026 10:00:00 GMT"}
    site = Website(CSV, before)
    async with open_users(address(server, site)) as reader:
        await fingerprint(address(server, site), reader)
        site.headers = changed
        with pytest.raises(InvalidInput, match="it has changed since the job opened it: start the job again"):
            await reader.read_block()


@pytest.mark.parametrize(
    ("headers", "version"),
    [
        ({"ETag": '"one"', "Last-Modified": "x"}, '"one"'),
        ({"ETag": 'W/"weak"'}, 'W/"weak"'),
        ({"ETag": 'W/"weak"', "Last-Modified": "Sun, 01 Nov 2026 10:00:00 GMT"}, "Sun, 01 Nov 2026 10:00:00 GMT"),
    ],
)
async def test_a_journal_holds_size_and_version_and_no_query(
    server: Server, headers: dict[str, str], version: str
) -> None:
    path = address(server, Website(CSV, headers), "/crm.csv?token=secret#part")
    async with open_users(path) as reader:
        found = await fingerprint(path, reader)
    assert found == {"path": f"{server.url}/crm.csv", "size": len(CSV), "version": version}


async def test_a_journal_needs_an_etag_or_a_time(server: Server) -> None:
    path = address(server, Website(CSV, {}))
    async with open_users(path) as reader:
        with pytest.raises(InvalidInput, match=r"crm\.csv: its server sends neither an ETag nor a Last-Modified time"):
            await fingerprint(path, reader)


async def test_redirects_are_followed_five_times_and_never_away_from_https(server: Server) -> None:
    there = answer(status=302, Location="/again")
    site = Website(b"email\na@b.example\n")
    path = address(server, site)
    server._script[:] = [there] * MAX_REDIRECTS
    assert values(await read(path)) == [["a@b.example"]]
    server._script[:] = [there] * (MAX_REDIRECTS + 1)
    _, error = await read_until_error(path, InvalidInput)
    assert str(error) == f"{path}: it redirects more than 5 times"
    server._script[:] = [answer(status=302, Location="http://127.0.0.1/?token=secret")]
    _, error = await read_until_error(path, InvalidInput)
    assert str(error) == f"{path}: it redirects to an address without https, which is not allowed"


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (404, "there is no such file"),
        (403, "the server rejected the request (HTTP 403): check the address, which may have expired"),
        (500, "the server answered HTTP 500"),
    ],
)
async def test_what_the_server_refuses_is_a_sentence_without_the_query(server: Server, status: int, says: str) -> None:
    server.then = answer(status=status)
    _, error = await read_until_error(f"{server.url}/crm.csv?token=secret", InvalidInput)
    assert str(error) == f"{server.url}/crm.csv: {says}"


async def test_a_server_that_is_not_there_or_not_trusted_is_told(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, error = await read_until_error("https://127.0.0.1:9/crm.csv?token=secret", InvalidInput)
    assert str(error) == "https://127.0.0.1:9/crm.csv: could not connect (Connection refused)"
    monkeypatch.delenv("SOCIALAPI_CA_FILE")
    _, error = await read_until_error(address(server, Website(CSV)), InvalidInput)
    assert "certificate" in str(error)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("https://user:pass@host.example:8443/a/b.csv?sig=1#x", "https://host.example:8443/a/b.csv"),
        ("https://host.example?sig=1", "https://host.example"),
        ("s3://key:secret@bucket/part-?.csv", "s3://bucket/part-?.csv"),
        ("abfs://container@account.dfs.core.windows.net/a.csv", "abfs://container@account.dfs.core.windows.net/a.csv"),
        ("HTTPS://host.example/a.csv?x", "HTTPS://host.example/a.csv"),
        (" https://host.example/a.csv?x", "https://host.example/a.csv"),
        ("https:/host.example/a.csv?x", "https:/host.example/a.csv"),
        ("simplecache::https://u:p@host.example/a.csv?x", "simplecache::https://host.example/a.csv"),
        ("abfs://c@a.dfs.core.windows.net/a.csv?sig=1", "abfs://c@a.dfs.core.windows.net/a.csv"),
        ("webhdfs://host/a.csv?delegation=1", "webhdfs://host/a.csv"),
    ],
)
def test_messages_name_an_address_without_what_may_be_secret(path: str, name: str) -> None:
    assert is_address(path)
    assert name_of_address(path) == name


@pytest.mark.parametrize(
    "path", ["crm.csv", "exports/a:/b.csv", "C:/crm.csv", "c:\\crm.csv", "a@b.example", "3://x", ""]
)
def test_paths_are_no_addresses(path: str) -> None:
    assert not is_address(path)


@pytest.mark.parametrize("path", ["http://host.example/crm.csv", "ftp://host.example/a", "simplecache::s3://b/a"])
async def test_other_schemes_are_refused_with_those_that_are_read(path: str) -> None:
    _, error = await read_until_error(path, InvalidInput)
    assert "from addresses that begin with s3://, gs://, abfs:// or https://, not with" in str(error)


@pytest.mark.parametrize("path", [" https://h/x.csv?key=1", Path("https://h/x.csv?key=1"), '"https://h/x.csv?key=1"'])
async def test_a_misspelt_address_is_refused_without_its_query(path: Any) -> None:
    _, error = await read_until_error(path, InvalidInput)
    assert str(error).endswith("x.csv: write the address as a string that begins with https://")


@pytest.mark.parametrize(
    "path", ["https://127.0.0.1:99999/x?key=1", "https://[::1/x?key=1", "https://[::1]evil/x?key=1"]
)
async def test_what_is_no_address_is_told_without_its_query(path: str) -> None:
    _, error = await read_until_error(path, InvalidInput)
    assert str(error) == f"{path.partition('?')[0]}: this is not an address"


async def test_blanks_and_letters_of_other_scripts_are_escaped_and_escapes_stay(server: Server) -> None:
    path = address(server, Website(b"email\na@b.example\n"), "/a b/\u00e4.csv?sig=x%2Fy")
    assert values(await read(path)) == [["a@b.example"]]
    assert {asked.path for asked in server.requests} == {"/a%20b/%C3%A4.csv?sig=x%2Fy"}


async def test_only_what_both_answers_say_is_compared(server: Server) -> None:
    site = Website(CSV, whole=lambda content: chunked(content, ETag='"one"') + b"0\r\n\r\n")
    assert values(await read(address(server, site))) == EVERYBODY
    server._script[:] = [answer(b"e", status=206, Content_Range="bytes 0-0/*", ETag='"one"')]
    assert values(await read(address(server, Website(CSV)))) == EVERYBODY


async def test_another_part_than_was_asked_for_is_not_read(server: Server) -> None:
    path, part = address(server, Website(CSV)), CSV[500:]
    span = f"bytes 500-{len(CSV) - 1}/{len(CSV)}"
    server._script[:] = [
        answer(b"e", status=206, Content_Range=f"bytes 0-0/{len(CSV)}", ETag='"one"'),
        answer(part, status=206, Content_Range=span, ETag='"one"'),
    ]
    _, error = await read_until_error(path, InvalidInput)
    assert str(error) == f"{path}: the server did not send the requested part of the file"


async def test_parquet_takes_an_etag_or_a_time_and_says_that_it_changed(server: Server) -> None:
    site = Website(parquet(), {})
    path = address(server, site, "/crm.parquet")
    _, error = await read_until_error(path, InvalidInput)
    assert "neither an ETag nor a Last-Modified time" in str(error)
    site.headers = {"ETag": '"one"'}
    serve = site.serve

    async def changing(asked: Received) -> Any:
        if len(server.requests) > 6:
            site.headers = {"ETag": '"two"'}
        return await serve(asked)

    server.requests.clear()
    server.then = changing
    _, error = await read_until_error(path, InvalidInput)
    assert "it has changed since the job opened it" in str(error)


async def test_an_encoding_that_is_not_read_is_named(server: Server) -> None:
    site = Website(CSV, whole=lambda content: answer(content, ETag='"one"', Content_Encoding="br"))
    _, error = await read_until_error(address(server, site), InvalidInput)
    assert "the server sends it as br, which the request excluded" in str(error)


async def test_stores_whose_library_is_missing_name_it() -> None:
    _, error = await read_until_error("gs://bucket/crm.csv", InvalidInput)
    assert str(error) == "gs://bucket/crm.csv: reading gs:// needs another package: pip install gcsfs"


async def test_without_the_extra_an_address_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    monkeypatch.setitem(__import__("sys").modules, "fsspec.asyn", None)
    for path in ("https://host.example/crm.csv", "s3://bucket/crm.csv"):
        _, error = await read_until_error(path, InvalidInput)
        assert str(error) == (f"{path}: reading remote files needs another package: pip install 'aiosocialapi[remote]'")


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


async def test_a_pattern_of_objects_is_read_in_the_order_of_their_names(memory: Any) -> None:
    for number in (2, 1, 10):
        memory.pipe_file(f"/exports/part-{number:02d}.csv", b"email\n%d@b.example\n" % number)
    memory.pipe_file("/exports/other.csv", b"email\nother@b.example\n")
    assert values(await read("memory://exports/part-*.csv")) == [["1@b.example"], ["2@b.example"], ["10@b.example"]]
    memory.makedirs("/exports/part-3.csv/folder")
    assert len(await read("memory://exports/part-*.csv")) == 3
    memory.pipe_file("/exports/odd[1].csv", b"email\nodd@b.example\n")
    assert values(await read("memory://exports/odd[1].csv")) == [["odd@b.example"]]
    _, error = await read_until_error("memory://exports/none-*.csv", InvalidInput)
    assert str(error) == "memory://exports/none-*.csv: no file matches it as a pattern"
    _, error = await read_until_error("memory://exports/none.csv", InvalidInput)
    assert str(error) == "memory://exports/none.csv: there is no such file"


async def test_a_file_that_is_missing_is_told_before_the_files_before_it_are_read(memory: Any) -> None:
    memory.pipe_file("/a.csv", b"email\na@b.example\n")
    rows, error = await read_until_error(["memory://a.csv", "memory://none.csv"], InvalidInput)
    assert (rows, str(error)) == ([], "memory://none.csv: there is no such file")


async def test_an_object_that_is_replaced_while_it_is_read_ends_the_input(memory: Any) -> None:
    memory.pipe_file("/crm.csv", CSV)
    async with open_users("memory://crm.csv") as reader:
        await reader.read_block()
        memory.pipe_file("/crm.csv", CSV.replace(b"example.com", b"example.net"))
        with pytest.raises(InvalidInput, match="it has changed"):
            [block async for block in reader]


async def test_an_object_of_any_store_that_changed_is_not_read(memory: Any, tmp_path: Path) -> None:
    memory.pipe_file("/crm.csv", b"email\na@b.example\n")
    local = tmp_path / "more.csv"
    local.write_bytes(b"email\nc@d.example\n")
    async with open_users(["memory://crm.csv", str(local)]) as reader:
        assert set(await fingerprint(["memory://crm.csv", str(local)], reader)) >= {"version of file 1"}
        memory.pipe_file("/crm.csv", b"email\nother@b.example\n")
        with pytest.raises(InvalidInput, match="it has changed"):
            await reader.read_block()
