"""Programs with requests-oauthlib."""

import os
from typing import Any

from oauthlib.oauth2 import BackendApplicationClient
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth1Session, OAuth2Session

from tests.clients.programs.scenario import Told, run, visited

# The emulator is on loopback, without TLS.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def app_token(told: Told) -> Any:
    session = OAuth2Session(client=BackendApplicationClient(client_id=told["api_key"]))
    basic = HTTPBasicAuth(told["api_key"], told["api_key_secret"])
    session.fetch_token(f"{told['base_url']}/oauth2/token", auth=basic)
    found = session.get(f"{told['base_url']}/2/tweets", params={"ids": told["post_ids"][0]})
    return {"token": session.token["access_token"], "ids": [each["id"] for each in found.json()["data"]]}


def three_legged(told: Told) -> Any:
    base, app = told["base_url"], (told["api_key"], told["api_key_secret"])
    session = OAuth1Session(*app, callback_uri=told["callback"])
    session.fetch_request_token(f"{base}/oauth/request_token")
    shown = visited(session.authorization_url(f"{base}/oauth/authorize"))
    if told["callback"] == "oob":
        token = session.fetch_access_token(f"{base}/oauth/access_token", verifier=shown)
    else:
        session.parse_authorization_response(shown)
        token = session.fetch_access_token(f"{base}/oauth/access_token")
    posted = session.post(f"{base}/2/tweets", json={"text": "Hello & goodbye"})
    accounts = session.get(f"{base}/ads/12/accounts", params={"q": "north", "count": 1})
    ended = session.post(f"{base}/1.1/oauth/invalidate_token")
    refused = session.get(f"{base}/ads/12/accounts")
    return {
        "name": token["screen_name"],
        "posted": posted.status_code,
        "accounts": [each["name"] for each in accounts.json()["data"]],
        "ended": ended.json() == {"access_token": token["oauth_token"]},
        "refused": [refused.status_code, refused.json()["errors"][0]["code"]],
    }


def form_body(told: Told) -> Any:
    """A form is part of what is signed."""
    session = OAuth1Session(told["api_key"], told["api_key_secret"], told["access_token"], told["access_token_secret"])
    account = f"{told['base_url']}/ads/12/accounts/{told['account_ids'][0]}"
    answer = session.put(account, data={"name": "Northwind & sons, Zürich", "industry_type": "RETAIL"})
    return [answer.status_code, answer.json()["data"]["name"], answer.json()["request"]["params"]["industry_type"]]


def pkce(told: Told) -> Any:
    base, basic = told["base_url"], HTTPBasicAuth(told["api_key"], told["api_key_secret"])
    scope = ["tweet.read", "tweet.write", "users.read", "offline.access"]
    session = OAuth2Session(told["api_key"], redirect_uri=told["callback"], scope=scope, pkce="S256")
    page, _ = session.authorization_url(f"{base}/2/oauth2/authorize")
    token = session.fetch_token(f"{base}/2/oauth2/token", authorization_response=visited(page), auth=basic)
    posted = session.post(f"{base}/2/tweets", json={"text": "By OAuth 2.0"})
    newer = session.refresh_token(f"{base}/2/oauth2/token", refresh_token=token["refresh_token"], auth=basic)
    again = session.post(f"{base}/2/oauth2/token", data={
        "grant_type": "refresh_token", "refresh_token": token["refresh_token"], "client_id": told["api_key"],
    })  # fmt: skip
    return {
        "posted": posted.status_code,
        "newer": newer["access_token"] != token["access_token"],
        "again": [again.status_code, again.json()["error"]],
    }


if __name__ == "__main__":
    run(globals())
