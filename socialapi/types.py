"""The types in public signatures: models, reports, problems and options. Each is imported on first use."""

from typing import TYPE_CHECKING

from socialapi.internal.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.bulk.audiences.batches import Packing as Packing
    from socialapi.bulk.audiences.phone_numbers import PhoneFormat as PhoneFormat
    from socialapi.bulk.inputs.formats import Records as Records
    from socialapi.bulk.inputs.reader import ArrowStream as ArrowStream
    from socialapi.bulk.inputs.reader import BinaryFile as BinaryFile
    from socialapi.bulk.job import OutcomeKeywords as OutcomeKeywords
    from socialapi.bulk.progress import OnProgress as OnProgress
    from socialapi.bulk.settled import OnSettled as OnSettled
    from socialapi.internal.unset import Unset as Unset
    from socialapi.models.accounts import Account as Account
    from socialapi.models.accounts import AccountApp as AccountApp
    from socialapi.models.accounts import AccountChanges as AccountChanges
    from socialapi.models.accounts import AccountsFilter as AccountsFilter
    from socialapi.models.accounts import CampaignSnapshot as CampaignSnapshot
    from socialapi.models.accounts import ChangedBy as ChangedBy
    from socialapi.models.accounts import EntityType as EntityType
    from socialapi.models.accounts import FeatureKey as FeatureKey
    from socialapi.models.accounts import HistoryEntry as HistoryEntry
    from socialapi.models.accounts import HistoryFilter as HistoryFilter
    from socialapi.models.accounts import IndustryType as IndustryType
    from socialapi.models.audiences import AudiencePermission as AudiencePermission
    from socialapi.models.audiences import AudiencePermissionsFilter as AudiencePermissionsFilter
    from socialapi.models.audiences import AudienceUser as AudienceUser
    from socialapi.models.audiences import DoNotReachList as DoNotReachList
    from socialapi.models.audiences import DoNotReachOperation as DoNotReachOperation
    from socialapi.models.audiences import DoNotReachParams as DoNotReachParams
    from socialapi.models.audiences import DoNotReachUser as DoNotReachUser
    from socialapi.models.audiences import IdentifierKind as IdentifierKind
    from socialapi.models.audiences import Operation as Operation
    from socialapi.models.audiences import OperationParams as OperationParams
    from socialapi.models.audiences import OperationType as OperationType
    from socialapi.models.audiences import PermissionLevel as PermissionLevel
    from socialapi.models.audiences import TargetingCampaign as TargetingCampaign
    from socialapi.models.audiences import TargetingLineItem as TargetingLineItem
    from socialapi.models.audiences import UploadCounts as UploadCounts
    from socialapi.models.cards import App as App
    from socialapi.models.cards import Button as Button
    from socialapi.models.cards import ButtonText as ButtonText
    from socialapi.models.cards import Card as Card
    from socialapi.models.cards import CardMedia as CardMedia
    from socialapi.models.cards import CardsQuery as CardsQuery
    from socialapi.models.cards import CardType as CardType
    from socialapi.models.cards import Details as Details
    from socialapi.models.cards import Label as Label
    from socialapi.models.cards import SwipeableMedia as SwipeableMedia
    from socialapi.models.cards import Website as Website
    from socialapi.models.catalogs import FilterAttribute as FilterAttribute
    from socialapi.models.catalogs import FilterOperator as FilterOperator
    from socialapi.models.catalogs import ProductCatalog as ProductCatalog
    from socialapi.models.catalogs import ProductFilter as ProductFilter
    from socialapi.models.catalogs import ProductSet as ProductSet
    from socialapi.models.catalogs import ProductSetType as ProductSetType
    from socialapi.models.content import Article as Article
    from socialapi.models.content import MisleadingTag as MisleadingTag
    from socialapi.models.content import NewsField as NewsField
    from socialapi.models.content import NewsStory as NewsStory
    from socialapi.models.content import Note as Note
    from socialapi.models.content import NoteClassification as NoteClassification
    from socialapi.models.content import NoteInfo as NoteInfo
    from socialapi.models.content import PowerstreamRule as PowerstreamRule
    from socialapi.models.content import PublishedArticle as PublishedArticle
    from socialapi.models.content import Replay as Replay
    from socialapi.models.creatives import AccountMedia as AccountMedia
    from socialapi.models.creatives import AccountMediaFilter as AccountMediaFilter
    from socialapi.models.creatives import AdvertiserPost as AdvertiserPost
    from socialapi.models.creatives import AdvertiserPostFields as AdvertiserPostFields
    from socialapi.models.creatives import CreativeType as CreativeType
    from socialapi.models.creatives import LibraryMedia as LibraryMedia
    from socialapi.models.creatives import LibraryMediaChanges as LibraryMediaChanges
    from socialapi.models.creatives import MediaCategory as MediaCategory
    from socialapi.models.creatives import MediaLibraryQuery as MediaLibraryQuery
    from socialapi.models.creatives import MediaType as MediaType
    from socialapi.models.creatives import PollCard as PollCard
    from socialapi.models.creatives import PollCardFields as PollCardFields
    from socialapi.models.creatives import PollCardsFilter as PollCardsFilter
    from socialapi.models.creatives import VideoConversationCard as VideoConversationCard
    from socialapi.models.creatives import VideoConversationCardChanges as VideoConversationCardChanges
    from socialapi.models.creatives import VideoConversationCardFields as VideoConversationCardFields
    from socialapi.models.creatives import VideoConversationCardsFilter as VideoConversationCardsFilter
    from socialapi.models.events import Direction as Direction
    from socialapi.models.events import DirectMessageKind as DirectMessageKind
    from socialapi.models.events import EventType as EventType
    from socialapi.models.events import Subscription as Subscription
    from socialapi.models.includes import Includes as Includes
    from socialapi.models.insights import Granularity as Granularity
    from socialapi.models.insights import KeywordInsights as KeywordInsights
    from socialapi.models.line_items import AmountField as AmountField
    from socialapi.models.line_items import AudienceExpansion as AudienceExpansion
    from socialapi.models.line_items import BidStrategy as BidStrategy
    from socialapi.models.line_items import BudgetOptimization as BudgetOptimization
    from socialapi.models.line_items import BusinessCategory as BusinessCategory
    from socialapi.models.line_items import CuratedCategory as CuratedCategory
    from socialapi.models.line_items import EntityStatus as EntityStatus
    from socialapi.models.line_items import Goal as Goal
    from socialapi.models.line_items import LineItem as LineItem
    from socialapi.models.line_items import LineItemChanges as LineItemChanges
    from socialapi.models.line_items import LineItemCuratedCategory as LineItemCuratedCategory
    from socialapi.models.line_items import LineItemCuratedCategoryChanges as LineItemCuratedCategoryChanges
    from socialapi.models.line_items import PayBy as PayBy
    from socialapi.models.model import Items as Items
    from socialapi.models.money import Micros as Micros
    from socialapi.models.oauth import AccessToken as AccessToken
    from socialapi.models.oauth import AppOnlyToken as AppOnlyToken
    from socialapi.models.oauth import InvalidatedToken as InvalidatedToken
    from socialapi.models.oauth import OAuth2SignIn as OAuth2SignIn
    from socialapi.models.oauth import OAuth2Token as OAuth2Token
    from socialapi.models.oauth import RequestToken as RequestToken
    from socialapi.models.pages import Page as Page
    from socialapi.models.posts import AnnotationEntity as AnnotationEntity
    from socialapi.models.posts import Attachments as Attachments
    from socialapi.models.posts import ContextAnnotation as ContextAnnotation
    from socialapi.models.posts import ContextDomain as ContextDomain
    from socialapi.models.posts import ContextEntity as ContextEntity
    from socialapi.models.posts import EditControls as EditControls
    from socialapi.models.posts import EditOptions as EditOptions
    from socialapi.models.posts import Entities as Entities
    from socialapi.models.posts import Media as Media
    from socialapi.models.posts import MediaMetrics as MediaMetrics
    from socialapi.models.posts import MediaVariant as MediaVariant
    from socialapi.models.posts import MentionEntity as MentionEntity
    from socialapi.models.posts import Place as Place
    from socialapi.models.posts import Poll as Poll
    from socialapi.models.posts import Post as Post
    from socialapi.models.posts import PostDraft as PostDraft
    from socialapi.models.posts import PostGeo as PostGeo
    from socialapi.models.posts import PostMedia as PostMedia
    from socialapi.models.posts import PostMetrics as PostMetrics
    from socialapi.models.posts import PostPoll as PostPoll
    from socialapi.models.posts import PostReply as PostReply
    from socialapi.models.posts import ReferencedPost as ReferencedPost
    from socialapi.models.posts import ReplySettings as ReplySettings
    from socialapi.models.posts import Space as Space
    from socialapi.models.posts import TagEntity as TagEntity
    from socialapi.models.posts import UrlEntity as UrlEntity
    from socialapi.models.posts import UrlImage as UrlImage
    from socialapi.models.posts import UserList as UserList
    from socialapi.models.products import AgeGroup as AgeGroup
    from socialapi.models.products import Availability as Availability
    from socialapi.models.products import Condition as Condition
    from socialapi.models.products import Gender as Gender
    from socialapi.models.products import Product as Product
    from socialapi.models.products import ProductDeletion as ProductDeletion
    from socialapi.models.products import ProductResult as ProductResult
    from socialapi.models.products import ProductsQuery as ProductsQuery
    from socialapi.models.products import StoredProduct as StoredProduct
    from socialapi.models.products import UpsertStatus as UpsertStatus
    from socialapi.models.queries import CollectionQuery as CollectionQuery
    from socialapi.models.queries import CountQuery as CountQuery
    from socialapi.models.queries import CursorQuery as CursorQuery
    from socialapi.models.queries import ExcludedPosts as ExcludedPosts
    from socialapi.models.queries import Expansion as Expansion
    from socialapi.models.queries import Fields as Fields
    from socialapi.models.queries import MediaField as MediaField
    from socialapi.models.queries import PostField as PostField
    from socialapi.models.queries import RecordQuery as RecordQuery
    from socialapi.models.queries import UserField as UserField
    from socialapi.models.streams import Connection as Connection
    from socialapi.models.streams import EndedConnection as EndedConnection
    from socialapi.models.streams import EndedConnections as EndedConnections
    from socialapi.models.streams import RuleDraft as RuleDraft
    from socialapi.models.streams import RulesSummary as RulesSummary
    from socialapi.models.streams import StreamRule as StreamRule
    from socialapi.models.undecoded import Undecoded as Undecoded
    from socialapi.models.users import Affiliation as Affiliation
    from socialapi.models.users import User as User
    from socialapi.models.users import UserEntities as UserEntities
    from socialapi.models.users import UserMetrics as UserMetrics
    from socialapi.models.webhooks import Deleted as Deleted
    from socialapi.models.webhooks import StreamLink as StreamLink
    from socialapi.models.webhooks import WebhookConfig as WebhookConfig
    from socialapi.models.webhooks import WebhookConfigField as WebhookConfigField
    from socialapi.models.webhooks import WebhookFailure as WebhookFailure
    from socialapi.models.webhooks import WebhookValidity as WebhookValidity
    from socialapi.problems import BrokenRule as BrokenRule
    from socialapi.problems import ClientDisconnected as ClientDisconnected
    from socialapi.problems import ClientForbidden as ClientForbidden
    from socialapi.problems import ConflictProblem as ConflictProblem
    from socialapi.problems import DisallowedResource as DisallowedResource
    from socialapi.problems import DuplicateRules as DuplicateRules
    from socialapi.problems import InvalidParameters as InvalidParameters
    from socialapi.problems import InvalidRequest as InvalidRequest
    from socialapi.problems import InvalidRules as InvalidRules
    from socialapi.problems import NoncompliantRules as NoncompliantRules
    from socialapi.problems import NotAuthorizedForField as NotAuthorizedForField
    from socialapi.problems import NotAuthorizedForResource as NotAuthorizedForResource
    from socialapi.problems import OperationalDisconnect as OperationalDisconnect
    from socialapi.problems import OperationError as OperationError
    from socialapi.problems import Problem as Problem
    from socialapi.problems import ResourceNotFound as ResourceNotFound
    from socialapi.problems import ResourceType as ResourceType
    from socialapi.problems import ResourceUnavailable as ResourceUnavailable
    from socialapi.problems import RuleCap as RuleCap
    from socialapi.problems import ServiceError as ServiceError
    from socialapi.problems import StreamingConnection as StreamingConnection
    from socialapi.problems import UnsupportedAuthentication as UnsupportedAuthentication
    from socialapi.problems import UsageCapped as UsageCapped
    from socialapi.reports import ColumnLint as ColumnLint
    from socialapi.reports import Finding as Finding
    from socialapi.reports import Forecast as Forecast
    from socialapi.reports import IssueGroup as IssueGroup
    from socialapi.reports import KindLint as KindLint
    from socialapi.reports import LintReport as LintReport
    from socialapi.reports import LoadForecast as LoadForecast
    from socialapi.reports import Progress as Progress
    from socialapi.reports import Risk as Risk
    from socialapi.reports import RowIssue as RowIssue
    from socialapi.reports import SyncReport as SyncReport
    from socialapi.reports import UploadReport as UploadReport
    from socialapi.reports import UpsertReport as UpsertReport
    from socialapi.resources.audiences import AudienceUploadKeywords as AudienceUploadKeywords
    from socialapi.resources.audiences import LintKeywords as LintKeywords
    from socialapi.resources.audiences import ReadingKeywords as ReadingKeywords
    from socialapi.resources.audiences import RowKeywords as RowKeywords
    from socialapi.resources.audiences import SyncKeywords as SyncKeywords
    from socialapi.resources.audiences import UploadKeywords as UploadKeywords
    from socialapi.resources.catalogs import AnyFilter as AnyFilter
    from socialapi.resources.creatives import AnyComponent as AnyComponent
    from socialapi.resources.creatives import Components as Components
    from socialapi.resources.products import ProductLintKeywords as ProductLintKeywords
    from socialapi.resources.products import ProductReadingKeywords as ProductReadingKeywords
    from socialapi.resources.products import UpsertKeywords as UpsertKeywords
    from socialapi.resources.streams import AnyRule as AnyRule
    from socialapi.routes.route import Method as Method
    from socialapi.routes.route import RateLimit as RateLimit
    from socialapi.routes.undeclared import Api as Api
    from socialapi.routes.undeclared import Auth as Auth
    from socialapi.session.call import ReplyInfo as ReplyInfo
    from socialapi.wire.rate_limit_headers import LimitReading as LimitReading
