"""Writes `resources.md`: every field of every resource with its type. Run it after a change.

python docs/resources.py
"""

import types as builtin_types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi import types
from socialapi.models.validation import wire_name

PAGE: Final = Path(__file__).parents[1] / "docs" / "resources.md"


@attrs.frozen
class Resource:
    """The documented name of a resource, its class, and its documented fields."""

    name: str
    model: Any
    fields: tuple[str, ...]


def _resource(name: str, model: Any, fields: str) -> Resource:
    return Resource(name, model, tuple(fields.split()))


RESOURCES: Final = (
    _resource(
        "account",
        types.Account,
        "id name business_name business_id timezone timezone_switch_at approval_status industry_type created_at "
        "updated_at deleted",
    ),
    _resource(
        "account app",
        types.AccountApp,
        "id app_store_identifier conversion_tracking_enabled deep_link_pattern os_type created_at updated_at deleted",
    ),
    _resource(
        "account history entry",
        types.HistoryEntry,
        "entity entity_id entity_data change_type change_time changes change_by",
    ),
    _resource("account history entry, change_by", types.ChangedBy, "user_id platform"),
    _resource(
        "campaign snapshot (entity_data)",
        types.CampaignSnapshot,
        "name start_time end_time purchase_order_number daily_budget_amount_local_micro "
        "total_budget_amount_local_micro duration_in_days standard_delivery entity_status frequency_cap created_at "
        "updated_at deleted",
    ),
    _resource("advertiser business category", types.BusinessCategory, "id name iab_categories"),
    _resource(
        "curated category",
        types.CuratedCategory,
        "id name description country_codes publisher_user_ids videos_monetized_in_last_thirty_days created_at "
        "updated_at",
    ),
    _resource(
        "line item curated category",
        types.LineItemCuratedCategory,
        "id line_item_id curated_category_id created_at updated_at deleted",
    ),
    _resource(
        "line item",
        types.LineItem,
        "id campaign_id name objective product_type goal bid_strategy bid_amount_local_micro pay_by currency "
        "placements categories start_time end_time duration_in_days frequency_cap total_budget_amount_local_micro "
        "daily_budget_amount_local_micro entity_status creative_source advertiser_user_id advertiser_domain "
        "android_app_store_identifier ios_app_store_identifier target_cpa_local_micro primary_web_event_tag "
        "standard_delivery automatic_tweet_promotion created_at updated_at deleted",
    ),
    _resource(
        "tailored audience permission",
        types.AudiencePermission,
        "id tailored_audience_id granted_account_id permission_level created_at updated_at deleted",
    ),
    _resource("targeting report item", types.TargetingCampaign, "campaign_id campaign_name line_items"),
    _resource("targeting report item, line_items", types.TargetingLineItem, "id name servable"),
    _resource(
        "do-not-reach list",
        types.DoNotReachList,
        "id name description targetable reasons_not_targetable list_size created_at updated_at deleted",
    ),
    _resource(
        "account media",
        types.AccountMedia,
        "id video_id media_url creative_type created_at updated_at deleted",
    ),
    _resource("card", types.Card, "id name card_type card_uri components slides created_at updated_at deleted"),
    _resource(
        "poll card",
        types.PollCard,
        "id name card_type card_uri first_choice second_choice third_choice fourth_choice duration_in_minutes start_time "
        "end_time video_url video_hls_url video_width video_height video_poster_url video_poster_width "
        "video_poster_height content_duration_seconds created_at updated_at deleted",
    ),
    _resource(
        "video conversation card",
        types.VideoConversationCard,
        "id name card_type card_uri title first_cta first_cta_tweet second_cta second_cta_tweet third_cta "
        "third_cta_tweet fourth_cta fourth_cta_tweet thank_you_text thank_you_url media_key media_url poster_media_url "
        "video_owner_id video_width video_height created_at updated_at deleted",
    ),
    _resource(
        "media library object",
        types.LibraryMedia,
        "media_key media_type media_category media_url media_status name file_name title description duration "
        "aspect_ratio poster_media_key poster_media_url tweeted created_at updated_at deleted",
    ),
    _resource("product catalog", types.ProductCatalog, "id name deleted"),
    _resource(
        "product",
        types.StoredProduct,
        "id product_key title description availability condition price link image_link brand gtin mpn mobile_link "
        "additional_image_link taxonomy_product_category product_type inventory sale_price sale_price_effective_date "
        "item_group_id item_group_key gender color size age_group custom_label_0 custom_label_1 custom_label_2 "
        "custom_label_3 custom_label_4",
    ),
    _resource("product set", types.ProductSet, "id name description type product_ids filters processing_status"),
)
"""The resources of the advertising API, of creatives and of catalogs, with their documented fields."""

