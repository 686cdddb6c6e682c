"""Rules of the advertising documents that both sides share, each computed from the text: asked for by plain HTTP with
a signature of oauthlib's, and through the SDK.
"""

import calendar
import contextlib
import datetime
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import attrs
import orjson
import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import InvalidInput, NotFound, NotReady
from socialapi.resources.audiences import CustomAudience
from socialapi.types import Operation, ProductFilter, ProductSet
from tests.emulator.asking import Asker, Method, Reply, digest, operation

DAY = datetime.timedelta(days=1)
IMAGE, WIDE_VIDEO = "3_1874700001", "7_1874700101"
BAD_TIMES = (
    "T09:00:00 Z",
    "T09:00:00 +00:00",
    "T09:00:00.Z",
    "T0900Z",
    "T09:00+0000",
    "t09:00Z",
    " 09:00:00Z",
    "T24:00Z",
)
GOOD_TIMES = ("T09:00:00Z", "T09:00Z", "T09:00:00.125Z", "T09:00:00+00:00", "T09Z")


def months_from(start: datetime.datetime, months: int) -> datetime.datetime:
    """The same day of a later month, or the last day of a shorter one."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


def written(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


async def ask(raw: Asker, method: Method, path: str, *, host: str = "ads", **query: Any) -> Reply:
    """A signed request about the first account, with its parameters in the query."""
    text = urlencode(query, quote_via=quote)
    return await raw.signed(method, f"/{host}/12/accounts/{raw.account}{path}" + (f"?{text}" if text else ""))


async def send_json(raw: Asker, method: Method, path: str, body: Any) -> Reply:
    headers = {"Content-Type": "application/json"}
    return await raw.signed(method, path, data=orjson.dumps(body), headers=headers)


@pytest.fixture
def audience(client: Client, raw: Asker) -> CustomAudience:
    return client.ads.account(raw.account).custom_audience(raw.audience)


@pytest.fixture
def start(service: Emulator) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(service.state.clock.now(), datetime.UTC)


# The time of effect and the default expiry -------------------------------------------------------------------------


async def test_who_takes_effect_with_the_default_expiry_or_later_needs_another(
    raw: Asker, start: datetime.datetime
) -> None:
    """expires_at is later than effective_at, and 13 months after the request by default (section 4.9)."""
    edge, person = months_from(start, 13), {"email": [digest("ada")]}
    for effective_at in (edge, edge + DAY):
        for kind in ("Update", "Delete"):
            reply = await raw.upload([operation(person, operation_type=kind, effective_at=written(effective_at))])
            (error,) = reply.json["operation_errors"]
            assert (reply.status, error["index"], error["parameter"]) == (400, 0, "params.effective_at")
            assert "13 months" in error["message"]
    last = edge - datetime.timedelta(seconds=1)
    assert (await raw.upload([operation(person, effective_at=written(last))])).status == 200
    times = {"effective_at": written(edge), "expires_at": written(edge + DAY)}
    assert (await raw.upload([operation({"email": [digest("bob")]}, **times)])).status == 200
    raw.emulator.advance((last - start).total_seconds())
    assert raw.members() == {("email", digest("ada"))}
    raw.emulator.advance(1)
    assert raw.members() == {("email", digest("bob"))}


async def test_the_sdk_refuses_it_wherever_it_is_given(
    audience: CustomAudience, service: Emulator, start: datetime.datetime, tmp_path: Path
) -> None:
    late, early = months_from(start, 13) + DAY, months_from(start, 13) - DAY
    person, says = {"email": "ada@example.com"}, "effective_at.*13 months from now"
    with pytest.raises(InvalidInput, match=says):
        await audience.send(Operation.update([person], effective_at=late))
    with pytest.raises(InvalidInput, match=says):
        await audience.upload([person], effective_at=late)
    with pytest.raises(InvalidInput, match=says):
        await audience.sync([person], snapshot=tmp_path / "snapshot", effective_at=late)
    rows = [{**person, "effective_at": written(moment)} for moment in (late, early)]
    for report in (
        await audience.upload(rows, dry_run=True),
        await audience.sync(rows, snapshot=tmp_path / "other", dry_run=True),
    ):
        assert (report.read, report.rejected) == (2, 1)
        assert [(issue.row, issue.field) for issue in report.rejects] == [(1, "effective_at")]
        assert "13 months" in report.rejects[0].reason
    await audience.upload([{**rows[0], "expires_at": written(late + DAY)}], dry_run=True)
    assert not service.requests


# Times -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*BAD_TIMES, *GOOD_TIMES])
async def test_a_time_is_iso_8601_in_one_form(raw: Asker, audience: CustomAudience, text: str) -> None:
    line_item = raw.emulator.seed["line_item_ids"][0]
    year = time.gmtime().tm_year + 1
    moment, status = f"{year}-01-31{text}", 200 if text in GOOD_TIMES else 400
    users = {"email": [digest("ada")]}
    ends = f"{year + 1}-06-01T00:00Z"
    assert (await raw.upload([operation(users, effective_at=moment, expires_at=ends)])).status == status
    assert (await raw.upload([operation(users, expires_at=moment)], path=raw.list_users_path)).status == status
    assert (await ask(raw, "PUT", f"/line_items/{line_item}", end_time=moment)).status == status
    # What Python reads goes out in one form.
    given = {"operation_type": "Update", "params": {"users": [users], "effective_at": moment, "expires_at": ends}}
    with contextlib.suppress(*[InvalidInput] * (status != 200)):
        assert (await audience.send(given)).success_count == 1


def product(**fields: Any) -> dict[str, Any]:
    return {
        "id": "K-1",
        "title": "Kettle",
        "description": "Boils water.",
        "availability": "in stock",
        "condition": "new",
        "price": "19.90 EUR",
        "link": "https://shop.example/1",
        "image_link": "https://shop.example/1.jpg",
        "brand": "Kettles & Co",
        **fields,
    }


async def test_a_sale_lasts_from_one_strict_time_to_another(raw: Asker, client: Client) -> None:
    """Two ISO 8601 times with offset (catalogs section 4.7): requests have the strict forms, feeds others too."""
    catalog = raw.emulator.seed["product_catalog_ids"][0]
    path = f"/ads/12/product_catalogs/{catalog}/products"
    for end in ("T11:07+0100", *BAD_TIMES):
        window = f"2026-01-01T11:07+01:00/2026-02-01{end}"
        one = product(sale_price_effective_date=window)
        (result,) = (await send_json(raw, "PUT", path, {"products": [one]})).data["products_response"]
        assert (result["status"], result["errors"][0]["field"]) == ("ERROR", "sale_price_effective_date"), window
        with pytest.raises(InvalidInput, match="sale_price_effective_date"):
            await client.catalog(catalog).products.put([one])
    row = product(sale_price_effective_date="2026-01-01 11:07 +0100/2026-02-01T1107+0100")
    report = await client.catalog(catalog).products.upsert([row])
    assert (report.accepted, report.rejected) == (1, 0)
    held = raw.emulator.products(catalog)["K-1"]["sale_price_effective_date"]
    assert held == "2026-01-01T11:07+01:00/2026-02-01T11:07+01:00"


# Cards and posts ---------------------------------------------------------------------------------------------------


async def test_the_value_of_a_call_to_action_may_stand_alone(raw: Asker, client: Client) -> None:
    user_id = raw.emulator.seed["user_ids"][0]
    given: Any = {"as_user_id": user_id, "text": "Look", "video_cta_value": "https://shop.example"}
    assert (await ask(raw, "POST", "/tweet", **given)).status == 200
    assert (await client.ads.account(raw.account).posts.create(**given)).text == "Look"


def as_texts(record: dict[str, Any]) -> dict[str, str]:
    """A record as a client sends it back in a query."""
    return {
        name: ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value
        for name, value in record.items()
        if value not in (None, [])
    }


# Whole records ------------------------------------------------------------------------------------------------------


async def test_a_record_that_is_sent_back_changes_what_can_be_changed(raw: Asker) -> None:
    for line_item in raw.emulator.seed["line_item_ids"][:13]:
        read = (await ask(raw, "PUT", f"/line_items/{line_item}")).data
        texts = as_texts(read)
        assert {"id", "objective", "currency", "created_at", "deleted"} <= texts.keys()
        sent = {**texts, "name": "Huts & more", "objective": "OTHER", "deleted": "true", "currency": "JPY"}
        reply = await ask(raw, "PUT", f"/line_items/{line_item}", **sent)
        assert reply.status == 200, reply.text
        assert {**reply.data, "updated_at": ""} == {**read, "updated_at": "", "name": "Huts & more"}
    reply = await ask(raw, "PUT", f"/line_items/{line_item}", nothing_like_it="1")
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (400, "nothing_like_it")
    medium = (await ask(raw, "GET", f"/media_library/{IMAGE}")).data
    reply = await ask(raw, "PUT", f"/media_library/{IMAGE}", **{**as_texts(medium), "name": "Peak"})
    assert reply.data["name"] == "Peak", reply.text
    card = (await ask(raw, "GET", "/cards")).data[0]
    reply = await send_json(raw, "PUT", f"/ads/12/accounts/{raw.account}/cards/{card['id']}", {**card, "name": "Peak"})
    assert reply.data["name"] == "Peak", reply.text


# The sandbox --------------------------------------------------------------------------------------------------------


async def test_a_whole_program_runs_against_the_sandbox(raw: Asker, service: Emulator) -> None:
    config = attrs.evolve(service.config, ads_url=service.config.ads_sandbox_url)
    async with Client(config, service.credentials) as client:
        account = await client.ads.sandbox.create_account()
        assert account.id in [each.id for each in await client.ads.accounts.list().collect()]
        assert (await client.ads.accounts.update(account.id, name="Trial")).name == "Trial"
        mine = client.ads.account(raw.account)
        assert (await mine.custom_audience(raw.audience).upload([{"email": "ada@example.com"}])).accepted == 1
        assert (await client.catalog(service.seed["product_catalog_ids"][0]).products.list().first()).data
    assert {each.path.split("/")[1] for each in service.requests} == {"ads-sandbox"}
    assert len(raw.members()) == 1
    assert (await ask(raw, "GET", "", host="ads-sandbox")).data == (await ask(raw, "GET", "")).data
    assert (await ask(raw, "GET", "/nothing", host="ads-sandbox")).status == 404


# Product sets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", ["price", "sale_price"])
@pytest.mark.parametrize("value", ["20", 20, "20.00", "EUR", "20 eur", "20EUR"])
async def test_a_filter_by_price_has_a_currency(raw: Asker, client: Client, attribute: str, value: Any) -> None:
    catalog = raw.emulator.seed["product_catalog_ids"][0]
    one = {"attribute": attribute, "operator": "LESS_THAN", "value": value}
    path = f"/ads/12/product_catalogs/{catalog}/product_sets"
    reply = await send_json(raw, "POST", path, {"name": "Cheap", "type": "FILTERED", "filters": [one]})
    (error,) = reply.json["errors"]
    assert (reply.status, error["parameter"], "20 USD" in error["message"]) == (400, "filters[0].value", True)
    with pytest.raises(InvalidInput, match="currency"):
        await client.catalog(catalog).product_sets.create("Cheap", "FILTERED", filters=one)


class Passing:
    """A clock whose waits move the emulator's."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.sleeps: list[float] = []
        self.passed = 0.0

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.passed += seconds
        self.emulator.advance(seconds)


