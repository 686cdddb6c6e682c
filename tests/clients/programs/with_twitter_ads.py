"""Programs with twitter-ads, whose hosts and version are constants."""

import hashlib
from typing import Any

import twitter_ads

twitter_ads.API_VERSION = "12"  # read by the modules below

from twitter_ads.account import Account  # noqa: E402
from twitter_ads.audience import CustomAudience  # noqa: E402
from twitter_ads.campaign import LineItem  # noqa: E402
from twitter_ads.client import Client  # noqa: E402
from twitter_ads.creative import Card, MediaLibrary, PollCard  # noqa: E402
from twitter_ads.cursor import Cursor  # noqa: E402
from twitter_ads.error import Error  # noqa: E402
from twitter_ads.http import Request  # noqa: E402

from tests.clients.programs.scenario import Told, run  # noqa: E402

WEBSITE = {"type": "WEBSITE", "url": "https://huts.example"}


def _client(told: Told, **options: Any) -> Client:
    Request._DEFAULT_DOMAIN, Request._SANDBOX_DOMAIN = told["ads_url"], told["ads_sandbox_url"]
    secrets = {**told, **options}
    names = ("api_key", "api_key_secret", "access_token", "access_token_secret")
    return Client(*(secrets[name] for name in names))


def _account(told: Told) -> Account:
    return _client(told).accounts(told["account_ids"][0])


def _known(cls: Any, account: Account, record_id: str) -> Any:
    """A record that is known by its id: what is read and what is changed need not go together."""
    return cls(account).from_response({"id": record_id})


def accounts(told: Told) -> Any:
    client = _client(told)
    found = Account.all(client, count=1, with_total_count="false", sort_by="name-asc")
    account = client.accounts(told["account_ids"][0])
    return {
        "names": [each.name for each in found],
        "exhausted": found.exhausted,
        "one": account.name,
        "created": account.created_at.year if hasattr(account.created_at, "year") else account.created_at[:4],
        "features": account.features(),
    }


def line_items(told: Told) -> Any:
    account = _account(told)
    item = _known(LineItem, account, told["line_item_ids"][0])
    changes = {"name": "Huts & more", "entity_status": "PAUSED"}
    answer = Request(account.client, "put", LineItem.RESOURCE.format(account_id=account.id, id=item.id), params=changes)
    item.from_response(answer.perform().body["data"])
    changed = [item.name, item.entity_status, item.currency]
    item.delete()
    return {"changed": changed, "deleted": item.deleted, "again": _refused(item.delete)}


def saved_line_item(told: Told) -> Any:
    """`save` sends everything that was read, the fields that cannot be changed included."""
    item = _known(LineItem, _account(told), told["line_item_ids"][0])
    item.name = "Huts & more"
    item.save()
    return item.name


def cards(told: Told) -> Any:
    account = _account(told)
    card = Card(account)
    card.name = "Huts"
    media = {"type": "MEDIA", "media_key": told["media_keys"][0]}
    card.components = [media, {"type": "DETAILS", "title": "Huts", "destination": WEBSITE}]
    card.save()
    made = card.card_uri
    card.name = "More huts"
    card.save()
    read = Card.load(account, card.id)
    listed = [each.name for each in Card.all(account, q="More", count=2)]
    poll = PollCard.create(account, name="Which?", duration_in_minutes=60, first_choice="Hut", second_choice="Tent")
    return {
        "uri": made == f"card://{card.id}",
        "read": read.name,
        "components": [each["type"] for each in read.components],
        "listed": listed,
        "poll": [poll.first_choice, poll.duration_in_minutes, poll.card_type],
    }


def media_library(told: Told) -> Any:
    account = _account(told)
    medium = MediaLibrary(account)
    medium.media_key, medium.name = told["uploaded_media_keys"][0], "Summit"
    medium.add()
    added = [medium.media_key, medium.name, medium.media_type]
    path = MediaLibrary.RESOURCE.format(account_id=account.id, id=medium.media_key)
    medium.from_response(Request(account.client, "put", path, params={"title": "Up there"}).perform().body["data"])
    pages = MediaLibrary.all(account, count=5)
    keys = [each.media_key for each in pages]
    medium.delete()
    return {
        "added": added,
        "title": medium.title,
        "listed": medium.media_key in keys,
        "unique": len(set(keys)) == len(keys) > 5,
        "deleted": medium.deleted,
    }


def updated_medium(told: Told) -> Any:
    medium = MediaLibrary(_account(told))
    medium.media_key = told["uploaded_media_keys"][0]
    medium.add()
    medium.title = "Up there"
    medium.update()
    return medium.title


def permissions(told: Told) -> Any:
    client = _client(told)
    first, second = told["account_ids"]
    path = f"/5/accounts/{first}/tailored_audiences/{told['tailored_audience_ids'][0]}/permissions"
    given = {"granted_account_id": second, "permission_level": "READ_ONLY"}
    made = Request(client, "post", path, params=given).perform().body["data"]
    listed = [each["id"] for each in Cursor(dict, Request(client, "get", path))]
    ended = Request(client, "delete", f"{path}/{made['id']}").perform().body["data"]
    return {"level": made["permission_level"], "listed": listed == [made["id"]], "deleted": ended["deleted"]}


def audience_users(told: Told) -> Any:
    audience = _known(CustomAudience, _account(told), told["custom_audience_ids"][0])
    digests = [hashlib.sha256(f"person {number}".encode()).hexdigest() for number in range(2)]
    users = [{"email": [digests[0]]}, {"phone_number": [digests[1]]}]
    counts = audience.users([{"operation_type": "Update", "params": {"users": users}}])
    gone = audience.users([{"operation_type": "Delete", "params": {"users": users[:1]}}])
    return {"counts": counts, "gone": gone, "digests": digests}


def targeted(told: Told) -> Any:
    audience = _known(CustomAudience, _account(told), told["custom_audience_ids"][0])
    return [[each.campaign_id, [item["id"] for item in each.line_items]] for each in audience.targeted()]


def sandbox(told: Told) -> Any:
    client = _client(told)
    client.sandbox = True
    account = Account(client).from_response(Request(client, "post", "/12/accounts").perform().body["data"])
    ended = Request(client, "delete", f"/12/accounts/{account.id}").perform().body["data"]
    return {"made": bool(account.id), "deleted": ended["deleted"]}


def refusals(told: Told) -> Any:
    account, stranger = _account(told), _client(told, access_token="wrong")
    item = LineItem.RESOURCE.format(account_id=account.id, id=told["line_item_ids"][0])
    change = Request(account.client, "put", item, params={"goal": "NONSENSE", "bid_strategy": "LOUD"})
    calls = {
        "nothing there": lambda: Card.load(account, "nonsense"),
        "wrong token": stranger.accounts,
        "invalid": change.perform,
        "not one's own": lambda: _client(told).accounts(told["unassociated_account_ids"][0]),
    }
    return {name: _refused(call) for name, call in calls.items()}


def limit(told: Told) -> Any:
    client = _client(told)
    return [_refused(client.accounts) for _ in range(3)]


def _refused(call: Any) -> Any:
    try:
        call()
    except Error as refused:
        codes = [each["code"] for each in refused.details or ()]
        return [type(refused).__name__, codes, getattr(refused, "reset_at", None)]
    return None


if __name__ == "__main__":
    run(globals())
