"""Posts (platform documentation, sections 4.3 and 4.4)."""

from collections.abc import Sequence
from itertools import chain

import attrs

from socialapi.models.fields import Fields
from socialapi.models.pages import Includes, Page
from socialapi.models.posts import Post, PostDraft
from socialapi.models.queries import MAX_LOOKUP_IDS
from socialapi.resources.resource import Resource
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset

_NO_FIELDS = Fields()


class Posts(Resource):
    """Posts."""

    async def lookup(self, ids: str | Sequence[str], *, fields: Fields = _NO_FIELDS) -> Page[Post]:
        """Posts by id, in the order of the ids; those that do not exist are in `errors` (section 4.3).

        More than 100 ids are asked for in several requests, whose answers are put together. Raises InvalidInput for
        no ids at all.
        """
        wanted = [ids] if isinstance(ids, str) else list(ids)
        pages = []
        for start in range(0, max(1, len(wanted)), MAX_LOOKUP_IDS):
            query = {"ids": wanted[start : start + MAX_LOOKUP_IDS], **fields.parameters()}
            pages.append(await self._session.call(routes.POSTS.at(), options=self._options, query=query))
        return pages[0] if len(pages) == 1 else _merged(pages)

    def by_user(
        self,
        user_id: str,
        *,
        max_results: int | Unset = UNSET,
        pagination_token: str | Unset = UNSET,
        fields: Fields = _NO_FIELDS,
        start: str | None = None,
    ) -> Pager[Post]:
        """A user's posts, the newest first (section 4.3).

        `max_results` (5 to 100) is the size of a page; `pagination_token` begins with the page of that token, and
        `start` with the item after a `Pager.position`.
        """
        query = {"max_results": max_results, "pagination_token": pagination_token, **fields.parameters()}
        return self._session.pages(routes.USER_POSTS.at(id=user_id), options=self._options, query=query, start=start)

    async def create(self, draft: PostDraft) -> Post:
        """Creates a post in the name of the user, and returns it with its id (section 4.4).

        Raises InvalidInput for a text beyond 25,000 characters; Forbidden where the service does not let the user
        reply (the author of the post must have mentioned or quoted them) or edit (own posts of the last hour, premium
        authors only). Not repeated when its outcome is unknown.
        """
        return await self._session.call(routes.POST_CREATE.at(), options=self._options, body=draft)


def _merged(pages: Sequence[Page[Post]]) -> Page[Post]:
    """Pages of one lookup as one; an object that several of them include stands there once."""
    includes = [page.includes for page in pages]
    data = tuple(chain.from_iterable(page.data for page in pages))
    return attrs.evolve(
        pages[0],
        data=data,
        includes=Includes(
            users=tuple({each.id: each for part in includes for each in part.users}.values()),
            tweets=tuple({each.id: each for part in includes for each in part.tweets}.values()),
            all_media=tuple({each.media_key: each for part in includes for each in part.all_media}.values()),
            polls=tuple({each.id: each for part in includes for each in part.polls}.values()),
            places=tuple({each.id: each for part in includes for each in part.places}.values()),
        ),
        errors=tuple(chain.from_iterable(page.errors for page in pages)),
        result_count=len(data),
    )