PLATFORM: Final = (
    ("post", types.Post),
    ("post, public_metrics", types.PostMetrics),
    ("post, attachments", types.Attachments),
    ("post, entities", types.Entities),
    ("post, referenced_tweets", types.ReferencedPost),
    ("post, edit_controls", types.EditControls),
    ("new post", types.PostDraft),
    ("new post, reply", types.PostReply),
    ("new post, media", types.PostMedia),
    ("new post, poll", types.PostPoll),
    ("new post, geo", types.PostGeo),
    ("new post, edit_options", types.EditOptions),
    ("user", types.User),
    ("user, public_metrics", types.UserMetrics),
    ("media", types.Media),
    ("media, variants", types.MediaVariant),
    ("media, public_metrics", types.MediaMetrics),
    ("poll", types.Poll),
    ("place", types.Place),
    ("article", types.Article),
    ("news story", types.NewsStory),
    ("note", types.Note),
    ("stream rule", types.StreamRule),
    ("powerstream rule", types.PowerstreamRule),
    ("connection of a stream", types.Connection),
    ("webhook", types.WebhookConfig),
    ("activity subscription", types.Subscription),
)
"""The objects of the platform API, with the classes that read or write them."""

PUBLIC_TYPES: Final[Sequence[str]] = types.__all__  # type: ignore[attr-defined]  # made at run time
NAMED: Final[Mapping[Any, str]] = {
    getattr(types, name): name for name in PUBLIC_TYPES if typing.get_origin(getattr(types, name)) is typing.Literal
}
"""The enumerations that have a name in `socialapi.types`."""


def declared(model: Any) -> Mapping[str, "attrs.Attribute[Any]"]:
    """Returns the fields of a class by their names in JSON, without `extra`."""
    attrs.resolve_types(model)
    return {wire_name(field): field for field in attrs.fields(model) if field.init and field.name != "extra"}


def _type(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if kind in NAMED:
        return NAMED[kind]
    if origin in (typing.Union, builtin_types.UnionType):
        return " | ".join(_type(each) for each in arguments if each is not types.Unset)
    if origin is typing.Literal:
        return " | ".join(f'"{each}"' for each in arguments)
    name = "None" if kind is type(None) else getattr(origin or kind, "__name__", str(kind))
    return f"{name}[{', '.join('...' if each is ... else _type(each) for each in arguments)}]" if arguments else name


def _default(field: "attrs.Attribute[Any]", *, is_sent: bool) -> str:
    if field.default is attrs.NOTHING:
        return "required" if is_sent else "always present"
    if is_sent:
        return "not sent"
    default: Any = field.default
    return f"`{default.factory() if hasattr(default, 'factory') else default}`"


def _section(resource: Resource) -> list[str]:
    fields, is_sent = declared(resource.model), resource.name.startswith("new ")
    rows = [
        (name, _type(fields[name].type).replace("|", "\\|"), _default(fields[name], is_sent=is_sent))
        for name in resource.fields
    ]
    return [
        "",
        f"### {resource.name[0].upper()}{resource.name[1:]}: `{resource.model.__name__}`",
        "",
        "| Field | Type | If missing |",
        "|---|---|---|",
        *(f"| `{name}` | `{kind}` | {default} |" for name, kind, default in rows),
    ]


def markdown() -> str:
    """Returns the complete page."""
    lines = [
        "# Resources",
        "",
        "`docs/resources.py` generates this page from the code. It lists every field of every resource. The",
        "classes and enumerations are in `socialapi.types`.",
        "",
        "Unknown values of an enumeration are strings. Errors that arrive with an object are in its",
        "`partial_errors`. Times have a time zone.",
        "",
        "## Posts, users, streams and webhooks",
        "",
        "Fields without an attribute of their own, such as `reply_settings` of a post and `options` of a",
        'poll, are in `extra`: `post.extra["reply_settings"]`.',
    ]
    for name, model in PLATFORM:
        lines += _section(Resource(name, model, tuple(declared(model))))
    lines += [
        "",
        "## Advertising",
        "",
        "This part has every documented field of the advertising API, including creatives and catalogs.",
        "Other fields are in `extra`. Amounts are integers, in millionths of the currency unit; `Micros`",
        "converts them to exact decimals.",
    ]
    for resource in RESOURCES:
        lines += _section(resource)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(markdown(), "utf-8")
