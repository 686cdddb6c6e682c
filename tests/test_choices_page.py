"""The page of choices has a line for everything that the documentation says is "not shown"."""

import re
from pathlib import Path
from typing import Final

import pytest

PAGE: Final = Path(__file__).parents[1] / "docs" / "choices.md"

NOT_SHOWN: Final[dict[str, str]] = {
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


@pytest.mark.parametrize(("about", "words"), [*NOT_SHOWN.items(), *UNSAID.items()])
def test_what_is_not_shown_has_a_line(about: str, words: str) -> None:
    rows = [line.split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    found = [row for row in rows if words in f"{row[1]}|{row[2]}"]
    assert len(found) == 1, about
    question, choice = found[0][1].strip(), found[0][2].strip()
    assert question.endswith("?")
    assert re.search(r"\w", choice)
