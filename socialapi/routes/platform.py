"""Routes of the core platform API."""

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

# Posts
POSTS: Final = Route("GET", PLATFORM, "/2/tweets", Page[Post], query=PostsLookup)
USER_POSTS: Final = Route("GET", PLATFORM, "/2/users/{id}/tweets", Page[Post], query=UserPosts)
POST_CREATE: Final = Route("POST", PLATFORM_USER, "/2/tweets", Post, PostDraft, "json", scopes=_WRITE, created=True)

# Webhooks and the stream link
WEBHOOK_CREATE: Final = Route("POST", PLATFORM_APP, "/2/webhooks", WebhookConfig, WebhookDraft, "json")
WEBHOOKS: Final = Route("GET", PLATFORM_APP, "/2/webhooks", Page[WebhookConfig], query=WebhooksQuery)
WEBHOOK_DELETE: Final = Route("DELETE", PLATFORM_APP, "/2/webhooks/{webhook_id}", Deleted, path_rules=_WEBHOOK)
WEBHOOK_VALIDATE: Final = Route(
    "PUT", PLATFORM_APP, "/2/webhooks/{webhook_id}", WebhookValidity, path_rules=_WEBHOOK, open_answer=True
)
WEBHOOK_REPLAY: Final = Route("POST", PLATFORM, "/2/webhooks/replay", Replay, ReplayRequest, "json", open_answer=True)
STREAM_LINK: Final = Route(
    "POST",
    PLATFORM_APP,
    "/2/tweets/search/webhooks/{webhook_id}",
    StreamLink,
    query=FieldParameters,
    path_rules=_WEBHOOK,
    open_answer=True,
)

# Filtered-stream and powerstream rules
STREAM_RULES: Final = Route("GET", PLATFORM, "/2/tweets/search/stream/rules", Page[StreamRule], query=OpenPage)
STREAM_RULES_CHANGE: Final = Route(
    "POST",
    PLATFORM,
    "/2/tweets/search/stream/rules",
    Page[StreamRule],
    RulesChange,
    "json",
    query=RulesChangeQuery,
    scopes=_WRITE,
)
POWERSTREAM_RULES: Final = Route("GET", PLATFORM, "/2/powerstream/rules", Page[PowerstreamRule], query=OpenPage)

# Persistent streams
POST_STREAM: Final = Route("GET", PLATFORM, "/2/tweets/search/stream", Streamed[MatchedPost], query=PostStreamQuery)
ACTIVITY_STREAM: Final = Route(
    "GET", PLATFORM, "/2/activity/stream", Streamed[ActivityEvent], query=ActivityStreamQuery
)

# Streaming connections
CONNECTIONS: Final = Route("GET", PLATFORM, "/2/connections", Page[Connection], query=OpenPage)
CONNECTIONS_END: Final = Route(
    "DELETE", PLATFORM, "/2/connections", EndedConnections, ConnectionIds, "json", open_answer=True
)
CONNECTIONS_END_ENDPOINT: Final = Route(
    "DELETE",
    PLATFORM,
    "/2/connections/{endpoint_id}",
    EndedConnections,
    path_rules={"endpoint_id": EndpointId},
    open_answer=True,
)
CONNECTIONS_END_ALL: Final = Route("DELETE", PLATFORM, "/2/connections/all", EndedConnections, open_answer=True)

# Articles, news, notes, activity subscriptions
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
)
ARTICLE_PUBLISH: Final = Route(
    "POST", PLATFORM_USER, "/2/articles/{article_id}/publish", PublishedArticle, open_answer=True, scopes=_WRITE
)
NEWS_SEARCH: Final = Route("GET", PLATFORM, "/2/news/search", Page[NewsStory], query=NewsSearch)
NEWS_STORY: Final = Route("GET", PLATFORM, "/2/news/{id}", NewsStory, query=NewsStoryQuery, open_answer=True)
NOTE_EVALUATE: Final = Route("POST", PLATFORM_CALLER, "/2/evaluate_note", Note, NoteDraft, "json", open_answer=True)
NOTE_SUBMIT: Final = Route(
    "POST", PLATFORM_CALLER, "/2/notes", Note, NoteDraft, "json", open_answer=True, scopes=_WRITE, created=True
)
NOTES_ELIGIBLE_POSTS: Final = Route(
    "GET", PLATFORM_CALLER, "/2/notes/search/posts_eligible_for_notes", Page[Post], query=OpenPage
)
NOTES_WRITTEN: Final = Route("GET", PLATFORM_CALLER, "/2/notes/search/notes_written", Page[Note], query=OpenPage)
SUBSCRIPTION_CREATE: Final = Route(
    "POST",
    PLATFORM_SUBSCRIBER,
    "/2/activity/subscriptions",
    Subscription,
    SubscriptionDraft,
    "json",
    open_answer=True,
    created=True,
)
