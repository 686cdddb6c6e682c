"""The site of the documentation: what it is made of, and the check of what was built."""

import re
from pathlib import Path
from typing import Final

from docs.site import api, build
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
