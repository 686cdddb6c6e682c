"""Reading posts: by their ids, and of a user (platform section 4.3)."""

from typing import Any, Final

from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, answer, missing
from socialapi.emulator.platform.endpoint import serves
from socialapi.emulator.platform.paging import cut
from socialapi.emulator.platform.post_answers import may_read, not_authorized, posts_answer
from socialapi.emulator.platform.post_store import PostRecord
from socialapi.emulator.platform.selection import selection
from socialapi.routes import platform as routes

DEFAULT_PAGE: Final = 10
READ_SCOPES: Final = ("tweet.read",)


@serves(routes.POSTS, scopes=READ_SCOPES)
async def look_up_posts(call: Call, arguments: Arguments) -> Answer:
    """The posts in the order of their ids, each of them once, and a problem for each that cannot be had."""
    selected = selection(arguments.query)
    posts: list[PostRecord] = []
    errors: list[dict[str, Any]] = []
    for post_id in dict.fromkeys(arguments.query["ids"]):
        post = call.state.platform.posts.get(post_id)
        if post is None:
            errors.append(missing(call.service.problem_base_url, "tweet", "ids", post_id))
        elif not may_read(call, call.state.users[post.author_id]):
            errors.append(not_authorized(call, "ids", post_id, "tweet"))
        else:
            posts.append(post)
    return posts_answer(call, posts, selected, errors=errors) if posts else answer({"errors": errors})


@serves(routes.USER_POSTS, scopes=READ_SCOPES)
async def posts_of_user(call: Call, arguments: Arguments) -> Answer:
    """A page of a user's posts, the newest first."""
    selected = selection(arguments.query)
    user_id = arguments.path["id"]
    user = call.state.users.get(user_id)
    if user is None:
        return answer({"errors": [missing(call.service.problem_base_url, "user", "id", user_id)]})
    if not may_read(call, user):
        return answer({"errors": [not_authorized(call, "id", user_id, "user")]})
    posts = call.state.platform.posts
    page = cut(call, arguments, posts.timeline(user_id), newest_first=True, default=DEFAULT_PAGE)
    return posts_answer(call, posts.known(page.keys), selected, meta=page.meta)
