"""Rows of databases and Python objects, read by their types."""

import collections
import dataclasses
import importlib.util
import sqlite3
import types
import typing
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import asyncpg
import attrs
import msgspec
import pandas
import polars
import pyarrow
import pydantic
import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from sqlalchemy import orm

from socialapi.bulk.inputs.keyed_rows import KeyedRow, advice_for, keyed_row
from socialapi.errors import InvalidInput

ADA = ("email", "phone"), ("ada@example.com", "+14155552671")


def reader_of(item: Any) -> KeyedRow:
    found = keyed_row(type(item))
    assert found is not None
    return found


def read(item: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    reader = reader_of(item)
    names, values = reader.names(item), tuple(reader.values(item))
    assert len(names) == len(values)
    assert reader.fixed_names in (None, names)
    return names, values


# Mappings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        dict,
        OrderedDict,
        CIMultiDict,
        lambda pairs: defaultdict(str, pairs),
        types.MappingProxyType,
    ],
)
def test_a_mapping_has_its_keys_and_values(make: Any) -> None:
    assert read(make(dict(zip(*ADA, strict=True)))) == ADA


@given(st.dictionaries(st.text() | st.integers() | st.none(), st.text() | st.none()))
def test_names_and_values_of_any_dictionary_are_side_by_side(item: dict[Any, Any]) -> None:
    names, values = read(item)
    assert list(zip(names, values, strict=True)) == [
        (key if isinstance(key, str) else "", value) for key, value in item.items()
    ]


# Rows of databases ---------------------------------------------------------------------------------------------------

JOIN = "select 1 as id, 'ada@example.com' as email, 2 as id"
JOINED = ("id", "email", "id"), (1, "ada@example.com", 2)


def test_a_row_of_sqlite_keeps_names_that_occur_twice() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    assert read(connection.execute(JOIN).fetchone()) == JOINED
    connection.close()


async def test_a_record_of_asyncpg_keeps_names_that_occur_twice(postgresql: str) -> None:
    connection = await asyncpg.connect(postgresql)
    record = await connection.fetchrow(JOIN)
    assert isinstance(record, asyncpg.Record)
    assert read(record) == JOINED
    await connection.close()


@pytest.fixture
def sqlalchemy_connection() -> Iterator[sqlalchemy.Connection]:
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def test_a_row_of_sqlalchemy_keeps_names_that_occur_twice(sqlalchemy_connection: sqlalchemy.Connection) -> None:
    assert read(sqlalchemy_connection.execute(sqlalchemy.text(JOIN)).one()) == JOINED


def test_a_row_mapping_of_sqlalchemy_is_a_mapping(sqlalchemy_connection: sqlalchemy.Connection) -> None:
    statement = sqlalchemy.text("select 'ada@example.com' as email, '+14155552671' as phone")
    assert read(sqlalchemy_connection.execute(statement).mappings().one()) == ADA


def test_a_series_of_pandas_is_read_by_its_index() -> None:
    names, values = ADA
    assert read(pandas.Series(values, index=list(names))) == ADA


class KeysAndValues:
    """What is no Mapping, yet has the methods of one, as rows of BigQuery and psycopg2 do."""

    def keys(self) -> Iterator[str]:
        return iter(ADA[0])

    def values(self) -> Iterator[str]:
        return iter(ADA[1])

    def __getitem__(self, key: str) -> str:
        raise AssertionError(key)


def test_a_row_with_the_methods_of_a_mapping_is_read() -> None:
    assert read(KeysAndValues()) == ADA


# Objects with fields -------------------------------------------------------------------------------------------------


class Typed(NamedTuple):
    email: str
    phone: str


Plain = collections.namedtuple("Plain", "email phone")  # noqa: PYI024 - the other kind of a named tuple


class Derived(Typed):
    kind: ClassVar[str] = "customer"


@dataclasses.dataclass
class Person:
    email: str
    table: ClassVar[str] = "people"
    country: dataclasses.InitVar[str]
    phone: str = dataclasses.field(init=False)
    _password: str = "secret"

    def __post_init__(self, country: str) -> None:
        self.phone = f"+{country}4155552671"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    email: str
    phone: str


@attrs.frozen
class Attrs:
    email: str
    phone: str = attrs.field(init=False, default="+14155552671")
    _password: str = "secret"


@attrs.define(slots=False)
class AttrsWithDictionary:
    email: str
    phone: str


class Struct(msgspec.Struct, frozen=True):
    email: str
    phone: str


class Model(pydantic.BaseModel):
    email: str = pydantic.Field(alias="E-Mail")
    phone: str
    _password: str = pydantic.PrivateAttr("secret")


@pydantic.dataclasses.dataclass
class PydanticDataclass:
    email: str
    phone: str


@pytest.mark.parametrize(
    "item",
    [
        Typed(*ADA[1]),
        Plain(*ADA[1]),
        Derived(*ADA[1]),
        Person(ADA[1][0], country="1"),
        Slots(email=ADA[1][0], phone=ADA[1][1]),
        Attrs(ADA[1][0]),
        AttrsWithDictionary(*ADA[1]),
        Struct(*ADA[1]),
        Model.model_validate({"E-Mail": ADA[1][0], "phone": ADA[1][1]}),
        PydanticDataclass(*ADA[1]),
    ],
    ids=lambda item: type(item).__name__,
)
def test_an_object_has_its_fields_but_no_private_ones(item: Any) -> None:
    assert read(item) == ADA
    assert reader_of(item).fixed_names == ADA[0]


