"""Checks the HTML of a site: every link and anchor in it leads somewhere, and nothing is loaded
from other hosts.
"""

import posixpath
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

LOADED: Final = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""The attributes of elements that a browser loads by itself."""
NOT_LOADED: Final = frozenset({"canonical", "prev", "next", "alternate", "edit"})
"""Relations of a `link` that only name another page."""
SCHEMES: Final = frozenset({"https", "mailto"})
OF_STYLES: Final = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
"""What a style sheet loads from other hosts."""


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: Final[list[str]] = []
        self.loaded: Final[list[str]] = []
        self.anchors: Final[set[str]] = set()
        self.repeated: Final[set[str]] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element."""
        values = {name: value for name, value in attrs if value is not None}
        for anchor in {values[name] for name in ("id", "name") if name in values and (name == "id" or tag == "a")}:
            (self.repeated if anchor in self.anchors else self.anchors).add(anchor)
        is_page_only = tag == "link" and values.get("rel", "") in NOT_LOADED
        if tag in LOADED and LOADED[tag] in values and not is_page_only:
            self.loaded.append(values[LOADED[tag]])
        elif "href" in values:
            self.links.append(values["href"])


def faults_of(site: Path, entries: Mapping[str, str]) -> list[str]:
    """Returns a line for each fault of a built site. `entries` are the anchors that the pages of
    the API reference must have, with their Markdown files.
    """
    pages = {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}
    faults = [f"{name}: {fault}" for name, page in pages.items() for fault in _faults_of_page(site, name, page, pages)]
    for sheet in sorted(site.rglob("*.css")):
        loaded = OF_STYLES.findall(sheet.read_text("utf-8"))
        faults += [f"{sheet.relative_to(site).as_posix()}: loads {address} from another host" for address in loaded]
    for anchor, source in entries.items():
        described = pages.get(f"api/{source.removesuffix('.md')}.html")
        if described is None or anchor not in described.anchors:
            faults.append(f"api/{source}: has no entry for {anchor}")
    return faults


def _faults_of_page(site: Path, name: str, page: Page, pages: Mapping[str, Page]) -> Iterator[str]:
    yield from (f"the anchor #{anchor} is there twice" for anchor in sorted(page.repeated))
    for address in page.loaded:
        parts = urllib.parse.urlsplit(address)
        if parts.netloc or parts.scheme not in ("", "data"):
            yield f"loads {address} from another host"
        elif not parts.scheme and not _target(site, name, parts.path).is_file():
            yield f"loads {address}, which does not exist"
    for link in dict.fromkeys(page.links):
        if fault := _fault_of_link(site, name, link, pages):
            yield fault


def _fault_of_link(site: Path, name: str, link: str, pages: Mapping[str, Page]) -> str | None:
    """Why a link leads nowhere, or None. Of links to other hosts only the form is checked."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        is_well_formed = parts.scheme in SCHEMES and bool(parts.netloc or parts.path) and " " not in link
        return None if is_well_formed else f"links to {link}, which is no address of the form https://host/path"
    target = _target(site, name, parts.path)
    if not target.is_file():
        return f"links to {link}, which does not exist"
    linked = pages.get(target.relative_to(site).as_posix())
    anchor = urllib.parse.unquote(parts.fragment)
    if linked is not None and anchor and anchor not in linked.anchors:
        return f"links to {link}, whose page has no such anchor"
    return None


def _target(site: Path, name: str, path: str) -> Path:
    """The file that a link of a page leads to."""
    if not path:
        return site / name
    found = posixpath.join("/", posixpath.dirname(name), urllib.parse.unquote(path))
    target = site / posixpath.normpath(found).lstrip("/")
    return target / "index.html" if target.is_dir() else target
