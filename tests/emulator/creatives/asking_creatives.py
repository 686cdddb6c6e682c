"""What requests about creatives have in common."""

from typing import Any

import orjson

from tests.emulator.advertising.asking_ads import Ads
from tests.emulator.asking import Method, Reply

# Media of the seed data.
IMAGE = "3_1874700001"
OTHER_IMAGE = "3_1874700002"
VIDEO = "7_1874700101"
OTHER_VIDEO = "7_1874700102"
GIF = "16_1874700201"
TALL_VIDEO = "7_1874720000"
SQUARE_VIDEO = "7_1874720001"
JUST_WIDE_IMAGE = "3_1874710000"
NARROW_IMAGE = "3_1874710001"
SQUARE_IMAGE = "3_1874710002"
UPLOADED_VIDEO = "7_1874750001"
UPLOADED_PREROLL = "13_1874750002"
UPLOADED_IMAGE = "3_1874750003"
UPLOADED_GIF = "16_1874750005"
OF_SOMEBODY_ELSE = "3_1874750101"


def second(ads: Ads) -> Ads:
    """The same user about the second account."""
    return Ads(ads.ask, account=ads.ask.emulator.seed["account_ids"][1])


async def json(ads: Ads, method: Method, rest: str, body: Any) -> Reply:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return await ads.ask.signed(method, ads.path(rest), data=data, headers={"Content-Type": "application/json"})