def test_fields_may_be_one_or_none() -> None:
    @attrs.frozen
    class One:
        email: str

    @dataclasses.dataclass
    class Nothing:
        pass

    assert read(One("a@b.example")) == (("email",), ("a@b.example",))
    assert read(Nothing()) == ((), ())


def test_a_field_whose_name_has_a_dot_is_read_by_that_name() -> None:
    fields: dict[str, Any] = {"e.mail": (str, ...), "phone": (str, ...)}
    item = pydantic.create_model("Dotted", **fields).model_validate({"e.mail": "a@b.example", "phone": "1"})
    assert read(item) == (("e.mail", "phone"), ("a@b.example", "1"))


def test_what_a_model_was_given_beyond_its_fields_is_read_where_it_takes_that() -> None:
    class Open(pydantic.BaseModel, extra="allow"):
        email: str

    class Closed(pydantic.BaseModel):
        email: str

    given = {"email": "a@b.example", "phone": "1", "copy": "x"}
    assert read(Open.model_validate(given)) == (("email", "phone", "copy"), ("a@b.example", "1", "x"))
    assert read(Open(email="a@b.example")) == (("email",), ("a@b.example",))
    assert read(Closed.model_validate(given)) == (("email",), ("a@b.example",))


@pytest.mark.skipif(not importlib.util.find_spec("pydantic.v1"), reason="this pydantic has no first version inside")
@pytest.mark.filterwarnings("ignore:Core Pydantic V1 functionality")
def test_a_model_of_the_first_version_of_pydantic_is_read() -> None:
    from pydantic import v1

    class Open(v1.BaseModel):
        email: str

        class Config:
            extra = "allow"

    class Closed(v1.BaseModel):
        email: str
        phone: str = v1.Field("+14155552671", alias="tel")

    given = {"email": "a@b.example", "phone": "1", "copy": "x"}
    names, values = read(Open.parse_obj(given))
    assert dict(zip(names, values, strict=True)) == given
    assert read(Closed.parse_obj({"email": "ada@example.com"})) == ADA


# What is no row ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_plain_row_has_no_names_and_the_advice_says_what_to_do(kind: type) -> None:
    assert keyed_row(kind) is None
    advice = advice_for(kind)
    assert advice.startswith("a row must name its columns: set row_factory to sqlite3.Row")
    assert "dict(zip(names, row))" in advice


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pyarrow.Table])
def test_a_table_is_no_row_and_the_advice_is_to_give_it_by_itself(kind: type) -> None:
    assert keyed_row(kind) is None
    assert advice_for(kind).startswith("pass a table itself, not a list of tables")


class Base(orm.DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"
    email: orm.Mapped[str] = orm.mapped_column(primary_key=True)


class AsDataclass(orm.MappedAsDataclass, Base):
    __tablename__ = "dataclasses"
    email: orm.Mapped[str] = orm.mapped_column(primary_key=True)


@pytest.mark.parametrize("kind", [User, AsDataclass])
def test_an_entity_is_no_row_and_the_advice_is_to_select_columns(kind: type) -> None:
    assert keyed_row(kind) is None
    assert "select(User.email, User.phone)" in advice_for(kind)


def test_a_row_that_holds_one_entity_is_refused_with_the_same_advice(
    sqlalchemy_connection: sqlalchemy.Connection,
) -> None:
    Base.metadata.create_all(sqlalchemy_connection)
    with orm.Session(sqlalchemy_connection) as session:
        session.add(User(email="ada@example.com"))
        session.flush()
        whole, columns = (session.execute(sqlalchemy.select(each)).one() for each in (User, User.email))
        assert read(columns) == (("email",), ("ada@example.com",))
        with pytest.raises(InvalidInput, match=r"^a Row contains one User: an ORM entity .*select\(User\.email"):
            read(whole)


class NamesLeftOut:
    """As a row of SQLAlchemy of which the database did not name every column."""

    _fields = ("email",)
    _mapping: ClassVar[dict[str, str]] = {}

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> str:
        return "ada@example.com"


def test_a_row_with_more_values_than_names_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^a NamesLeftOut has 2 values and 1 names: name every column$"):
        reader_of(NamesLeftOut()).names(NamesLeftOut())


@pytest.mark.parametrize("item", ["ada@example.com", b"x", 5, None, {"a"}, object(), Typed, Person, Model, Attrs])
def test_texts_numbers_and_classes_are_no_rows(item: Any) -> None:
    assert keyed_row(type(item)) is None
    assert advice_for(type(item)) == ""


# Rows that cannot be read --------------------------------------------------------------------------------------------


class Broken(Mapping[str, str]):
    def __getitem__(self, key: str) -> str:
        raise RuntimeError("ada@example.com")

    def __iter__(self) -> Iterator[str]:
        yield "email"

    def __len__(self) -> int:
        return 1


@dataclasses.dataclass
class HalfMade:
    email: str
    phone: str = dataclasses.field(init=False)


class Expired:
    __attrs_attrs__: typing.Any = attrs.fields(Attrs)

    @property
    def email(self) -> str:
        raise ConnectionError("ada@example.com")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Broken(), "a row of type Broken cannot be read: RuntimeError"),
        (HalfMade("ada@example.com"), '"phone" of type HalfMade cannot be read: AttributeError'),
        (Expired(), '"email" of type Expired cannot be read: ConnectionError'),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_row_that_raises_is_refused_by_type_and_field_without_values(item: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        reader_of(item).values(item)
    assert str(refused.value) == message
    assert refused.value.__suppress_context__
