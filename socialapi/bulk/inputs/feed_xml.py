"""Reads product feeds in XML as a stream and in bounded memory.

An item is an element called `item`, `entry` or `product`, one or two levels below the root. This
covers RSS 2.0 (`rss`, `channel`, `item`), RSS 1.0 (`rdf:RDF`, `item`), Atom (`feed`, `entry`) and
plain lists (`products`, `product`). Elements with one of these names elsewhere, and elements that
contain a price and a link, end the feed with an error, because they may be products, too. Each item
becomes a mapping of names to strings:

- Names in Google's namespace lose their prefix. The prefix `g` counts as Google's even if the feed
  does not declare it, because many exporters forget that. An element in this namespace replaces a plain
  one with the same name (`g:title` replaces `title`). Other prefixes are kept (`dc:date`).
- An element that occurs more than once becomes a list. Blank elements are skipped.
- A nested element has a path as its name, such as `shipping.country`, and is not read as a field. The
  nested elements of a price, of sale dates or of an element with text become an object, as in JSON.
  A plural that contains only its singular (`sizes`, `size`) is a list.
- Inside a title, `description`, `summary` or `content`, the elements of HTML are markup, and only
  their text is kept. Spaces replace the tags that are not within a line.
- The name of an attribute follows the name of its element: `price@currency`, or `@id` for an
  attribute of the item. The text of an Atom `link` is its URL.
- In Atom, `summary` or `content` becomes the description if the entry has no other. The plain `id`
  is the product id, as in Google's documentation. If it is an address (`tag:`, `http:`, `urn:`), it
  is called `atom:id` instead.

Entities inside CDATA are not resolved. Document types with declarations are rejected, so no entity
is expanded and no external file is fetched.
"""

import codecs
import functools
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from io import BufferedReader
from itertools import chain
from typing import Any, Final, TypeVar
from xml.parsers import expat
from xml.parsers.expat import errors

from socialapi.bulk.inputs.columns import shown_name
from socialapi.bulk.inputs.layouts import Layout
from socialapi.bulk.inputs.objects import add_member, blocks_of_items
from socialapi.bulk.inputs.reader import BYTES_PER_BLOCK, CUT, Block, NoRows, Selection
from socialapi.errors import InvalidInput
from socialapi.reports import RowIssue

L = TypeVar("L", bound=Layout)

Item = dict[str, Any]
"""The strings of an item by name. A value is a string, an object of strings, or a list of these."""

MAX_ITEM_BYTES: Final = 1_048_576
MAX_TAG_BYTES: Final = 1_048_576
"""The maximum length of a tag, comment or processing instruction, which the parser keeps in memory."""
MAX_DEPTH: Final = 100
MAX_NAME_LENGTH: Final = 256
MAX_NAMES_LENGTH: Final = 262_144
"""The maximum total length of all distinct names in a feed, which the parser keeps in memory."""
READ_BYTES: Final = 65_536

_ITEM_NAMES: Final = frozenset({"item", "entry", "product"})
_ITEM_LEVELS: Final = frozenset({2, 3})
_STANDARD_ROOTS: Final = frozenset({"rss", "rdf", "feed", "channel"})
_LIST_ROOTS: Final = frozenset({"products", "items", "entries", "catalog", "shop"})
"""The root elements of plain product lists. A list without items counts as an empty feed only if it has no other
elements, because these may be items in an unknown format.
"""
_LOOKS_LIKE_PRODUCT: Final = frozenset({"price", "link"})
"""The fields that show that an element with another name is a product."""
_OBJECTS: Final = frozenset({"price", "sale_price", "sale_price_effective_date"})
"""The fields whose values may be objects."""
_NAMES_SHOWN: Final = 12
_MARKED_UP: Final = frozenset({"title", "description", "summary", "content"})

