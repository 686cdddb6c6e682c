"""Parses filtered-stream rules, and matches posts against them."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_PIECE: Final = re.compile(r'"[^"]*"|[()]|[^\s()"]+|"')


def pieces_of(rule: str) -> list[str]:
    """Splits a rule into parentheses, quoted phrases with their quotation marks, and words between spaces, including
    `OR`.
    """
    return _PIECE.findall(rule)


def fault_of(rule: str) -> str | None:
    """Returns the error in the rule, or None."""
    pieces = pieces_of(rule)
    if not pieces:
        return "the rule is empty"
    if '"' in pieces:
        return "a quotation mark is unmatched"
    depth = 0
    for piece in pieces:
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if depth < 0:
            return "a closing parenthesis is unmatched"
    if depth:
        return "an opening parenthesis is unmatched"
    joined = ["(", *_joined(pieces), ")"]
    pairs = itertools.pairwise(joined)
    return next((problem for pair in pairs if (problem := _between(*pair)) is not None), None)


def _between(before: str, piece: str) -> str | None:
    """Returns the error in a sequence of two neighboring parts, or None. The complete rule is enclosed in parentheses."""
    if before == "(" and piece == ")":
        return "parentheses are empty"
    if piece == "OR" and before in ("(", "OR"):
        return "there is nothing before OR"
    if before == "OR" and piece == ")":
        return "there is nothing after OR"
    word = before.lstrip("-")
    if not word and piece in (")", "OR"):
        return "there is nothing after a minus"
    if word in ("@", "#") or (word.endswith(":") and _OPERATOR.fullmatch(word)):
        return f"there is nothing after the operator {word}"
    return "a phrase is empty" if before == '""' else None


_WORD: Final = re.compile(r"\w+")
_OPERATOR: Final = re.compile(r"([A-Za-z_]+):(?!//)(.*)")
_HAS: Final = {"links": "urls", "hashtags": "hashtags", "mentions": "mentions"}
_IS: Final = {"reply": "replied_to", "quote": "quoted", "retweet": "retweeted"}

_RANGE: Final = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")
_POST_COUNTS: Final = {
    "min_likes": "like_count",
    "min_replies": "reply_count",
    "min_reposts": "retweet_count",
    "likes_count": "like_count",
    "replies_count": "reply_count",
    "reposts_count": "retweet_count",
    "retweets_count": "retweet_count",
    "quotes_count": "quote_count",
}
_AUTHOR_COUNTS: Final = {
    "followers_count": "followers_count",
    "following_count": "following_count",
    "tweets_count": "tweet_count",
    "listed_count": "listed_count",
}

UsernameOf = Callable[[str], str | None]
MetricsOf = Callable[[str], Mapping[str, int]]
"""Returns the public counts of a user by id."""


class PostFacts:
    """The facts about a post that rules check. Each fact is computed on first use."""

    def __init__(
        self, fields: Mapping[str, Any], username_of: UsernameOf, metrics_of: MetricsOf = lambda _: {}
    ) -> None:
        self._fields = fields
        self._username_of = username_of
        self._metrics_of = metrics_of

    @functools.cached_property
    def text(self) -> str:
        """The post's text in lower case."""
        return str(self._fields.get("text", "")).casefold()

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The words of the text."""
        return frozenset(_WORD.findall(self.text))

    @functools.cached_property
    def running_words(self) -> str:
        """The words in order, each between spaces."""
        return f" {' '.join(_WORD.findall(self.text))} "

    @functools.cached_property
    def tags(self) -> frozenset[str]:
        """The hashtags."""
        return frozenset(str(each.get("tag", "")).casefold() for each in self._entities("hashtags"))

    @functools.cached_property
    def mentioned(self) -> frozenset[str]:
        """The names of the users whom the text mentions."""
        return frozenset(str(each.get("username", "")).casefold() for each in self._entities("mentions"))

    @functools.cached_property
    def links(self) -> str:
        """All URLs in the text, in every known form."""
        forms = ("url", "expanded_url", "unwound_url", "display_url")
        return "\n".join(
            str(each[form]) for each in self._entities("urls") for form in forms if form in each
        ).casefold()

    @functools.cached_property
    def references(self) -> frozenset[str]:
        """The ways in which the post refers to other posts."""
        return frozenset(each.get("type") for each in self._fields.get("referenced_tweets", ()))

    def is_user(self, field: str, name: str) -> bool:
        """Returns whether the field contains the id of the user with this name or id."""
        user_id = self._fields.get(field)
        if user_id is None:
            return False
        return name == user_id or name == (self._username_of(user_id) or "").casefold()

    def has(self, kind: str) -> bool:
        """Returns whether the post has entities of a kind, or media."""
        if kind == "media":
            return bool((self._fields.get("attachments") or {}).get("media_keys"))
        return kind in _HAS and bool(self._entities(_HAS[kind]))

    def count(self, name: str) -> float:
        """Returns a public count of the post, or NaN if it has none."""
        count: float = (self._fields.get("public_metrics") or {}).get(name, math.nan)
        return count

    def author_count(self, name: str) -> float:
        """Returns a public count of the author, or NaN if there is none."""
        return self._metrics_of(self._fields.get("author_id", "")).get(name, math.nan)

    def field(self, name: str) -> str:
        """Returns the field's text in lower case."""
        return str(self._fields.get(name, "")).casefold()

    def _entities(self, kind: str) -> Any:
        return (self._fields.get("entities") or {}).get(kind, ())


