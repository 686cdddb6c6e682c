"""Targets: what the package writes and others read, its own reader among them."""

import csv
import functools
import importlib
import io
import json
import pkgutil
from contextlib import suppress
from typing import Any, Final

import attrs
import orjson

import socialapi.models
from socialapi.cli.formats import Csv, ListKind, Parquet, csv_paths
from socialapi.errors import InvalidInput
from socialapi.models.model import Model
from socialapi.models.oauth import HoldsSecret
from socialapi.models.posts import Post
from socialapi.wire.decode import decode_json
from tests.fuzz.target import Pieces, outcome, target


@functools.cache
def _models() -> list[Any]:
    """The classes of answers."""
    for each in pkgutil.iter_modules(socialapi.models.__path__, "socialapi.models."):
        importlib.import_module(each.name)
    found = [each for each in Model.__subclasses__() if attrs.has(each)]
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


@target("export", "wire.export:from_dict", "wire.export:json_text", refusals=(InvalidInput,))
def _export(data: bytes) -> None:
    """What an object is exported as gives the same object, also through JSON text."""
    pieces = Pieces(data)
    models = _models()
    cls = models[pieces.number(len(models))]
    value = outcome(lambda: decode_json(pieces.rest()), orjson.JSONDecodeError)
    record = cls.from_dict(value)
    secrets = {"with_secrets": True} if isinstance(record, HoldsSecret) else {}
    exported = record.to_dict(**secrets)
    assert cls.from_dict(exported) == record
    assert cls.from_dict(exported).to_dict(**secrets) == exported
    assert cls.from_dict(json.loads(record.to_json(**secrets))) == record


POSTS: Final[ListKind[Post]] = ListKind(name="post", columns=(), record=Post)


@target("tables", "cli.formats:Csv", "cli.formats:Parquet", "integrations.arrow:arrow_table", refusals=(InvalidInput,))
def _tables(data: bytes) -> None:
    """A file of posts in CSV or Parquet has the texts of the posts."""
    value = outcome(lambda: decode_json(data), orjson.JSONDecodeError)
    posts = [Post.from_dict(each) for each in (value if isinstance(value, list) else [value])[:20]]
    names = [".".join(path) for path in csv_paths(Post)]
    rows = list(csv.reader(io.StringIO(_written_csv(posts), newline=""), strict=True))
    assert [len(row) for row in rows] == [len(names) + 1] * (len(posts) + 1)
    for post, row in zip(posts, rows[1:], strict=True):
        assert row[names.index("id")] == post.id
        assert row[names.index("text")] == (post.text or "")
    with suppress(InvalidInput):
        _check_parquet(posts)


def _written_csv(posts: list[Post]) -> str:
    lines = Csv(POSTS, is_shown=False)
    return "".join((lines.header(), *map(lines.line, posts)))


def _check_parquet(posts: list[Post]) -> None:
    from pyarrow import parquet

    file = io.BytesIO()
    writer: Parquet[Post] = Parquet(POSTS, file, is_file=True)
    for post in posts:
        writer.add(post)
    writer.close(is_complete=True)
    table = parquet.read_table(io.BytesIO(file.getvalue()))
    assert [row["id"] for row in table.select(["id"]).to_pylist()] == [_readable(post.id) for post in posts]


def _readable(text: str) -> str:
    """A text without halves of surrogate pairs, which tables do not hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