async def test_a_filtered_set_is_waited_for(service: Emulator) -> None:
    clock, seen = Passing(service), list[ProductSet]()
    async with Client(service.config, service.credentials, clock=clock) as client:
        sets = client.catalog(service.seed["product_catalog_ids"][0]).product_sets
        made = await sets.create("Cheap", "FILTERED", filters=ProductFilter("price", "LESS_THAN", "100 EUR"))
        with pytest.raises(NotReady, match=f"product set {made.id} was not ready within 5 s") as late:
            await sets.wait(made.id, timeout_seconds=5)
        assert isinstance(late.value, TimeoutError)
        assert late.value.last == made
        assert sum(clock.sleeps) == 5
        clock.sleeps.clear()
        done = await sets.wait(made.id, on_progress=seen.append)
        assert (done.processing_status, len(done.product_ids) > 0) == ("DONE", True)
        assert clock.sleeps == [1, 2, 4, 8, 15]
        assert seen == [made] * 5
        assert await sets.wait(made.id, timeout_seconds=0) == done
        with pytest.raises(NotFound):
            await sets.wait("nosuch")

        async def awaited(one: ProductSet) -> None: ...

        with pytest.raises(InvalidInput, match="plain function"):
            await sets.wait(made.id, on_progress=awaited)  # type: ignore[arg-type]  # what is tested
