"""What filtered-stream rules match; no operator is documented, so these are ours."""

from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from socialapi.emulator.platform.rule_matching import PostFacts, fault_of, matcher_of

POST: dict[str, Any] = {
    "id": "2",
    "text": "Fresh snow on the Night Train line, says @ada_lindqvist #OutThere https://northwind.example/a ❄",
    "author_id": "7",
    "conversation_id": "1",
    "in_reply_to_user_id": "8",
    "lang": "en",
    "attachments": {"media_keys": ["3_1"]},
    "entities": {
        "hashtags": [{"tag": "OutThere"}],
        "mentions": [{"username": "ada_lindqvist"}],
        "urls": [{"url": "https://northwind.example/a", "expanded_url": "https://northwind.example/A?b=1"}],
    },
    "referenced_tweets": [{"type": "replied_to", "id": "1"}],
}
BARE: dict[str, Any] = {"id": "3", "text": "quiet", "author_id": "9"}
NAMES = {"7": "Northwind", "8": "weatherdesk"}


def matches(rule: str, post: dict[str, Any]) -> bool:
    assert fault_of(rule) is None
    return matcher_of(rule)(PostFacts(post, NAMES.get))


@pytest.mark.parametrize(
    "rule",
    [
        *("snow", "SNOW", "fresh line", '"night train"', '"Snow on the"', "❄", "ada_lindqvist", "northwind.example"),
        *("from:northwind", "from:@NORTHWIND", "from:7", "to:weatherdesk", "to:8", "@Ada_Lindqvist", "#outthere"),
        *("lang:EN", "has:media", "has:links", "has:hashtags", "has:mentions", "is:reply", "conversation_id:1"),
        *("url:northwind.example/a", 'url:"northwind.example/a?b"', "https://northwind.example/a", "FROM:northwind"),
        *("-rain", "-is:retweet", "-min_likes:5", "--snow", "- - snow", '-"train night"', "-(rain OR hail)"),
        *("rain OR snow", "hail rain OR snow", "snow (rain OR train)", "((((snow))))", "snow -(rain -hail)"),
    ],
)
def test_the_rule_matches(rule: str) -> None:
    assert matches(rule, POST)


@pytest.mark.parametrize(
    "rule",
    [
        *(
            "sno",
            "now",
            "rain",
            '"train night"',
            '"snow the"',
            "☀",
            "from:ada_lindqvist",
            "to:northwind",
            "@ada",
            "#out",
        ),
        *("lang:de", "is:quote", "is:retweet", "is:verified", "has:geo", "conversation_id:2", "url:harbour"),
        *("min_likes:5", "-snow", "snow -train", "rain OR hail", "snow (rain OR hail)", "-(snow OR rain)"),
    ],
)
def test_the_rule_does_not_match(rule: str) -> None:
    assert not matches(rule, POST)


COUNTED: dict[str, Any] = {
    **BARE,
    "public_metrics": {"like_count": 5, "reply_count": 2, "retweet_count": 0, "quote_count": 11},
}
AUTHOR = {"followers_count": 1_000, "following_count": 12, "tweet_count": 40, "listed_count": 0}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        *(("min_likes:5", True), ("min_likes:6", False), ("min_replies:2", True), ("min_replies:3", False)),
        *(("min_reposts:0", True), ("min_reposts:1", False), ("min_likes:4 -min_replies:3", True)),
        *(("likes_count:5..9", True), ("likes_count:6..9", False), ("quotes_count:11", True)),
        *(("replies_count:0..1", False), ("retweets_count:0..0", True), ("reposts_count:1", False)),
        *(("followers_count:1000", True), ("followers_count:1001", False), ("followers_count:1..999", False)),
        *(("following_count:12..12", True), ("tweets_count:40..41", True), ("listed_count:0", True)),
        *(("min_likes:five", False), ("min_likes:1..9", False), ("likes_count:9..5", False), ("cats_count:0", False)),
    ],
)
def test_counts_are_compared_with_a_number_or_a_range(rule: str, expected: bool) -> None:
    assert fault_of(rule) is None
    facts = PostFacts(COUNTED, NAMES.get, {"9": AUTHOR}.__getitem__)
    assert matcher_of(rule)(facts) is expected
    assert not matches(rule, BARE), "a post without counts has none to compare"


