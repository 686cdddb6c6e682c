"""The site of the documentation: what it is made of, and the check of what was built."""

import re
from pathlib import Path
from typing import Final

import pytest

from docs.site import api, build, check
from tests.support.signatures import PUBLIC

ROOT: Final = Path(__file__).parents[1]
SPARK: Final = ("SocialApiDataSource", "latest_per_identifier", "latest_per_product", "repeated_products")
"""What the integration exports that cannot be imported without PySpark."""
PAGES: Final = build.site_pages()
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")


# The API reference


def test_every_public_name_has_one_entry_in_the_reference_and_no_other_has() -> None:
    listed = [(entry.module, entry.name) for entry in api.entries()]
    assert len(set(listed)) == len(listed)
    exported = set(PUBLIC) - {("socialapi.testing", "F")}  # a type variable of its own
    assert set(listed) == exported | {("socialapi.integrations.spark", name) for name in SPARK}
    assert [entry.name for entry in api.entries() if entry.name.startswith("_")] == ["__version__"]


def test_a_name_that_two_modules_export_is_described_once() -> None:
    streams = {entry.module: entry for entry in api.entries() if entry.name == "Stream"}
    assert streams["socialapi"].alias_of is None
    assert streams["socialapi.streams"].alias_of == "socialapi.Stream"
    described = api.pages()["socialapi.md"], api.pages()["socialapi.streams.md"]
    assert [page.count("\n::: socialapi.Stream\n") for page in described] == [1, 0]
    assert "## Stream { #socialapi.streams.Stream }\n\nThe same as [`socialapi.Stream`]" in described[1]


def test_every_entry_is_on_the_page_that_it_names_and_in_the_index() -> None:
    pages = api.pages()
    for entry in api.entries():
        assert f"::: {entry.anchor}\n" in pages[entry.page] or f"{{ #{entry.anchor} }}" in pages[entry.page]
        assert f"]({entry.page}#{entry.anchor})" in pages["index.md"]


# The pages


def test_programs_find_every_page_in_one_list_and_one_text() -> None:
    files = build.for_machines(PAGES)
    listed, full = files["llms.txt"], files["llms-full.txt"]
    assert listed.startswith("# socialapi\n\n> An async Python SDK")
    assert "- [Audiences](audiences.md): upload people" in listed
    written = {name for name in PAGES if not name.startswith("api/")} - {"NAVIGATION.md", "contents.md", "index.md"}
    linked = {link.partition("#")[0] for link in LINK.findall(listed) if not link.startswith("api/")}
    assert linked == {*written, "llms-full.txt"}
    about_the_project = {name for name in written if re.match("change|contrib|report|tested|benchmarks/", name)}
    assert len(about_the_project) == 7
    assert {name for name in written if PAGES[name].strip() in full} == written - about_the_project


def test_the_navigation_has_every_page_once() -> None:
    linked = LINK.findall(PAGES["NAVIGATION.md"])
    assert sorted(linked) == sorted(PAGES.keys() - {"NAVIGATION.md"})


def test_every_link_between_pages_leads_to_a_page_of_the_site() -> None:
    for name, text in PAGES.items():
        for link in LINK.findall(re.sub(r"(?s)```.*?```", "", text)):
            path = link.partition("#")[0]
            if path and ":" not in path and not path.endswith((".svg", ".png")):
                target = (Path("/site", name).parent / path).resolve().relative_to("/site")
                assert str(target) in PAGES, f"{name}: {link}"


def test_the_pages_of_a_project_and_of_a_notebook_show_their_code() -> None:
    project = PAGES["examples/testing_a_service.md"]
    headings = re.findall(r"^## `(.+)`\n\n```(\w+)\n", project, re.MULTILINE)
    assert headings[:3] == [("newsletter.py", "python"), ("pyproject.toml", "toml"), ("conftest.py", "python")]
    files = {path.name for path in (ROOT / "examples" / "testing_a_service").glob("*.*")}
    assert {name for name, _ in headings} == files - {"README.md"}
    assert "async def test_posts_about_the_newsletter_are_collected" in project
    assert "```python\nfrom socialapi import Client, Fields, errors\n" in PAGES["examples/timeline_notebook.md"]


def test_the_page_of_an_example_says_what_it_is_for_and_what_to_change() -> None:
    for name in PAGES.keys() - {"examples/index.md"}:
        if name.startswith("examples/"):
            before, _, changes = PAGES[name].partition("\n## What to change\n\n")
            assert "\nUse " in before, name
            assert 3 <= len(re.findall(r"^- ", changes.partition("\n## ")[0], re.MULTILINE)) <= 6, name


def test_an_escaped_bar_in_the_code_of_a_table_is_a_bar_in_the_site() -> None:
    assert r"`str \| None`" in (ROOT / "docs" / "resources.md").read_text("utf-8")
    assert "`str | None`" in PAGES["resources.md"]


# What was built


def built(tmp_path: Path, **pages: str) -> list[str]:
    """What is wrong with a site of these pages, which have no API reference."""
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text)
    return check.faults_of(tmp_path, {})


def test_a_site_whose_links_and_anchors_are_there_has_no_faults(tmp_path: Path) -> None:
    other = '<h1 id="top">Other</h1><a name="old"></a><a href="https://example.com/">out</a>'
    links = (
        '<a href="other.html">1</a><a href="other.html#top">2</a><a href="other.html#old">3</a><a href="#here">4</a>'
    )
    assert not built(tmp_path, index=f'<p id="here">{links}<a href="/other.html">5</a></p>', other=other)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="missing.html">', "links to missing.html, which does not exist"),
        ('<a href="#nowhere">', "links to #nowhere, whose page has no such anchor"),
        ('<a href="index.html#no%20where">', "links to index.html#no%20where, whose page has no such anchor"),
        (
            '<a href="http://example.com/">',
            "links to http://example.com/, which is no address of the form https://host/path",
        ),
        ('<a href="//example.com/">', "links to //example.com/, which is no address of the form https://host/path"),
        ('<p id="a"><b id="a">', "the anchor #a is there twice"),
        ('<script src="https://cdn.example/x.js">', "loads https://cdn.example/x.js from another host"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "loads //cdn.example/x.css from another host"),
        ('<link rel="preconnect" href="https://cdn.example">', "loads https://cdn.example from another host"),
        ('<img src="plot.svg">', "loads plot.svg, which does not exist"),
    ],
)
def test_a_fault_of_a_page_is_named(tmp_path: Path, body: str, fault: str) -> None:
    assert built(tmp_path, index=body) == [f"index.html: {fault}"]


def test_a_style_that_loads_from_another_host_is_named(tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text(
        'a { background: url(local.png) } b { background: url("https://cdn.example/b.png") }'
    )
    assert built(tmp_path) == ["site.css: loads https://cdn.example/b.png from another host"]


def test_an_entry_that_the_reference_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "socialapi.html").write_text('<h2 id="socialapi.Client">')
    entries = {"socialapi.Client": "socialapi.md", "socialapi.Config": "socialapi.md"}
    assert check.faults_of(tmp_path, entries) == ["api/socialapi.md: has no entry for socialapi.Config"]
