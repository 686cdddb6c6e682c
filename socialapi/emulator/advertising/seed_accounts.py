"""The accounts of the seed data and their apps."""

from typing import Any, Final

from socialapi.emulator.advertising.records import Record

FIRST: Final = "18ce54d4x5t"
SECOND: Final = "18ce54u7r2k"
BOOKS: Final = "18ce55a9q0m"

CREATED_AT: Final = "2023-03-14T09:26:53Z"

_FEATURES: Final = ["REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP"]

FUNDING: Final = {FIRST: ("lygyi", "EUR"), SECOND: ("lygyj", "EUR"), BOOKS: ("lygz0", "GBP")}
"""The funding instrument of each account, from which its campaigns have their currency."""


def _account(account_id: str, name: str, business: tuple[str, str], **other: Any) -> Record:
    return {
        "id": account_id,
        "name": name,
        "business_name": business[1],
        "business_id": business[0],
        "timezone": "Europe/Berlin",
        "timezone_switch_at": "2023-03-13T23:00:00Z",
        "approval_status": "ACCEPTED",
        "industry_type": "RETAIL",
        "created_at": CREATED_AT,
        "updated_at": "2024-10-02T07:11:40Z",
        "deleted": False,
        "features": list(_FEATURES),
        "keeps_history": True,
        "is_sandbox": False,
        **other,
    }


_NORTHWIND: Final = ("4503599", "Northwind Group")


def accounts() -> list[Record]:
    """The first two share a business and are the first user's; the third is the second user's."""
    return [
        _account(FIRST, "Northwind Outdoor", _NORTHWIND, features=[*_FEATURES, "PROMOTED_MEDIA_POLLS"]),
        _account(SECOND, "Northwind Home", _NORTHWIND, created_at="2023-04-02T12:00:00Z"),
        _account(BOOKS, "Harbour Books", ("4503701", "Harbour Media"), timezone="Europe/London", industry_type="MEDIA"),
    ]


_APPS: Final = (
    ("7kzxp", "com.northwind.shop", "ANDROID", True, "northwind://product/{id}", False),
    ("7kzxq", "1234567890", "IOS", True, "northwind://product/{id}", False),
    ("7kzxr", "1234567901", "IPAD", False, None, False),
    ("7kzxs", "com.northwind.trails", "ANDROID", False, "trails://route/{id}", False),
    ("7kzxt", "com.northwind.beta", "ANDROID", False, None, True),
)


def apps() -> list[Record]:
    """The apps of the first account; one is deleted."""
    return [
        {
            "id": app_id,
            "app_store_identifier": store_id,
            "conversion_tracking_enabled": tracked,
            "deep_link_pattern": link,
            "os_type": os_type,
            "created_at": f"2023-05-0{number}T08:00:00Z",
            "updated_at": f"2024-06-0{number}T08:00:00Z",
            "deleted": deleted,
        }
        for number, (app_id, store_id, os_type, tracked, link, deleted) in enumerate(_APPS, 1)
    ]
