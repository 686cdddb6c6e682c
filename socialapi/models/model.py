"""The base class of models in responses, and the tuple for responses without pages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import attrs

from socialapi.internal import notebook
from socialapi.internal.records import Exported, FrozenRecord, Record
from socialapi.models.validation import wire_name
from socialapi.problems import Problem, ServiceError

T = TypeVar("T")
Item = TypeVar("Item")


class Items(Exported, tuple[T, ...]):  # noqa: SLOT001  # a tuple with slots of its own is none
    """The items of a response without pages.

    `partial_errors` contains the errors that arrived with them. `to_dict` returns the items as `data` and the errors as
    `errors`.
    """

    partial_errors: "tuple[Problem | ServiceError, ...]" = ()

    @classmethod
    def of(cls, items: Iterable[T], partial_errors: "tuple[Problem | ServiceError, ...]") -> Self:
        """Returns the items with the errors that arrived with them."""
        found = cls(items)
        found.partial_errors = partial_errors
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], item_type: type[Item] | None = None) -> "Items[Item]":
        """Returns the items for the result of `to_dict`, as `Page.from_dict` does. Raises InvalidInput, which names the
        first unreadable field but not its value.
        """
        from socialapi.wire import export

        return Items.of(*export.items_from_dict(data, Any if item_type is None else item_type))

    def _repr_html_(self) -> str:
        return html_table("Items", self, error=len(self.partial_errors))


def html_table(title: str, items: Sequence[object], kind: Any = None, **beside: int) -> str:
    """Returns a table of items for notebooks, with the numbers of errors and undecoded items.

    It shows the same fields as the repr of an item. `kind` is the class of the items; an empty table needs it.
    """
    kind = type(items[0]) if items else kind
    is_record = _shows_its_fields(kind) and {*map(type, items)} <= {kind}
    of_kind = f" of {kind.__name__}" if is_record else ""
    numbers = filter(None, ((notebook.counts(item=len(items)) or "no items") + of_kind, notebook.counts(**beside)))
    caption = f"{title}: {', '.join(numbers)}"
    if not is_record:
        return notebook.table(caption, ["item"] if items else [], [[repr(each)] for each in items[: notebook.MAX_ROWS]])
    rows = [_shown_fields(each) for each in items[: notebook.MAX_ROWS]]
    names = [wire_name(field) for field in attrs.fields(kind) if field.repr]
    with_members = [*map(_with_members, rows)]
    if len(notebook.used_names(with_members, names)) <= notebook.MAX_COLUMNS:
        rows = with_members
    return notebook.table_of_rows(caption, rows, names, count=len(items))


def _shows_its_fields(kind: Any) -> bool:
    """Returns whether a class uses the repr that all records share."""
    return isinstance(kind, type) and issubclass(kind, Record | FrozenRecord) and kind.__repr__ is Record.__repr__


def _shown_fields(record: Any) -> dict[str, object]:
    """Returns the fields that the repr of a record shows, by their JSON names."""
    return {wire_name(field): getattr(record, field.name) for field in attrs.fields(type(record)) if field.repr}


def _with_members(row: Mapping[str, object]) -> dict[str, object]:
    """Returns a row in which each object is replaced by its fields, such as `public_metrics.like_count`. Objects nested
    deeper stay objects.
    """
    found: dict[str, object] = {}
    for name, value in row.items():
        members = _shown_fields(value) if _shows_its_fields(type(value)) else None
        found |= {name: value} if members is None else {f"{name}.{inner}": each for inner, each in members.items()}
    return found


@attrs.define(kw_only=True)
class Model(Record):
    """An object in a response of the service.

    `extra` contains the fields that this version does not know, by name. `partial_errors` contains the errors that
    arrived with the object in a successful response; nested objects have none.
    """

    __signature__: ClassVar[None] = None  # callers get these objects
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
    partial_errors: tuple[Problem | ServiceError, ...] = attrs.field(init=False, default=(), eq=False, repr=False)

    def _is_shown(self, value: object) -> bool:
        """Returns whether the response has a value. Most fields are missing in most responses."""
        return value is not None and not (isinstance(value, tuple | dict) and not value)

    def _repr_html_(self) -> str:
        caption = ": ".join(filter(None, (type(self).__name__, notebook.counts(error=len(self.partial_errors)))))
        return notebook.table_of_values(caption, _with_members(_shown_fields(self)))


def make_late(cls: type, name: str, make: Callable[[], object]) -> None:
    """Changes an attribute so that its default is created on first access, and not with the object."""
    attribute = vars(cls)[name]

    class Late:
        __set__ = attribute.__set__
        __delete__ = attribute.__delete__

        def __init__(self) -> None:
            self.slot = attribute

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            try:
                return attribute.__get__(instance, owner)
            except AttributeError:
                attribute.__set__(instance, make())
                return attribute.__get__(instance, owner)

    setattr(cls, name, Late())


# Few objects have unknown fields. With an empty dictionary for each object, decoding a page of mixed posts takes 8%
# more instructions.
make_late(Model, "extra", dict)