Matcher = Callable[[PostFacts], bool]

_NOT: Final = "not"
_AND: Final = "and"
_OR: Final = "or"
_OPEN: Final = "("
_Step = Matcher | str

_BINDS: Final = {_NOT: 3, _AND: 2, _OR: 1, _OPEN: 0}


def matcher_of(rule: str) -> Matcher:
    """Returns the rule as a function. The rule must be valid according to `fault_of`."""
    program = _program(pieces_of(rule))
    if len(program) == 1 and not isinstance(program[0], str):
        return program[0]

    def matches(post: PostFacts) -> bool:
        # A stack rather than recursion: parentheses may be nested a thousand levels deep.
        values: list[bool] = []
        for step in program:
            if not isinstance(step, str):
                values.append(step(post))
            elif step == _NOT:
                values[-1] = not values[-1]
            else:
                last = values.pop()
                values[-1] = (values[-1] and last) if step == _AND else (values[-1] or last)
        return values[0]

    return matches


def _program(pieces: Sequence[str]) -> list[_Step]:
    """Returns the rule in postfix order, by precedence of its operators."""
    program: list[_Step] = []
    pending: list[str] = []
    follows_operand = False

    def push(operator: str) -> None:
        while pending and _BINDS[pending[-1]] >= _BINDS[operator]:
            program.append(pending.pop())
        pending.append(operator)

    for piece in _joined(pieces):
        if piece == "OR":
            push(_OR)
            follows_operand = False
        elif piece == ")":
            while (operator := pending.pop()) != _OPEN:
                program.append(operator)
            follows_operand = True
        else:
            if follows_operand:
                push(_AND)
            word = piece.lstrip("-")
            # Negations come before their operand, so they cannot complete a pending operator.
            pending += [_NOT] * ((len(piece) - len(word)) % 2)
            follows_operand = bool(word) and word != _OPEN
            if word == _OPEN:
                pending.append(_OPEN)
            elif word:
                program.append(_condition(word))
    return [*program, *reversed(pending)]


def _joined(pieces: Sequence[str]) -> list[str]:
    """Returns the pieces, with operators and their quoted values rejoined, as in `url:"a b"`."""
    joined: list[str] = []
    for piece in pieces:
        if piece.startswith('"') and joined and joined[-1].endswith(":") and not joined[-1].startswith('"'):
            joined[-1] += piece.strip('"')
        else:
            joined.append(piece)
    return joined


def _condition(word: str) -> Matcher:
    if word.startswith('"'):
        return _phrase(word.strip('"'))
    operator = _OPERATOR.fullmatch(word)
    if operator is not None:
        return _operation(operator[1].lower(), operator[2].casefold())
    name = word[1:].casefold()
    if word.startswith("@") and name:
        return lambda post: name in post.mentioned
    if word.startswith("#") and name:
        return lambda post: name in post.tags
    return _phrase(word)


def _phrase(text: str) -> Matcher:
    """Returns a condition for whole words in sequence. A text without any words, such as an emoji, matches anywhere."""
    wanted = text.casefold()
    words = _WORD.findall(wanted)
    if not words:
        return lambda post: wanted in post.text
    if len(words) == 1:
        return lambda post: words[0] in post.words
    running = f" {' '.join(words)} "
    return lambda post: running in post.running_words


def _operation(name: str, value: str) -> Matcher:
    user = value.removeprefix("@")
    known: dict[str, Matcher] = {
        "from": lambda post: post.is_user("author_id", user),
        "to": lambda post: post.is_user("in_reply_to_user_id", user),
        "lang": lambda post: post.field("lang") == value,
        "conversation_id": lambda post: post.field("conversation_id") == value,
        "has": lambda post: post.has(value),
        "is": lambda post: value in _IS and _IS[value] in post.references,
        "url": lambda post: value in post.links,
    }
    if name in _POST_COUNTS or name in _AUTHOR_COUNTS:
        # At least a number, or within a range such as `10..20`.
        given = _RANGE.fullmatch(value)
        if given is None or (given[2] and name.startswith("min_")):
            return _never
        least, most = int(given[1]), int(given[2]) if given[2] else math.inf
        if name in _POST_COUNTS:
            return lambda post: least <= post.count(_POST_COUNTS[name]) <= most
        return lambda post: least <= post.author_count(_AUTHOR_COUNTS[name]) <= most
    return known.get(name, _never) if value else _never


def _never(post: PostFacts) -> bool:
    return False
