"""Everything that the documentation calls "not shown" has a line on the page of choices.

The list is made from the documentation. What a line says in numbers is held against the emulator.
"""

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

PAGE: Final = Path(__file__).parents[1] / "docs" / "choices.md"
ROWS: Final = {
    cells[0]: cells[1]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("|").split(" | ")]) == 3
}

NOT_SHOWN: Final = {
    "1: behaviour of endpoints that are not tabulated": ["What do endpoints take that are documented by name only"],
    "2.6: catalogues of fields": ["Which names of fields exist?"],
    "2.6: default fields of polls and places": ["Which fields come unasked?"],
    "3.2: lifecycles of other resources": ["What has a life of its own?", "What ends with a webhook?"],
    "4.4: shapes of named-only endpoints": [
        *("Which object is an answer?", "Which fields does a new post take?", "What does a search for news need?"),
        *("What are a poll, a place and reply settings?", "Which filter does a subscription need?"),
        *("Which posts of a user does `by_user` choose?", "What of a body where none is documented?"),
    ],
    "4.4 and 8: what an edit keeps, and what is refused": [
        "How often can a post be edited, and what does an edit keep?",
        "Which replies and edits are refused?",
    ],
    "5: who may call what": ["Who may call what?", "What is an app that is not enrolled?"],
    "5.2: the grant type": ["What is an app-only token asked for with?"],
    "5.2: ending an app-only token": ["How is an app-only token ended?"],
    "5.4: the OAuth 2.0 user flow": ["Where are the pages and endpoints of OAuth 2.0?"],
    "5.4: the list of scopes": [
        "Which scope does a subscription need?",
        "Which OAuth 2.0 scopes does a user's token need?",
    ],
    "5.4: lifetimes of tokens": ["How long do tokens of a sign-in last?"],
    "6.2: payloads of events": ["What does an event look like?", "Where is the id of an event?"],
    "6.2: further event types": ["Which event types exist?"],
    "6.2: who gets an event": ["Who gets an event?", "Who gets the event of a post in a community?"],
    "6.2: redelivery": ["How is an event delivered?"],
    "7.3: statuses of problem types": ["Which status has a problem of each type?"],
    "7.3: codes of OAuth endpoints": ["Which codes do token errors have?"],
    "8: numeric rate limits": [
        "How often may OAuth endpoints be asked?",
        "How often may an app-only token be asked for?",
    ],
    "8: webhooks of an app": ["How many webhooks may an app have, and how long may a challenge take?"],
    "8: bounds of max_results": ["How many items has a page?", "How large may a page of posts be?"],
    "9: compatibility": ["What may a program rely on?"],
}

NOT_SHOWN_OF_ADVERTISING: Final[dict[str, str]] = {
    # Advertising: accounts, line items, audiences
    "behaviour of campaigns, funding instruments, promoted accounts, estimates, analytics": "promoted accounts",
    "fields of the campaign record beyond the history snapshot": "campaign of a history snapshot",
    "fields of the audience records themselves": "Which fields do campaigns and audiences have",
    "all other transitions": "Which transitions of state",
    "how entity_status interacts with servable": "line item servable",
    "request line of curated categories": "curated categories listed",
    "endpoints for criteria, estimates, stats, line item list, audience create": "targeting criteria",
    "the complete list of sandbox feature keys": "keys of features are there",
    "authentication scheme of the advertising API": "scheme do advertising requests use",
    "events of the advertising API": "events of advertising",
    "error codes of the advertising API": "advertising errors look like",
    "status mapping of the advertising API": "advertising errors look like",
    "rate limits other than those": "endpoint whose limit is not documented",
    "deprecation policy": "does a version end",
    "list of versions": "version is in the path",
    # Creatives and catalogs
    "scheduled posts, draft posts, promoted video endpoints, scheduled feeds": "scheduled feeds, promoted video",
    "card-type specific fields of legacy cards": "cards of older kinds",
    "other values of media_status": "`media_status` are there",
    "transitions of product sets": "filtered product set become ready",
    "the update method of cards": "method changes a card",
    "card update beyond field replacement": "change of a card go",
    "updating or deleting a product set": "product set be changed or deleted",
    "authentication scheme of creatives": "scheme do advertising requests use",
    "events for creatives and catalogs": "events of advertising, creatives and catalogs",
    "error codes and HTTP statuses of creatives": "errors and warnings of a product",
    "rate limits of creatives": "endpoint whose limit is not documented",
}
"""What the advertising documents do not show, with words of the line about it."""

