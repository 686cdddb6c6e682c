"""Articles, news, community notes and powerstream rules.

The documentation gives few details of these endpoints. Documented parameters are typed. Other keywords are sent as
given, unless they look like misspelled parameters. Results contain all fields.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from socialapi.models.content import (
    Article,
    NewsField,
    NewsStory,
    Note,
    NoteInfo,
    PowerstreamRule,
    PublishedArticle,
)
from socialapi.models.posts import Post
from socialapi.models.queries import Fields, names_of, selected_by
from socialapi.models.validation import Faults
from socialapi.resources.arguments import check_further
from socialapi.resources.resource import Resource, unless_empty, without_none
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager
from socialapi.wire.request import path_id


class Articles(Resource):
    """Articles of a user."""

    async def draft(
        self,
        title: str,
        content_state: Mapping[str, Any],
        *,
        cover_media: Mapping[str, Any] | None = None,
        **further: Any,
    ) -> Article:
        """Creates a draft from a title, a rich-text content state and optional cover media (`POST /2/articles/draft`).

        Returns the article. Raises InvalidInput for arguments of a wrong type.
        """
        faults = Faults()
        with faults:
            check_further(self.draft, further)
        body = {**further, "title": title, "content_state": content_state, **without_none(cover_media=cover_media)}
        return await self._call(routes.ARTICLE_DRAFT, body=body, faults=faults)

    async def publish(self, article_id: str | int) -> PublishedArticle:
        """Publishes a draft (`POST /2/articles/:article_id/publish`). Returns the `post_id` of the resulting post."""
        return await self._call(routes.ARTICLE_PUBLISH, article_id=article_id)


class News(Resource):
    """Trending news stories."""

    def search(
        self, query: str, *, news_fields: Sequence[NewsField | str] = (), start: str | None = None, **further: Any
    ) -> Pager[NewsStory]:
        """Returns the stories that match a query (`GET /2/news/search`).

        `start` is a stored `Pager.position`.
        """
        faults, parameters = _checked(self.search, further, news_fields)
        return self._pages(routes.NEWS_SEARCH, query={"query": query, **parameters}, start=start, faults=faults)

    async def get(
        self, story_id: str | int, *, news_fields: Sequence[NewsField | str] = (), **further: Any
    ) -> NewsStory:
        """Returns one story (`GET /2/news/:id`)."""
        faults, parameters = _checked(self.get, further, news_fields)
        return await self._call(routes.NEWS_STORY, query=parameters, id=path_id("story_id", story_id), faults=faults)


def _checked(method: Callable[..., Any], further: Mapping[str, Any], fields: object) -> tuple[Faults, dict[str, Any]]:
    """Returns the errors in the parameters of a news request, and the parameters."""
    faults, parameters = Faults(), {**further}
    with faults:
        check_further(method, further)
    with faults:
        parameters |= {"news.fields": unless_empty(names_of("news_fields", fields, get_args(NewsField)))}
    return faults, parameters


class Notes(Resource):
    """Community notes."""

    async def evaluate(self, *, post_id: str | int | None = None, note_text: str | None = None, **fields: Any) -> Note:
        """Returns the evaluation of a draft note about a post (`POST /2/evaluate_note`).

        The service publishes these fields but does not document them. Others are sent as given.
        """
        check_further(self.evaluate, fields)
        body = {**fields, **without_none(post_id=post_id, note_text=note_text)}
        return await self._call(routes.NOTE_EVALUATE, body=body)

    async def submit(
        self,
        *,
        post_id: str | int | None = None,
        info: NoteInfo | Mapping[str, Any] | None = None,
        test_mode: bool | None = None,
        **fields: Any,
    ) -> Note:
        """Submits a note about a post and returns it (`POST /2/notes`).

        The service publishes these fields but does not document them. Others are sent as given. Not
        retried if its outcome is unknown.
        """
        check_further(self.submit, fields)
        body = {**fields, **without_none(post_id=post_id, info=info, test_mode=test_mode)}
        return await self._call(routes.NOTE_SUBMIT, body=body)

    def eligible_posts(self, *, fields: Fields | None = None, start: str | None = None, **further: Any) -> Pager[Post]:
        """Returns the posts on which a note can be written (`GET /2/notes/search/posts_eligible_for_notes`)."""
        check_further(self.eligible_posts, further)
        query = {**selected_by(fields), **further}
        return self._pages(routes.NOTES_ELIGIBLE_POSTS, query=query, start=start)

    def written(self, *, start: str | None = None, **further: Any) -> Pager[Note]:
        """Returns the notes that the caller has written (`GET /2/notes/search/notes_written`)."""
        check_further(self.written, further)
        return self._pages(routes.NOTES_WRITTEN, query=further, start=start)


class Powerstream(Resource):
    """Powerstream, a dedicated stream instance."""

    def rules(self, *, start: str | None = None, **further: Any) -> Pager[PowerstreamRule]:
        """Returns the rules of the instance (`GET /2/powerstream/rules`)."""
        check_further(self.rules, further)
        return self._pages(routes.POWERSTREAM_RULES, query=further, start=start)
