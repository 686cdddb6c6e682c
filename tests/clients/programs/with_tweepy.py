"""Programs with tweepy, whose hosts are constants."""

import threading
from typing import Any

import tweepy

from tests.clients.programs.scenario import Told, reached, redirect_requests, run, visited

HOST = "https://api.twitter.com"


def _client(told: Told, **options: Any) -> tweepy.Client:
    redirect_requests(told, HOST)
    return tweepy.Client(
        **{
            "bearer_token": told["bearer_token"],
            "consumer_key": told["api_key"],
            "consumer_secret": told["api_key_secret"],
            "access_token": told["access_token"],
            "access_token_secret": told["access_token_secret"],
            **options,
        }
    )


def app_token(told: Told) -> Any:
    redirect_requests(told, HOST)
    return tweepy.OAuth2AppHandler(told["api_key"], told["api_key_secret"])._bearer_token


def lookup(told: Told) -> Any:
    found = _client(told).get_tweets(
        [*told["post_ids"][:40], "17"],
        expansions=["author_id", "attachments.media_keys", "referenced_tweets.id"],
        tweet_fields=["author_id", "created_at", "public_metrics", "entities"],
        user_fields=["verified", "public_metrics"],
        media_fields=["duration_ms", "variants"],
    )
    return {
        "ids": [str(tweet.id) for tweet in found.data],
        "authors": sorted({str(tweet.author_id) for tweet in found.data}),
        "created": found.data[0].created_at.isoformat(),
        "users": sorted(str(user.id) for user in found.includes["users"]),
        "media": sorted(medium.media_key for medium in found.includes["media"]),
        "missing": [(error["value"], error["type"].rpartition("/")[2]) for error in found.errors],
    }


def paging(told: Told) -> Any:
    pages = tweepy.Paginator(_client(told).get_users_tweets, told["user_ids"][0], max_results=20)
    return [str(tweet.id) for tweet in pages.flatten(limit=70)]


def post(told: Told) -> Any:
    client = _client(told)
    made = client.create_tweet(text="Grüße & more 🌊")
    answer = client.create_tweet(text="An answer", in_reply_to_tweet_id=made.data["id"])
    found = client.get_tweets([answer.data["id"]], tweet_fields=["referenced_tweets", "conversation_id"]).data[0]
    return {
        "made": made.data["id"],
        "text": made.data["text"],
        "replies_to": [str(each.id) for each in found.referenced_tweets],
        "conversation": str(found.conversation_id),
    }


def rules(told: Told) -> Any:
    redirect_requests(told, HOST)
    stream = tweepy.StreamingClient(told["bearer_token"])
    added = stream.add_rules([tweepy.StreamRule("cats has:images", tag="cats"), tweepy.StreamRule("dogs")])
    listed = stream.get_rules()
    again = stream.add_rules(tweepy.StreamRule("dogs"))
    removed = stream.delete_rules([rule.id for rule in listed.data])
    return {
        "added": [(rule.value, rule.tag) for rule in added.data],
        "summary": added.meta["summary"],
        "listed": [(rule.value, rule.tag) for rule in listed.data],
        "again": [error["type"].rpartition("/")[2] for error in again.errors],
        "removed": removed.meta["summary"],
        "left": stream.get_rules().data or [],
    }


class _Stream(tweepy.StreamingClient):  # type: ignore[misc]  # it is not installed where types are checked
    """Ends with the first post."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, max_retries=0)
        self.got: list[Any] = []
        self.connected = threading.Event()

    def on_connect(self) -> None:
        self.connected.set()

    def on_response(self, response: Any) -> None:
        rule = response.matching_rules[0]
        users = [user.username for user in response.includes["users"]]
        self.got.append({"text": response.data.text, "tag": rule.tag, "users": users})
        self.disconnect()


def stream(told: Told) -> Any:
    redirect_requests(told, HOST)
    stream = _Stream(told["bearer_token"])
    stream.add_rules(tweepy.StreamRule("snow", tag=told["tag"]))
    thread = stream.filter(threaded=True, expansions="author_id")
    stream.connected.wait(timeout=20)
    reached("connected")
    thread.join(timeout=20)
    return stream.got


def three_legged(told: Told) -> Any:
    redirect_requests(told, HOST)
    handler = tweepy.OAuth1UserHandler(told["api_key"], told["api_key_secret"], callback=told["callback"])
    shown = visited(handler.get_authorization_url(signin_with_twitter=told["signs_in"]).replace(HOST, told["base_url"]))
    token, secret = handler.get_access_token(shown)
    client = _client(told, access_token=token, access_token_secret=secret)
    return client.create_tweet(text="Signed in").data["text"]


def pkce(told: Told) -> Any:
    redirect_requests(told, HOST)
    handler = tweepy.OAuth2UserHandler(
        client_id=told["api_key"],
        redirect_uri=told["callback"],
        scope=["tweet.read", "tweet.write", "users.read", "offline.access"],
        client_secret=told["api_key_secret"],
    )
    page = handler.get_authorization_url().replace("https://twitter.com/i/oauth2", told["base_url"] + "/2/oauth2")
    # oauthlib wants https, which a listener on loopback does not have.
    token = handler.fetch_token(visited(page).replace("http://", "https://"))
    client = tweepy.Client(token["access_token"])
    newer = handler.refresh_token(f"{HOST}/2/oauth2/token", auth=handler.auth)
    return {
        "scope": sorted(token["scope"]),
        "text": client.create_tweet(text="By OAuth 2.0", user_auth=False).data["text"],
        "newer": newer["access_token"] != token["access_token"],
    }


def refusals(told: Told) -> Any:
    client, stranger = _client(told), _client(told, bearer_token="wrong")
    calls = {
        "nothing there": lambda: client.get_user(username="nobody"),
        "wrong token": lambda: stranger.get_tweets(["17"]),
        "invalid": lambda: client.get_tweets(["17"], tweet_fields=["nonsense"]),
        "blank": lambda: client.create_tweet(text=" "),
        "app alone": lambda: client.create_tweet(text="Hello", user_auth=False),
    }
    return {name: _refused(call) for name, call in calls.items()}


def limit(told: Told) -> Any:
    client = _client(told)
    return [_refused(lambda: client.get_tweets(["17"])) for _ in range(3)]


def _refused(call: Any) -> Any:
    try:
        call()
    except tweepy.HTTPException as refused:
        reset = getattr(refused, "reset_time", None)
        return [type(refused).__name__, refused.api_codes, refused.api_messages, reset]
    return None


if __name__ == "__main__":
    run(globals())
