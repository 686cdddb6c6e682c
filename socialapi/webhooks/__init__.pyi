# The public names of `socialapi.webhooks` for type checkers and editors: those of `__init__.py`, which Python reads.

from socialapi.models.events import ActivityEvent as ActivityEvent
from socialapi.models.events import DirectMessage as DirectMessage
from socialapi.models.events import MatchedPost as MatchedPost
from socialapi.models.pages import Undecoded as Undecoded
from socialapi.webhooks.endpoint import ReceiverCounters as ReceiverCounters
from socialapi.webhooks.endpoint import WebhookReply as WebhookReply
from socialapi.webhooks.endpoint import WebhookTelemetry as WebhookTelemetry
from socialapi.webhooks.receiver import Delivery as Delivery
from socialapi.webhooks.receiver import Receiver as Receiver
from socialapi.webhooks.receiver import read_event as read_event
from socialapi.webhooks.signatures import SIGNATURE_HEADER as SIGNATURE_HEADER
from socialapi.webhooks.signatures import crc_response as crc_response
from socialapi.webhooks.signatures import sign_body as sign_body
from socialapi.webhooks.signatures import verify_signature as verify_signature
