"""Posts."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from typing import Any

from socialapi.errors import ApiError
from socialapi.models.includes import Includes
from socialapi.models.pages import Page
from socialapi.models.posts import Post, PostDraft
from socialapi.models.queries import MAX_LOOKUP_IDS, ExcludedPosts, Fields, selected_by
from socialapi.models.validation import Faults
from socialapi.resources.arguments import check_argument
from socialapi.resources.resource import Resource, unless_empty, without_none
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager
from socialapi.wire.paging import Position
from socialapi.wire.request import id_list, path_id


class Posts(Resource):
    """Reading and creating posts."""

    async def lookup(self, ids: str | int | Iterable[str | int], *, fields: Fields | None = None) -> Page[Post]:
        """Returns posts by id, in the order of the ids and without duplicates (`GET /2/tweets`).

        Ids that do not exist are in `errors`. Splits more than 100 ids into several requests and merges the responses.
        Raises InvalidInput if no id is given, and ApiError with the problems if none of the posts is available.
        """
        wanted = list(dict.fromkeys(id_list("ids", ids)))
        selected = selected_by(fields)
        pages: list[Page[Post]] = []
        fruitless: list[ApiError] = []
        for start in range(0, max(1, len(wanted)), MAX_LOOKUP_IDS):
            query = {"ids": wanted[start : start + MAX_LOOKUP_IDS], **selected}
            try:
                page = await self._call(routes.POSTS, query=query)
            except ApiError as refusal:
                if refusal.status != HTTPStatus.OK:
                    raise
                # None of the posts in this part exists. The other parts may still succeed.
                fruitless.append(refusal)
                page = Page(errors=(*refusal.problems, *refusal.errors))
            pages.append(page)
        if len(fruitless) == len(pages):
            first = fruitless[0]  # with the problems from all parts of the lookup
            first.problems = tuple(chain.from_iterable(each.problems for each in fruitless))
            first.errors = tuple(chain.from_iterable(each.errors for each in fruitless))
            raise first
        whole = pages[0] if len(pages) == 1 else _merged(pages)
        if [post.id for post in whole.data] != wanted:
            place = {post_id: index for index, post_id in enumerate(wanted)}
            whole.data = tuple(sorted(whole.data, key=lambda post: place.get(post.id, len(place))))
        return whole

    def by_user(
        self,
        user_id: str | int,
        *,
        max_results: int | None = None,
        pagination_token: str | None = None,
        start_time: datetime.datetime | None = None,
        end_time: datetime.datetime | None = None,
        since_id: str | int | None = None,
        until_id: str | int | None = None,
        exclude: ExcludedPosts | Sequence[ExcludedPosts] = (),
        fields: Fields | None = None,
        start: str | None = None,
    ) -> Pager[Post]:
        """Returns a user's posts, newest first (`GET /2/users/:id/tweets`).

        `max_results` (5 to 100) is the page size. `pagination_token` starts at the page of that token, and `start`
        after the item of a stored `Pager.position`. `start_time` (inclusive), `end_time`, `since_id` and `until_id`
        (all exclusive) limit the range. `exclude` omits replies, retweets or both.
        """
        faults, known_id = Faults(), ""
        with faults:
            known_id = path_id("user_id", user_id)
        if pagination_token is not None:
            with faults:
                check_argument("pagination_token", str | None, pagination_token)
                start = start or str(Position(pagination_token))
        query = without_none(
            max_results=max_results,
            start_time=start_time,
            end_time=end_time,
            since_id=since_id,
            until_id=until_id,
            exclude=unless_empty(exclude),
        )
        if fields is not None:
            with faults:
                query |= selected_by(fields)
        return self._pages(routes.USER_POSTS, query=query, start=start, faults=faults, id=known_id or "0")

    async def create(self, draft: PostDraft | Mapping[str, Any] | str) -> Post:
        """Creates a post as the user and returns it with its id (`POST /2/tweets`).

        `draft` is a `PostDraft`, a mapping with its fields, or the text. Raises InvalidInput for a text of more than
        25,000 characters, and for a misspelled key of a mapping; sends other unknown fields as given. Raises Forbidden
        if the user may not reply (the author of the other post must have mentioned or quoted them) or may not edit (own
        posts of the last hour, premium authors only). Not retried if its outcome is unknown.
        """
        check_argument("draft", PostDraft | Mapping | str, draft)
        body = {"text": draft} if isinstance(draft, str) else draft
        return await self._call(routes.POST_CREATE, body=body)


def _merged(pages: Sequence[Page[Post]]) -> Page[Post]:
    """Returns the pages of one lookup as one page. An object that several pages include occurs once."""
    includes = [page.includes for page in pages]
    data = tuple(chain.from_iterable(page.data for page in pages))
    meta = {name: value for page in pages for name, value in page.meta.items()}
    return Page(
        data=data,
        meta=meta | {"result_count": len(data)},
        includes=Includes(
            users=tuple({each.id: each for part in includes for each in part.users}.values()),
            tweets=tuple({each.id: each for part in includes for each in part.tweets}.values()),
            all_media=tuple({each.media_key: each for part in includes for each in part.all_media}.values()),
            polls=tuple({each.id: each for part in includes for each in part.polls}.values()),
            places=tuple({each.id: each for part in includes for each in part.places}.values()),
            extra=_further([part.extra for part in includes]),
        ),
        errors=tuple(chain.from_iterable(page.errors for page in pages)),
        undecoded=tuple(chain.from_iterable(page.undecoded for page in pages)),
        result_count=len(data),
        item_type=Post,
    )


def _further(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the included objects of unknown kinds, merged."""
    merged: dict[str, Any] = {}
    for kind, objects in chain.from_iterable(part.items() for part in parts):
        known = merged.get(kind)
        if isinstance(known, list) and isinstance(objects, list):
            merged[kind] = known + [each for each in objects if each not in known]
        else:
            merged[kind] = objects
    return merged
