"""Runs a program of a page that is written with tweepy, xdk or twitter-ads."""

import contextlib
import io
from typing import Any

from tests.clients.programs.scenario import Told, redirect_requests, run

HOSTS = ("https://api.twitter.com", "https://api.x.com")


def program(told: Told) -> Any:
    """Returns what the program printed."""
    import twitter_ads

    twitter_ads.API_VERSION = "12"  # read when its modules are imported
    from twitter_ads.http import Request

    Request._DEFAULT_DOMAIN = told["ads_url"]
    redirect_requests(told, *HOSTS)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(told["source"], told["page"], "exec"), {"__name__": "__main__"})
    return printed.getvalue()


if __name__ == "__main__":
    run(globals())
