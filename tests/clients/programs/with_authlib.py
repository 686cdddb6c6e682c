"""Programs with authlib, over requests and over httpx."""

import asyncio
from typing import Any

from authlib.common.security import generate_token
from authlib.integrations.httpx_client import AsyncOAuth1Client, AsyncOAuth2Client
from authlib.integrations.requests_client import OAuth1Session, OAuth2Session

from tests.clients.programs.scenario import Told, run, visited

SCOPE = "tweet.read tweet.write users.read offline.access"


def app_token(told: Told) -> Any:
    session = OAuth2Session(told["api_key"], told["api_key_secret"])
    token = session.fetch_token(f"{told['base_url']}/oauth2/token", grant_type="client_credentials")
    rules = session.get(f"{told['base_url']}/2/tweets/search/stream/rules")
    return {"token": token["access_token"], "rules": rules.status_code}


def three_legged(told: Told) -> Any:
    base = told["base_url"]
    session = OAuth1Session(
        told["api_key"], told["api_key_secret"], redirect_uri=told["callback"], force_include_body=True
    )
    begun = session.fetch_request_token(f"{base}/oauth/request_token")
    # `create_authorization_url` would add the callback, which is never sent to this page.
    shown = visited(f"{base}/oauth/authenticate?oauth_token={begun['oauth_token']}")
    if told["callback"] == "oob":
        token = session.fetch_access_token(f"{base}/oauth/access_token", verifier=shown)
    else:
        session.parse_authorization_response(shown)
        token = session.fetch_access_token(f"{base}/oauth/access_token")
    return {"name": token["screen_name"], "posted": session.post(f"{base}/2/tweets", json={"text": "Hi"}).status_code}


def pkce(told: Told) -> Any:
    return asyncio.run(_pkce(told))


async def _pkce(told: Told) -> Any:
    base, verifier = told["base_url"], generate_token(48)
    async with AsyncOAuth2Client(
        told["api_key"],
        told["api_key_secret"],
        scope=SCOPE,
        redirect_uri=told["callback"],
        code_challenge_method="S256",
        token_endpoint=f"{base}/2/oauth2/token",
    ) as client:
        page, state = client.create_authorization_url(f"{base}/2/oauth2/authorize", code_verifier=verifier)
        back = await asyncio.to_thread(visited, page)
        token = await client.fetch_token(authorization_response=back, code_verifier=verifier, state=state)
        posted = await client.post(f"{base}/2/tweets", json={"text": "By OAuth 2.0"})
        newer = await client.refresh_token(f"{base}/2/oauth2/token", refresh_token=token["refresh_token"])
        return {"posted": posted.status_code, "newer": newer["access_token"] != token["access_token"]}


def signed_json(told: Told) -> Any:
    return asyncio.run(_signed_json(told))


async def _signed_json(told: Told) -> Any:
    digest = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
    operations = [{"operation_type": "Update", "params": {"users": [{"email": [digest]}, {"handle": [digest]}]}}]
    # Otherwise authlib signs the body and leaves it out.
    names = ("api_key", "api_key_secret", "access_token", "access_token_secret")
    async with AsyncOAuth1Client(*(told[name] for name in names), force_include_body=True) as client:
        path = f"/ads/12/accounts/{told['account_ids'][0]}/custom_audiences/{told['custom_audience_ids'][0]}/users"
        answer = await client.post(told["base_url"] + path, json=operations)
        return [answer.status_code, answer.json().get("data")]


if __name__ == "__main__":
    run(globals())
