"""A path that was written out has the limit that is documented for it."""

import pytest

from socialapi.routes.audiences import CUSTOM_AUDIENCE_UPLOADS
from socialapi.routes.route import ADS, ADS_SANDBOX
from socialapi.routes.undeclared import documented_limit, label_of

PATH = "/12/accounts/18ce%2F5/custom_audiences/1nmth/users"


def test_an_upload_by_its_path_is_counted_with_the_other_uploads_of_the_account() -> None:
    limit, counted_by = documented_limit("POST", ADS, PATH)
    assert limit is CUSTOM_AUDIENCE_UPLOADS
    assert counted_by == {"account_id": "18ce/5", "custom_audience_id": "1nmth"}


def test_what_is_not_documented_has_no_limit() -> None:
    assert documented_limit("GET", ADS, PATH) == (None, {})
    assert documented_limit("POST", ADS_SANDBOX, PATH) == (None, {})
    assert documented_limit("POST", ADS, PATH + "/more") == (None, {})


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/2/tweets", "/2/tweets"),
        ("/2/users/2244994945/tweets", "/2/users/*/tweets"),
        ("/2/users/by/username/jane", "/2/users/by/username/*"),
        ("/2/users/by/email/jane.doe%40example.org", "/2/users/by/email/*"),
        ("/12/accounts/18ce54d4x5t/line_items", "/12/accounts/*/line_items"),
    ],
)
def test_a_path_is_shown_without_what_may_be_personal(path: str, label: str) -> None:
    assert label_of(path) == label