else:
    __getattr__, __dir__, __all__ = on_first_use(
        __name__,
        {
            "socialapi.bulk.audiences.batches": "Packing",
            "socialapi.bulk.audiences.phone_numbers": "PhoneFormat",
            "socialapi.bulk.inputs.formats": "Records",
            "socialapi.bulk.inputs.reader": "ArrowStream BinaryFile",
            "socialapi.bulk.job": "OutcomeKeywords",
            "socialapi.bulk.progress": "OnProgress",
            "socialapi.bulk.settled": "OnSettled",
            "socialapi.internal.unset": "Unset",
            "socialapi.models.accounts": (
                "Account AccountApp AccountChanges AccountsFilter CampaignSnapshot ChangedBy EntityType FeatureKey "
                "HistoryEntry HistoryFilter IndustryType"
            ),
            "socialapi.models.audiences": (
                "AudiencePermission AudiencePermissionsFilter AudienceUser DoNotReachList DoNotReachOperation "
                "DoNotReachParams DoNotReachUser IdentifierKind Operation OperationParams OperationType "
                "PermissionLevel TargetingCampaign TargetingLineItem UploadCounts"
            ),
            "socialapi.models.cards": (
                "App Button ButtonText Card CardMedia CardsQuery CardType Details Label SwipeableMedia Website"
            ),
            "socialapi.models.catalogs": (
                "FilterAttribute FilterOperator ProductCatalog ProductFilter ProductSet ProductSetType"
            ),
            "socialapi.models.content": (
                "Article MisleadingTag NewsField NewsStory Note NoteClassification NoteInfo PowerstreamRule "
                "PublishedArticle Replay"
            ),
            "socialapi.models.creatives": (
                "AccountMedia AccountMediaFilter AdvertiserPost AdvertiserPostFields CreativeType "
                "LibraryMedia LibraryMediaChanges MediaCategory MediaLibraryQuery MediaType PollCard PollCardFields "
                "PollCardsFilter VideoConversationCard VideoConversationCardChanges VideoConversationCardFields "
                "VideoConversationCardsFilter"
            ),
            "socialapi.models.events": "Direction DirectMessageKind EventType Subscription",
            "socialapi.models.includes": "Includes",
            "socialapi.models.insights": "Granularity KeywordInsights",
            "socialapi.models.line_items": (
                "AmountField AudienceExpansion BidStrategy BudgetOptimization BusinessCategory CuratedCategory "
                "EntityStatus Goal LineItem LineItemChanges LineItemCuratedCategory LineItemCuratedCategoryChanges "
                "PayBy"
            ),
            "socialapi.models.model": "Items",
            "socialapi.models.money": "Micros",
            "socialapi.models.oauth": "AccessToken AppOnlyToken InvalidatedToken OAuth2SignIn OAuth2Token RequestToken",
            "socialapi.models.pages": "Page",
            "socialapi.models.posts": (
                "AnnotationEntity Attachments ContextAnnotation ContextDomain ContextEntity EditControls "
                "EditOptions Entities Media MediaMetrics MediaVariant MentionEntity Place Poll Post PostDraft "
                "PostGeo PostMedia PostMetrics PostPoll PostReply ReferencedPost ReplySettings Space TagEntity "
                "UrlEntity UrlImage UserList"
            ),
            "socialapi.models.products": (
                "AgeGroup Availability Condition Gender Product ProductDeletion ProductResult ProductsQuery "
                "StoredProduct UpsertStatus"
            ),
            "socialapi.models.queries": (
                "CollectionQuery CountQuery CursorQuery ExcludedPosts Expansion Fields MediaField PostField "
                "RecordQuery UserField"
            ),
            "socialapi.models.streams": "Connection EndedConnection EndedConnections RuleDraft RulesSummary StreamRule",
            "socialapi.models.undecoded": "Undecoded",
            "socialapi.models.users": "Affiliation User UserEntities UserMetrics",
            "socialapi.models.webhooks": "Deleted StreamLink WebhookConfig WebhookConfigField WebhookFailure WebhookValidity",
            "socialapi.problems": (
                "BrokenRule ClientDisconnected ClientForbidden ConflictProblem DisallowedResource DuplicateRules "
                "InvalidParameters InvalidRequest InvalidRules NoncompliantRules NotAuthorizedForField "
                "NotAuthorizedForResource OperationalDisconnect OperationError Problem ResourceNotFound "
                "ResourceType ResourceUnavailable RuleCap ServiceError StreamingConnection UnsupportedAuthentication UsageCapped"
            ),
            "socialapi.reports": (
                "ColumnLint Finding Forecast IssueGroup KindLint LintReport LoadForecast Progress Risk RowIssue SyncReport "
                "UploadReport UpsertReport"
            ),
            "socialapi.resources.audiences": (
                "AudienceUploadKeywords LintKeywords ReadingKeywords RowKeywords SyncKeywords UploadKeywords"
            ),
            "socialapi.resources.catalogs": "AnyFilter",
            "socialapi.resources.creatives": "AnyComponent Components",
            "socialapi.resources.products": "ProductLintKeywords ProductReadingKeywords UpsertKeywords",
            "socialapi.resources.streams": "AnyRule",
            "socialapi.session.call": "ReplyInfo",
            "socialapi.routes.route": "Method RateLimit",
            "socialapi.routes.undeclared": "Api Auth",
            "socialapi.wire.rate_limit_headers": "LimitReading",
        },
    )