UNSAID: Final[dict[str, str]] = {
    "empty users": "operation have no users",
    "the currency of a sale": "currency is a sale price",
    "the window of a sale": "How long is a sale",
    "negative inventory": "`inventory` be negative",
    "empty names": "names may be empty",
    "commas in keywords": "separates keywords",
    "the deletion of cards": "cards can be deleted",
    "READ_WRITE": "READ_ONLY and READ_WRITE",
    "16:9": "exact is 16:9",
    "features by key": "`features` answer for a key",
    "forms of whole hours": "forms of a whole hour",
    "forms of times": "times are ISO 8601",
    "far times of effect": "`effective_at` be far away",
    "a Delete with times": "Delete take effect",
    "labels without a type": "label need its `type`",
    "the length of q": "long is `q` of cards",
    "the hash of a call": "counts of a call to action",
    "video_cta_value alone": "`video_cta_value` need",
    "prices of filters": "filter by price",
    "read-only fields": "read-only fields in a PUT",
    "the data of the sandbox": "does the sandbox serve",
    "the order of sort_by": "`sort_by` look like",
    "the order and bounds of history": "order comes account history",
    "bids with AUTO": "bid is sent with the strategy AUTO",
    "both directions of start and end": "end be later than its start",
    "clearing of values": "write travel that has no JSON body",
    "product keys": "`product_key` required",
    "what a PUT of a product replaces": "putting a known product",
    "images of products": "images looked at",
    "tailored and custom audiences": "tailored and custom audiences",
    "who shares with whom": "share an audience with whom",
}
"""What the text of a documented row leaves open."""


@pytest.fixture
async def ask() -> AsyncIterator[Asker]:
    async with Emulator() as emulator, aiohttp.ClientSession() as session:
        yield Asker(emulator, session)


@pytest.mark.parametrize("what", NOT_SHOWN)
def test_what_is_not_shown_has_a_line(what: str) -> None:
    missing = [each for each in NOT_SHOWN[what] if not any(question.startswith(each) for question in ROWS)]
    assert missing == []


@pytest.mark.parametrize(("about", "words"), [*NOT_SHOWN_OF_ADVERTISING.items(), *UNSAID.items()])
def test_what_the_advertising_documents_leave_open_has_one_line(about: str, words: str) -> None:
    rows = [line.split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    found = [row for row in rows if words in f"{row[1]}|{row[2]}"]
    assert len(found) == 1, about
    question, choice = found[0][1].strip(), found[0][2].strip()
    assert question.endswith("?")
    assert re.search(r"\w", choice)


def test_no_question_is_answered_twice() -> None:
    questions = [line.split(" | ")[0] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    repeated = {each for each in questions if questions.count(each) > 1} - {"| Question"}
    assert repeated == set()


async def test_each_type_of_problem_has_the_status_of_its_line(ask: Asker) -> None:
    said: dict[str, int] = {}
    for part in ROWS["Which status has a problem of each type?"].split(". "):
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
    assert "10, or `max_results` from 5 to 100" in ROWS["How many items has a page?"]
    ids = ",".join(ask.emulator.seed["post_ids"][:40])
    expansions = "author_id,attachments.media_keys,attachments.poll_ids,geo.place_id"
    reply = await ask.get("/2/tweets", ids=ids, expansions=expansions)
    line = ROWS["Which fields come unasked?"]
    kinds = {"users": "a user", "media": "media", "polls": "a poll", "places": "a place"}
    for kind, called in kinds.items():
        (names,) = {frozenset(each) for each in reply.json["includes"][kind]}
        said = line.partition(f"of {called} ")[2].partition(", of ")[0]
        assert set(re.findall(r"`(\w+)`", said)) == names
