"""Mistakes of users, each on a line of its own, that both type checkers have to find.

An ignore that nothing needs is an error for either of them (`make lint`), so each line is one that mypy and pyright refuse.
"""

from collections.abc import Mapping

import socialapi
from socialapi import Client, Config, Fields, LimitStatus, OAuth1, Pacer, Slot, TokenCache, types
from socialapi.resources import CustomAudience
from socialapi.types import LineItemChanges, PostDraft


def wrong_names() -> None:
    _ = socialapi.StoredProduct  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    _ = types.Nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


async def wrong_keywords(client: Client, audience: CustomAudience) -> None:
    account = client.ads.account("18ce5")
    client.ads.accounts.list(cout=200)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.catalog("1").products.list(page_size=9)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    account.cards.list(card_ids=["1"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.posts.by_user("1", max_result=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await account.line_items.update("1", nane="Boots")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await audience.upload("crm.csv", pack="single")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await audience.sync("crm.csv")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await client.request("GET", "/2/x", family="ads")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.with_options(timeout=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Config(timeout=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def wrong_values(client: Client, audience: CustomAudience) -> None:
    account = client.ads.account("18ce5")
    client.ads.accounts.list(count="many")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    account.cards.list(card_types="POSTER")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.posts.by_user("1", fields=["lang"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await client.posts.create(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await account.line_items.update("1", pay_by=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await audience.upload("crm.csv", packing="loose")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await audience.upload(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await audience.upload("crm.csv", journal=OneSlot())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await client.request("FETCH", "/2/x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await client.request("GET", "/2/x", api="streams")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.filtered_stream.connect(on_gap=len)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    PostDraft(text=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Fields(post=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def wrong_results(client: Client) -> None:
    post = await client.posts.create("Snow is coming")
    number: int = post.id  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _ = post.txt  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    async for account in client.ads.accounts.list():
        number = account.name  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    for page in client.catalogs.list():  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        _ = page  # pyright: ignore[reportUnknownVariableType]
    post.likes(number)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def wrong_clients(client: Client) -> None:
    Client(credentials=OAuth1("key", "secret", "token", "secret"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client(pacer=OneSlot())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client(clock=len)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client(base_url="https://api.example.com")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.limits["posts"] = 1  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


class OneSlot:
    """A right to send, of somebody who forgot what may be read."""

    def replied(self) -> None: ...

    def unsent(self) -> None: ...


class HalfPacer:
    """Has no `acquire`."""

    def limits(self) -> Mapping[str, LimitStatus]:
        return {}

    def requests_per_second(self, key: str, documented: object) -> float | None:
        return None


class BlockingTokens:
    """Answers at once, where it has to be waited for."""

    def load(self, key: str) -> str | None:
        return None


SLOT: Slot = OneSlot()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
PACER: Pacer = HalfPacer()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
TOKENS: TokenCache = BlockingTokens()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
CHANGES: LineItemChanges = {"nane": "Boots"}  # type: ignore[typeddict-unknown-key]  # pyright: ignore[reportAssignmentType]
