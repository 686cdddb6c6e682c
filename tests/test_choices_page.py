"""Everything that the documentation calls "not shown" has a line on a page of choices.

The list is made from the documentation. What a line says in numbers is held against the emulator.
"""

import itertools
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.problems import PROBLEM_TYPES
from tests.emulator.asking import Asker
from tests.emulator.oauth.test_pkce import basic

PAGES: Final = sorted((Path(__file__).parents[1] / "docs").glob("choices-*.md"))
LINES: Final = [line for page in PAGES for line in page.read_text("utf-8").splitlines()]
ROWS: Final = {
    cells[0]: cells[1]
    for line in LINES
    if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("|").split(" | ")]) == 3
}


@pytest.fixture
async def ask() -> AsyncIterator[Asker]:
    async with Emulator() as emulator, aiohttp.ClientSession() as session:
        yield Asker(emulator, session)


def test_every_line_is_one_question_with_an_answer() -> None:
    rows = [line.split(" | ") for line in LINES if line.startswith("| ")]
    questions = [row[0].removeprefix("| ") for row in rows if row[0] != "| Question"]
    assert len(questions) == len(set(questions))
    assert [each for each in questions if not each.endswith("?")] == []
    assert [row for row in rows if not re.search(r"\w", row[1])] == []


def test_every_table_is_in_one_piece() -> None:
    for before, line in itertools.pairwise(LINES):
        assert before or not line.startswith("|") or line == "| Question | Our choice | Override |", line


async def test_each_type_of_problem_has_the_status_of_its_line(ask: Asker) -> None:
    said: dict[str, int] = {}
    for part in ROWS["Which status does each type of problem have?"].split(". "):
        if (beginning := re.match(r"(\d{3}): ", part)) is not None:
            said |= dict.fromkeys(re.findall(r"`([a-z-]+)`", part), int(beginning[1]))
    assert said.keys() == PROBLEM_TYPES.keys()
    for slug, status in said.items():
        await ask.control("POST", "faults", {"fault": "status", "problem": slug})
        reply = await ask.get("/2/tweets", ids="1")
        assert (slug, reply.status, reply.slug) == (slug, status, slug)


async def test_token_errors_have_the_codes_of_their_line(ask: Asker) -> None:
    ready, token = ask.emulator.ready, "/oauth2/token"
    key = ready["api_key"]
    right, wrong = ({"headers": basic(key, secret)} for secret in (ready["api_key_secret"], "wrong"))
    grant = {"grant_type": "client_credentials"}
    found: dict[int, Any] = {
        32: await ask.send("POST", token, data=grant, **wrong),
        89: await ask.send("GET", "/2/tweets?ids=1", headers={"Authorization": "Bearer dead"}),
        170: await ask.send("POST", token, data={"grant_type": "password"}, **right),
        215: await ask.send("POST", token, data=grant),
        348: await ask.send("POST", "/oauth2/invalidate_token", data={"access_token": "another"}, **right),
        415: await ask.signed(
            "POST",
            "/oauth/request_token",
            signer=ask.signer(access_token=None, access_token_secret=None, callback_uri="https://elsewhere.example/"),
        ),
    }
    for status, code in ((403, 87), (429, 88), (503, 130), (500, 131)):
        await ask.control("POST", "faults", {"fault": "status", "status": status, "path": token})
        found[code] = await ask.send("POST", token)
    assert {code: reply.codes for code, reply in found.items()} == {code: [code] for code in found}
    line = ROWS["Which codes do token errors have?"]
    assert [code for code in found if not re.search(rf"\b{code}\b", line)] == []


async def test_pages_and_default_fields_are_those_of_their_lines(ask: Asker) -> None:
    user = ask.emulator.seed["user_ids"][0]
    assert len((await ask.get(f"/2/users/{user}/tweets")).data) == 10
    assert "10, or `max_results` from 5 to 100" in ROWS["How many items does a page have?"]
    ids = ",".join(ask.emulator.seed["post_ids"][:40])
    expansions = "author_id,attachments.media_keys,attachments.poll_ids,geo.place_id"
    reply = await ask.get("/2/tweets", ids=ids, expansions=expansions)
    line = ROWS["Which fields are returned by default?"]
    for kind in ("users", "media", "polls", "places"):
        (names,) = {frozenset(each) for each in reply.json["includes"][kind]}
        said = line.partition(f"; {kind} ")[2].partition(";")[0]
        assert set(re.findall(r"`(\w+)`", said)) == names