def test_a_kind_of_post_that_is_not_known_matches_nothing() -> None:
    """It did match a post with a reference of no type."""
    post = {**POST, "referenced_tweets": [{"id": "1"}]}
    assert not matches("is:verified", post)
    assert not matches("is:reply", post)


@pytest.mark.parametrize(
    "rule", ["has:media", "has:links", "is:reply", "to:weatherdesk", "from:nobody", "@x", "lang:en"]
)
def test_what_a_post_lacks_matches_nothing(rule: str) -> None:
    assert not matches(rule, BARE)
    assert matches(f"-{rule}", BARE)


@pytest.mark.parametrize("rule", ["OR-x snow", "-OR snow", 'snow"fresh"', "a- OR snow", "(snow)-rain"])
def test_whatever_the_syntax_accepts_can_be_asked(rule: str) -> None:
    assert matches(rule, POST) is (rule != "OR-x snow")


@pytest.mark.parametrize(
    "rule",
    [
        *("from:", "-from:", "snow from: rain", "(lang:)", 'url:""', "to: OR snow", "min_likes:"),
        *("snow -", "- OR snow", "(-)", "@", "#", "snow -@", '""', 'snow -""'),
    ],
)
def test_an_operator_without_its_operand_is_an_invalid_rule(rule: str) -> None:
    fault = fault_of(rule)
    assert fault is not None
    assert "nothing after" in fault or "empty" in fault


@pytest.mark.parametrize(
    "rule",
    [
        "(" * 1_000 + "snow" + ")" * 1_000,
        "-(" * 600 + "snow" + ")" * 600,
        "(a OR (b " * 185 + "snow" + "))" * 185,
    ],
)
def test_parentheses_may_be_as_deep_as_a_rule_is_long(rule: str) -> None:
    assert len(rule) <= 2_100
    assert matches(rule, {"text": "snow a b"})


@attrs.frozen
class Tree:
    """A rule as people think of it, with an oracle that is as plain as can be."""

    kind: str
    parts: tuple["Tree", ...] = ()
    word: str = ""

    def says(self, words: frozenset[str]) -> bool:
        if self.kind == "word":
            return self.word in words
        if self.kind == "not":
            return not self.parts[0].says(words)
        each = [part.says(words) for part in self.parts]
        return all(each) if self.kind == "and" else any(each)

    def written(self, *, within: str = "") -> str:
        """With no more parentheses than are needed, so that precedence is tested."""
        if self.kind == "word":
            return self.word
        if self.kind == "not":
            return "-" + self.parts[0].written(within="not")
        text = (" " if self.kind == "and" else " OR ").join(part.written(within=self.kind) for part in self.parts)
        needs = within == "not" or (within == "and" and self.kind == "or")
        return f"({text})" if needs else text


WORDS = st.sampled_from("abcde")
TREES = st.recursive(
    WORDS.map(lambda word: Tree("word", word=word)),
    lambda inner: st.one_of(
        inner.map(lambda part: Tree("not", (part,))),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=4)).map(
            lambda made: Tree(made[0], tuple(made[1]))
        ),
    ),
    max_leaves=12,
)


@given(TREES, st.frozensets(WORDS))
def test_a_rule_means_what_its_tree_does(tree: Tree, words: frozenset[str]) -> None:
    rule = tree.written()
    assert fault_of(rule) is None
    assert matches(rule, {"text": " ".join(sorted(words))}) is tree.says(words)


@given(st.text('ab-: "()OR@#', max_size=30))
@example("- OR -")
@example('-""')
@example('from:"" OR -')
@example("-(-)")
def test_no_rule_that_can_be_read_fails_to_be_asked(rule: str) -> None:
    if fault_of(rule) is None:
        assert matches(rule, POST) in (True, False)