_is_within_lines: Final = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|"
    "tt|u|var|wbr"
).fullmatch
"""Matches a tag of HTML that does not separate words."""
_separates_words: Final = re.compile(
    "address|article|aside|audio|blockquote|body|br|button|caption|center|col|colgroup|d[dlt]|details|div|embed|fieldset|"
    "figcaption|figure|footer|form|h[1-6]|header|hr|html|iframe|img|input|label|legend|li|main|nav|noscript|object|ol|p|"
    "picture|pre|script|section|source|style|summary|svg|t[dhr]|table|tbody|tfoot|thead|ul|video"
).fullmatch
_is_google: Final = re.compile(r"https?://base\.google\.com/n[cs]/1\.0/?").fullmatch
_is_address: Final = re.compile(r"(?:https?|tag|urn):", re.IGNORECASE).match
looks_like_xml: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \t\r\n]*<[?!a-zA-Z]|\xff\xfe<\x00|\xfe\xff\x00<|<\x00\?\x00|\x00<\x00\?"
).match
"""Matches the beginning of XML rather than a table or JSON."""
_forbidden: Final = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:x0*(?:[0-8bcef]|1[0-9a-f])|0*(?:[0-8]|1[12]|1[4-9]|2[0-9]|3[01]));",
    re.IGNORECASE,
)
"""Matches a control character that XML does not allow, written literally or as a reference."""
_CONTROLS: Final = bytes({*range(32)} - {*b"\t\n\r"})
_breaks_lines: Final = re.compile(rb"[\x0b\x0c]|&#(?:x0*[bc]|0*1[12]);", re.IGNORECASE).fullmatch
_LONGEST_REFERENCE: Final = 20
_begun_reference: Final = re.compile(rb"&(?:#(?:x[0-9a-f]{0,16}|[0-9]{0,16}))?\Z", re.IGNORECASE).search
_DECLARATION_BYTES: Final = 256
_claims_utf_16: Final = re.compile(rb"""<\?xml[^>]{0,200}encoding\s*=\s*["']utf-16""", re.IGNORECASE).match

NO_ITEMS: Final = "the feed has no items"
NO_FEED: Final = (
    "this is XML, but not a product feed: expected RSS (item in channel), Atom (entry in feed), or elements called "
    "product or item, one or two levels below the root"
)
_MISPLACED: Final = (
    "<{}> may be a product, but only elements called item, entry or product, one or two levels below the root, are "
    "read: move or rename it"
)
_NOT_READ: Final = (
    '<{}> has nested elements, and is not read as {}: give the path of the value, as in columns={{"{}": "{}"}}'
)
_WEB_PAGE: Final = "this is a web page, not a product feed"
_DECLARATIONS: Final = "the document type has declarations or refers to another file, which is not supported: remove it"
_TOO_DEEP: Final = f"elements are nested more than {MAX_DEPTH} deep"
_LONG_ITEM: Final = f"a product is longer than {MAX_ITEM_BYTES:,} bytes"
_LONG_TAG: Final = f"a tag or a comment is longer than {MAX_TAG_BYTES:,} bytes"
_LONG_NAME: Final = f"the name of an element is longer than {MAX_NAME_LENGTH} characters"
_MANY_NAMES: Final = "there are too many different names of elements and attributes"
_ENCODING: Final = "the encoding of the file is not supported: save it as UTF-8"
_NOT_IN_ENCODING: Final = "is not valid text in the encoding that the file declares (UTF-8 if it declares none)"
_INVALID: Final = "is not well-formed XML; in text, write &amp; for & and &lt; for <"
_JUNK: Final = "there is text after the end of the feed"
_NOT_FIRST: Final = "is not well-formed XML: there is text before the feed, such as an error message from the shop"
_CUT_OFF: Final = "the file ends here, before the end of the feed: writing or copying it was interrupted"

_REASONS: Final[Mapping[str, str]] = {
    errors.XML_ERROR_NO_ELEMENTS: _CUT_OFF,
    errors.XML_ERROR_UNCLOSED_TOKEN: _CUT_OFF,
    errors.XML_ERROR_PARTIAL_CHAR: _CUT_OFF,
    errors.XML_ERROR_UNCLOSED_CDATA_SECTION: _CUT_OFF,
    errors.XML_ERROR_TAG_MISMATCH: "the end tag does not match the open element",
    errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "an attribute occurs twice",
    errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: _JUNK,
    errors.XML_ERROR_SYNTAX: _NOT_FIRST,
    errors.XML_ERROR_MISPLACED_XML_PI: _NOT_FIRST,
    errors.XML_ERROR_BAD_CHAR_REF: "a reference such as &#55357; is only half of a character: write the character itself",
    errors.XML_ERROR_UNDEFINED_ENTITY: "an entity is not defined in XML, such as &nbsp;: write the character itself",
    errors.XML_ERROR_INCORRECT_ENCODING: "the file is not in the encoding that it declares",
    errors.XML_ERROR_UNKNOWN_ENCODING: _ENCODING,
}


