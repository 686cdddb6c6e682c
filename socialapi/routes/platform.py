"""Routes of the core platform API (platform documentation, section 4)."""

from typing import Final

from socialapi.models.content import (
    Article,
    ArticleDraft,
    NewsStory,
    Note,
    NoteDraft,
    PowerstreamRule,
    PublishedArticle,
    Replay,
    ReplayRequest,
)
from socialapi.models.events import ActivityEvent, MatchedPost, Streamed, Subscription, SubscriptionDraft
from socialapi.models.pages import Page
from socialapi.models.posts import Post, PostDraft
from socialapi.models.queries import (
    ActivityStreamQuery,
    FieldParameters,
    NewsSearch,
    NewsStoryQuery,
    OpenPage,
    PostsLookup,
    PostStreamQuery,
    RulesChangeQuery,
    UserPosts,
)
from socialapi.models.streams import Connection, ConnectionIds, EndedConnections, EndpointId, RulesChange, StreamRule
from socialapi.models.webhooks import (
    Deleted,
    StreamLink,
    WebhookConfig,
    WebhookDraft,
    WebhookId,
    WebhooksQuery,
    WebhookValidity,
)
from socialapi.routes.route import (
    PLATFORM,
    PLATFORM_APP,
    PLATFORM_CALLER,
    PLATFORM_SUBSCRIBER,
    PLATFORM_USER,
    Route,
)

_WEBHOOK: Final = {"webhook_id": WebhookId}
_WRITE: Final = ("tweet.read", "tweet.write", "users.read")

# Posts (sections 4.3 and 4.4)
POSTS: Final = Route("GET", PLATFORM, "/2/tweets", Page[Post], query=PostsLookup, section="4.3")
USER_POSTS: Final = Route("GET", PLATFORM, "/2/users/{id}/tweets", Page[Post], query=UserPosts, section="4.3")
POST_CREATE: Final = Route(
    "POST", PLATFORM_USER, "/2/tweets", Post, PostDraft, "json", scopes=_WRITE, created=True, section="4.4"
)

# Webhooks and the stream link (section 4.1)
WEBHOOK_CREATE: Final = Route("POST", PLATFORM_APP, "/2/webhooks", WebhookConfig, WebhookDraft, "json", section="4.1")
WEBHOOKS: Final = Route("GET", PLATFORM_APP, "/2/webhooks", Page[WebhookConfig], query=WebhooksQuery, section="4.1")
WEBHOOK_DELETE: Final = Route(
    "DELETE", PLATFORM_APP, "/2/webhooks/{webhook_id}", Deleted, path_rules=_WEBHOOK, section="4.1"
)
WEBHOOK_VALIDATE: Final = Route(
    "PUT",
    PLATFORM_APP,
    "/2/webhooks/{webhook_id}",
    WebhookValidity,
    path_rules=_WEBHOOK,
    open_answer=True,
    section="4.1",
)
WEBHOOK_REPLAY: Final = Route(
    "POST", PLATFORM, "/2/webhooks/replay", Replay, ReplayRequest, "json", open_answer=True, section="4.4"
)
STREAM_LINK: Final = Route(
    "POST",
    PLATFORM_APP,
    "/2/tweets/search/webhooks/{webhook_id}",
    StreamLink,
    query=FieldParameters,
    path_rules=_WEBHOOK,
    open_answer=True,
    section="4.1",
)

# Filtered-stream and powerstream rules (sections 4.1 and 4.4)
STREAM_RULES: Final = Route(
    "GET", PLATFORM, "/2/tweets/search/stream/rules", Page[StreamRule], query=OpenPage, section="4.1"
)
STREAM_RULES_CHANGE: Final = Route(
    "POST",
    PLATFORM,
    "/2/tweets/search/stream/rules",
    Page[StreamRule],
    RulesChange,
    "json",
    query=RulesChangeQuery,
    scopes=_WRITE,
    section="4.1",
)
POWERSTREAM_RULES: Final = Route(
    "GET", PLATFORM, "/2/powerstream/rules", Page[PowerstreamRule], query=OpenPage, section="4.4"
)

# Persistent streams (sections 4.1 and 4.4)
POST_STREAM: Final = Route(
    "GET", PLATFORM, "/2/tweets/search/stream", Streamed[MatchedPost], query=PostStreamQuery, section="4.1"
)
ACTIVITY_STREAM: Final = Route(
    "GET", PLATFORM, "/2/activity/stream", Streamed[ActivityEvent], query=ActivityStreamQuery, section="4.4"
)

# Streaming connections (section 4.4)
CONNECTIONS: Final = Route("GET", PLATFORM, "/2/connections", Page[Connection], query=OpenPage, section="4.4")
CONNECTIONS_END: Final = Route(
    "DELETE", PLATFORM, "/2/connections", EndedConnections, ConnectionIds, "json", open_answer=True, section="4.4"
)
CONNECTIONS_END_ENDPOINT: Final = Route(
    "DELETE",
    PLATFORM,
    "/2/connections/{endpoint_id}",
    EndedConnections,
    path_rules={"endpoint_id": EndpointId},
    open_answer=True,
    section="4.4",
)
CONNECTIONS_END_ALL: Final = Route(
    "DELETE", PLATFORM, "/2/connections/all", EndedConnections, open_answer=True, section="4.4"
)

# Articles, news, notes, activity subscriptions (section 4.4)
ARTICLE_DRAFT: Final = Route(
    "POST",
    PLATFORM_USER,
    "/2/articles/draft",
    Article,
    ArticleDraft,
    "json",
    open_answer=True,
    scopes=_WRITE,
    created=True,
    section="4.4",
)
ARTICLE_PUBLISH: Final = Route(
    "POST",
    PLATFORM_USER,
    "/2/articles/{article_id}/publish",
    PublishedArticle,
    open_answer=True,
    scopes=_WRITE,
    section="4.4",
)
NEWS_SEARCH: Final = Route("GET", PLATFORM, "/2/news/search", Page[NewsStory], query=NewsSearch, section="4.4")
NEWS_STORY: Final = Route(
    "GET", PLATFORM, "/2/news/{id}", NewsStory, query=NewsStoryQuery, open_answer=True, section="4.4"
)
NOTE_EVALUATE: Final = Route(
    "POST", PLATFORM_CALLER, "/2/evaluate_note", Note, NoteDraft, "json", open_answer=True, section="4.4"
)
NOTE_SUBMIT: Final = Route(
    "POST",
    PLATFORM_CALLER,
    "/2/notes",
    Note,
    NoteDraft,
    "json",
    open_answer=True,
    scopes=_WRITE,
    created=True,
    section="4.4",
)
NOTES_ELIGIBLE_POSTS: Final = Route(
    "GET", PLATFORM_CALLER, "/2/notes/search/posts_eligible_for_notes", Page[Post], query=OpenPage, section="4.4"
)
NOTES_WRITTEN: Final = Route(
    "GET", PLATFORM_CALLER, "/2/notes/search/notes_written", Page[Note], query=OpenPage, section="4.4"
)
SUBSCRIPTION_CREATE: Final = Route(
    "POST",
    PLATFORM_SUBSCRIBER,
    "/2/activity/subscriptions",
    Subscription,
    SubscriptionDraft,
    "json",
    open_answer=True,
    created=True,
    section="4.4",
)
