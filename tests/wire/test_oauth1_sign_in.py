"""Signing the steps of a sign-in, compared with another library and with oauthlib's own way."""

from typing import Any, Final, cast

import pytest
from authlib.oauth1 import ClientAuth
from oauthlib.oauth1 import Client

from socialapi.credentials import OAuth1
from socialapi.wire.oauth1 import OAuth1Signer, SignIn
from socialapi.wire.request import FORM

NONCE: Final = "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"
URL: Final = "https://api.example/oauth/request_token?service_auth_access_type=read&empty=&b5=%3D%253D&a3=2%20q"
BEGIN: Final = SignIn(
    "cChZNFj6T5R0TigYB9yd1w", "L8qq9PZyRg6ieKGEKhZolGC0vJWLw8iEJ88DRdyOg", "http://localhost/sign in/"
)
FINISH: Final = SignIn("key", "secret&more=", request_token="t/1", request_token_secret="s=1", verifier="uw7 NjWH+")
NOW: Final = 1_318_467_427
USER: Final = OAuth1("key", "secret", "token", "token+secret/ü")


def fields(header: str) -> dict[str, str]:
    pairs = (item.strip().partition("=") for item in header.removeprefix("OAuth ").split(","))
    return {name: value for name, _, value in pairs}


def token_fields(credential: SignIn | OAuth1) -> dict[str, str | None]:
    """As authlib names them."""
    if isinstance(credential, OAuth1):
        return {"token": credential.access_token, "token_secret": credential.access_token_secret}
    return {
        "token": credential.request_token,
        "token_secret": credential.request_token_secret,
        "redirect_uri": credential.callback,
        "verifier": credential.verifier,
    }


class Frozen(ClientAuth):  # type: ignore[misc]  # authlib ships no types
    """authlib's signer with a nonce and a time of our choice."""

    def get_oauth_params(self, nonce: str, timestamp: str) -> Any:
        return super().get_oauth_params(NONCE, str(NOW))


@pytest.mark.parametrize("credential", [BEGIN, FINISH, USER])
@pytest.mark.parametrize("form", [None, "status=Hello%20Ladies%20%2B%20Gentlemen&a3=b&a3=a"])
def test_two_libraries_sign_alike(credential: SignIn | OAuth1, form: str | None) -> None:
    auth = Frozen(credential.api_key, credential.api_key_secret, **token_fields(credential))
    headers = {"Content-Type": FORM} if form else {}
    _, signed, _ = auth.sign("POST", URL, headers, form or "")
    made = OAuth1Signer(credential).header("POST", URL, form=form, nonce=NONCE, timestamp=NOW)
    assert fields(made) == fields(signed["Authorization"])


@pytest.mark.parametrize("url", ["https://api.example/2/x", "http://127.0.0.1:8080/1/a%2Fb?x=%2F~-._&y=%C3%BC&x=1"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_the_signature_is_the_one_that_oauthlib_makes_by_itself(method: str, url: str) -> None:
    plain = Client("key", "secret", "token", "token+secret/ü", nonce=NONCE, timestamp=str(NOW))
    _, signed, _ = plain.sign(url, cast("Any", method))
    assert OAuth1Signer(USER).header(method, url, nonce=NONCE, timestamp=NOW) == signed["Authorization"]


def test_the_first_step_has_these_very_bytes() -> None:
    made = OAuth1Signer(BEGIN).header("POST", "https://api.example/oauth/request_token", nonce=NONCE, timestamp=NOW)
    assert made == (
        f'OAuth oauth_nonce="{NONCE}", oauth_timestamp="1318467427", oauth_version="1.0", '
        'oauth_signature_method="HMAC-SHA1", oauth_consumer_key="cChZNFj6T5R0TigYB9yd1w", '
        'oauth_callback="http%3A%2F%2Flocalhost%2Fsign%20in%2F", oauth_signature="c4dN42Rkp66aDDkxKYx3mFWO%2F4I%3D"'
    )


def test_no_part_of_a_sign_in_is_shown() -> None:
    assert repr(FINISH) == "SignIn()"