def read_items(
    file: BufferedReader, remarks: list[RowIssue] | None = None, role_of: Callable[[str], str] = lambda _: ""
) -> Iterator[tuple[Item, int] | tuple[()]]:
    """Yields the items of a product feed, each with the line on which it begins, and `CUT` where a block must end.
    Control characters that XML does not allow are removed and reported in a remark. `role_of` returns the field that
    the job reads from a name.

    Raises NoRows if the feed has no items. If the file is not a feed or cannot be read to its end,
    yields the items before the error and then raises InvalidInput with the line and column.
    """
    head, lines_before = _beginning(file)
    remarks = [] if remarks is None else remarks
    feed = _Feed(lines_before, "utf-8" if _claims_utf_16(head) else None, role_of, remarks)
    chunks: Iterator[bytes] = chain((head,), iter(lambda: file.read1(READ_BYTES), b""))
    if 0 not in head[:2] and head[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        chunks = _without_controls(chunks, lines_before + 1, remarks)
    failure: InvalidInput | None = None
    found, taken = False, 0
    for chunk in chain(chunks, (b"",)):  # no bytes end the feed
        try:
            feed.parse(chunk)
        except InvalidInput as error:
            failure = error
        items, feed.items = feed.items, []
        found = found or bool(items)
        yield from items
        if failure is not None:
            raise failure
        taken += len(chunk)
        if taken > BYTES_PER_BLOCK:
            taken = 0
            yield CUT
    if not found:
        raise feed.without_items()


def _without_controls(chunks: Iterator[bytes], line: int, remarks: list[RowIssue]) -> Iterator[bytes]:
    """Yields the text of a feed without control characters. Control characters that break lines become spaces."""
    held = b""
    for chunk in chunks:
        text = held + chunk
        begun = _begun_reference(text[-_LONGEST_REFERENCE:])
        held = b"" if begun is None else begun[0]
        text = text.removesuffix(held)
        line_ends = text.count(b"\n")
        # These two checks are faster than the search, and most feeds then need no search.
        may_have = len(text.translate(None, _CONTROLS)) < len(text) or b"&#" in text
        if may_have and (found := _forbidden.search(text)) is not None:
            if not remarks:
                first = line + text.count(b"\n", 0, found.start())
                reason = (
                    f"line {first} has a control character, which XML does not allow: control characters are removed"
                )
                remarks.append(RowIssue(0, "", reason))
            text = _forbidden.sub(lambda each: b" " if _breaks_lines(each[0]) else b"", text)
        if text:
            yield text
        line += line_ends
    if held:
        yield held


def _beginning(file: BufferedReader) -> tuple[bytes, int]:
    """Returns the first bytes of the file and the number of lines skipped before them. Skips a UTF-8 byte order mark,
    and whitespace, which XML does not allow there.

    Reads enough bytes to detect the encoding, even from a pipe that returns few bytes per read. Raises NoRows if the
    file is empty.
    """
    head, lines = b"", 0
    while len(head) < _DECLARATION_BYTES and (more := file.read1(READ_BYTES)):
        given = head + more
        head = given.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n")
        lines += given[: len(given) - len(head)].count(b"\n")
    if not head:
        raise NoRows("the file is empty")
    return head, lines


class _Feed:
    """The parser of one feed. It resolves namespaces itself, because expat would reject undeclared prefixes."""

    def __init__(
        self, lines_before: int, encoding: str | None, role_of: Callable[[str], str], remarks: list[RowIssue]
    ) -> None:
        self._parser = parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartDoctypeDeclHandler = self._doctype
        self._lines_before = lines_before
        self._bytes = 0
        self._recent = b""
        self._begins = b""  # the first bytes: a zero byte or a UTF-16 byte order mark means that the text is UTF-16
        self._names_seen = 0
        self.items: list[tuple[Item, int]] = []
        """The items that were found and not taken yet."""
        self._depth = 0
        self._root = ""
        self._other_names: dict[str, None] = {}
        self._outside: list[_Outside] = []
        self._root_prefix = ""
        self._google_prefixes = {"g"}
        self._plain: Item = {}
        self._google: Item = {}
        self._role_of = role_of
        self._remarks = remarks
        self._names = functools.cache(self._target)
        self._path: list[str] = []
        self._texts: list[str] = []
        self._is_markup = False
        self._members: Item = {}
        self._line = 0
        self._item_at: int | None = None
        self._has_items = False
        self._listen_for_items()

    def parse(self, chunk: bytes) -> None:
        """Parses the next bytes (empty at the end of the file). Raises InvalidInput if the feed cannot be read."""
        self._begins = (self._begins + chunk[:2])[:2]
        self._recent = self._recent[-READ_BYTES:] + chunk  # an error may be reported at the beginning of a long tag
        self._bytes += len(chunk)
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            index = self._parser.ErrorByteIndex - (self._bytes - len(self._recent))
            reason = _REASONS.get(errors.messages[error.code], _INVALID)
            if reason == _JUNK and not self._line and self._root not in _STANDARD_ROOTS | _LIST_ROOTS:
                reason = _NOT_FIRST  # `<br />`, for example, was taken for a feed
            is_here = reason == _INVALID and 0 <= index < len(self._recent)
            # In UTF-16, any byte may be half of a character.
            is_utf16 = 0 in self._begins or self._begins in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            if is_here and not is_utf16 and self._recent[index] >= 0x80:
                reason = _NOT_IN_ENCODING
            raise self._at(error.lineno, error.offset, reason) from None
        except InvalidInput:
            raise
        except (LookupError, ValueError):  # raised for an encoding that Python does not know
            raise InvalidInput(_ENCODING) from None
        parser = self._parser
        if self._item_at is not None and self._bytes - self._item_at > MAX_ITEM_BYTES:
            raise InvalidInput(f"line {self._line}: {_LONG_ITEM}")
        if self._bytes - max(parser.CurrentByteIndex, 0) > MAX_TAG_BYTES + READ_BYTES:
            raise self._error(_LONG_TAG)
        if len(parser.intern) > self._names_seen:
            self._names_seen = len(parser.intern)
            if sum(map(len, filter(None, parser.intern))) > MAX_NAMES_LENGTH:
                raise self._error(_MANY_NAMES)

    def without_items(self) -> InvalidInput:
        """Returns the error for a file without items: NoRows for an empty feed, InvalidInput for any other file."""
        is_empty = self._root in _STANDARD_ROOTS or (self._root in _LIST_ROOTS and not self._other_names)
        return NoRows(NO_ITEMS) if is_empty else self._no_feed("")

    def _target(self, name: str) -> tuple[Item, str, str]:
        """Returns the mapping and the key under which the text of an element with this name is stored, and its field
        (empty if the job does not read it).
        """
        if len(name) > MAX_NAME_LENGTH:
            raise self._error(_LONG_NAME)
        prefix, _, local = name.rpartition(":")
        if prefix in self._google_prefixes:
            return self._google, local, self._role_of(local)
        key = local if prefix == self._root_prefix else name
        return self._plain, key, self._role_of(key)

    def _no_feed(self, location: str) -> InvalidInput:
        names = ", ".join(map(shown_name, self._other_names))
        return InvalidInput(f"{location}{NO_FEED}" + (f" (there are {names})" if names else ""))

    def _listen_for_items(self) -> None:
        self._parser.StartElementHandler = self._start_outside
        self._parser.EndElementHandler = self._end_outside
        self._parser.CharacterDataHandler = None

    def _start_outside(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(_TOO_DEEP)
        prefix, _, local = name.rpartition(":")
        if self._depth == 1:
            self._root = local.lower()
            self._root_prefix = "" if self._root == "rdf" else prefix
            if self._root == "html":
                raise InvalidInput(_WEB_PAGE)
        self._declare(attributes)
        parser, is_named = self._parser, local.lower() in _ITEM_NAMES
        line = parser.CurrentLineNumber + self._lines_before
        if self._outside:
            self._outside[-1].add(self._names(name)[2])
        if self._depth in _ITEM_LEVELS and is_named:
            self._line = line
            self._item_at = parser.CurrentByteIndex
            self._add_attributes("", attributes)
            parser.StartElementHandler = self._start_field
            parser.EndElementHandler = self._end_field
            parser.CharacterDataHandler = self._texts.append
            return
        self._outside.append(_Outside(local, line, is_item=is_named and self._depth > max(_ITEM_LEVELS)))
        for attribute in attributes[::2]:
            self._outside[-1].add(self._names(attribute)[2])
        if self._depth > 1 and len(self._other_names) < _NAMES_SHOWN:
            self._other_names[local] = None

    def _end_outside(self, name: str) -> None:
        self._depth -= 1
        self._outside.pop()

    def _start_field(self, name: str, attributes: list[str]) -> None:
        if self._path:
            self._start_nested(name.rpartition(":")[2].lower())
        else:
            self._texts.clear()
            self._is_markup = False
        self._path.append(name)
        if attributes:
            self._declare(attributes)
            given = dict(zip(attributes[::2], attributes[1::2], strict=True))
            if _is_google(given.get("xmlns", "")):  # feeds written by .NET declare the namespace on each element
                self._path[-1] = f"g:{name}"
            target, key = self._place()
            is_outer = len(self._path) == 1
            if is_outer and key == "link" and given.get("rel", "alternate") == "alternate" and "href" in given:
                _add(target, key, given["href"].strip())
            elif not self._is_markup and key not in _MARKED_UP:
                self._add_attributes(key, attributes)

    def _start_nested(self, tag: str) -> None:
        """Adds the text before a nested element, or separates the words around the tag."""
        path = self._path
        if len(path) + self._depth >= MAX_DEPTH:
            raise self._error(_TOO_DEEP)
        if len(path) == 1 and not self._members and not _MARKED_UP.isdisjoint(self._names(path[0])[1:]):
            is_html = _is_within_lines(tag) is not None or _separates_words(tag) is not None
            self._is_markup = self._is_markup or is_html or not _is_blank(self._texts)
        if self._is_markup:
            self._separate("p" if tag == "sup" else tag)  # 5<sup>2</sup> is not 52
            return
        target, key = self._place()
        is_object = len(path) == 1 and self._names(path[0])[2]
        self._add_text(self._members if is_object else target, "" if is_object else key)

    def _separate(self, tag: str) -> None:
        if _is_within_lines(tag) is None and self._texts and not self._texts[-1][-1:].isspace():
            self._texts.append(" ")

    def _end_field(self, name: str) -> None:
        path = self._path
        if len(path) == 1:
            target, key, role = self._names(path.pop())
            if self._members:
                self._end_object(target, key, role)
            else:
                self._add_text(target, key)
        elif not path:
            self._end_item()
        else:
            if self._is_markup:
                self._separate(name.rpartition(":")[2].lower())
            else:
                self._add_text(*self._place())
            path.pop()

    def _end_object(self, target: Item, key: str, role: str) -> None:
        """Adds the nested elements of a field, by default as one object. The parts of a plural, or the only text of a
        title, become the values of the field. If the field cannot be an object, adds the elements under their paths,
        with a remark.
        """
        self._add_text(self._members, "")
        members, self._members = self._members, {}
        attributes = {name[1:]: members.pop(name) for name in list(members) if name[:1] == "@"}
        text, only = members.pop("", None), next(iter(members), "")
        is_plural = key.lower().endswith(f"{only.lower()}s")
        if text is None and len(members) == 1 and (is_plural or not _MARKED_UP.isdisjoint((key, role))):
            found = members[only]
        elif not members and not attributes:
            found = text
        elif text is None and members and role not in _OBJECTS:
            remark = RowIssue(0, "", _NOT_READ.format(shown_name(key), role, role, f"{key}.{shown_name(only)}"))
            self._remarks += [] if remark in self._remarks else [remark]
            for name, value in members.items():
                _add_all(target, f"{key}.{name}", value)
            return
        else:
            for name, value in (("value", text), *attributes.items()):
                if value is not None:
                    add_member(members, name, value)
            found = members
        _add_all(target, key, found)

    def _place(self) -> tuple[Item, str]:
        """Returns the mapping and the key under which the text of the open element is stored."""
        target, key, role = self._names(self._path[0])
        if len(self._path) == 1:
            return target, key
        last = self._names(self._path[-1])[1]
        if not role:
            return target, f"{key}.{last}"
        return self._members, last if len(self._path) == 2 else f"{self._names(self._path[1])[1]}.{last}"

    def _add_text(self, target: Item, key: str) -> None:
        text = "".join(self._texts).strip()
        self._texts.clear()
        if text:
            _add(target, key, text)

    def _add_attributes(self, key: str, attributes: list[str]) -> None:
        is_member = len(self._path) > 1 and self._names(self._path[0])[2]
        target, before = (self._members, "") if is_member else (self._plain, key)
        for name, value in zip(attributes[::2], attributes[1::2], strict=True):
            attribute = self._names(name)[1]
            # Attributes from other namespaces, such as xsi:nil, do not affect a price.
            if value.strip() and not name.startswith(("xml", "rdf:")) and not (is_member and ":" in attribute):
                _add(target, f"{before}@{attribute}", value.strip())

    def _declare(self, attributes: list[str]) -> None:
        """Records the prefixes that are declared for Google's namespace. They apply to the rest of the feed."""
        for name, value in zip(attributes[::2], attributes[1::2], strict=True):
            if name.startswith("xmlns:") and _is_google(value) and name[6:] not in self._google_prefixes:
                self._google_prefixes.add(name[6:])
                self._names.cache_clear()

    def _end_item(self) -> None:
        if self._item_at is not None and self._parser.CurrentByteIndex - self._item_at > MAX_ITEM_BYTES:
            raise InvalidInput(f"line {self._line}: {_LONG_ITEM}")
        if not self._has_items and not self._plain and not self._google and not _is_blank(self._texts):
            raise self._no_feed(f"line {self._line}: ")  # `product` is only a field of an element with another name
        self._has_items = True
        if self._root == "feed":
            plain, google = self._plain, self._google
            if isinstance(name := plain.get("id"), str) and _is_address(name):
                plain["atom:id"] = plain.pop("id")
            if "description" not in plain and "description" not in google:
                for name in ("summary", "content"):
                    if name in plain:
                        plain["description"] = plain.pop(name)
                        break
        self.items.append(({**self._plain, **self._google}, self._line))
        self._plain.clear()
        self._google.clear()
        self._texts.clear()
        self._depth -= 1
        self._item_at = None
        self._listen_for_items()

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_declarations: int) -> None:
        if name.lower() == "html":
            raise InvalidInput(_WEB_PAGE)
        if system_id is not None or public_id is not None or has_declarations:
            raise self._error(_DECLARATIONS)

    def _error(self, reason: str) -> InvalidInput:
        return self._at(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber, reason)

    def _at(self, line: int, column: int, reason: str) -> InvalidInput:
        return InvalidInput(f"line {line + self._lines_before}, column {column + 1}: {reason}")


class _Outside:
    """An open element outside the items, and the fields whose names its children have."""

    def __init__(self, name: str, line: int, *, is_item: bool) -> None:
        self._name = name
        self._line = line
        self._is_item = is_item
        self._roles = set[str]()

    def add(self, role: str) -> None:
        """Adds the field of a child, or an empty string. Raises InvalidInput if the element may be a product."""
        self._roles.add(role)
        if self._is_item or self._roles >= _LOOKS_LIKE_PRODUCT:
            raise InvalidInput(f"line {self._line}: {_MISPLACED.format(shown_name(self._name))}")


def _is_blank(texts: list[str]) -> bool:
    return not "".join(texts).strip()


def _add(target: Item, key: str, value: Any) -> None:
    known = target.get(key)
    if known is None:
        target[key] = value
    elif isinstance(known, list):
        known.append(value)
    else:
        target[key] = [known, value]


def _add_all(target: Item, key: str, value: Any) -> None:
    for each in value if isinstance(value, list) else [value]:
        _add(target, key, each)


def read_xml(file: BufferedReader, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """Yields the items of a product feed in blocks. Raises the errors of `read_items`."""
    yield from blocks_of_items(read_items(file, selection.remarks, selection.role_of), selection, "items has a name")
