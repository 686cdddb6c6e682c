"""The models, for type annotations and `isinstance`: one flat place to import them from."""

from socialapi.models.audiences import (
    AudienceUser,
    DoNotReachList,
    IdentifierKind,
    Operation,
    OperationParams,
    OperationType,
    UploadCounts,
)
from socialapi.models.oauth import (
    AccessToken,
    AppOnlyToken,
    InvalidatedToken,
    OAuth2SignIn,
    OAuth2Token,
    RequestToken,
)
from socialapi.problems import BrokenRule, OperationError, Problem, ServiceError
from socialapi.reports import Forecast, Progress, RowIssue, UploadReport

__all__ = [
    "AccessToken",
    "AppOnlyToken",
    "AudienceUser",
    "BrokenRule",
    "DoNotReachList",
    "Forecast",
    "IdentifierKind",
    "InvalidatedToken",
    "OAuth2SignIn",
    "OAuth2Token",
    "Operation",
    "OperationError",
    "OperationParams",
    "OperationType",
    "Problem",
    "Progress",
    "RequestToken",
    "RowIssue",
    "ServiceError",
    "UploadCounts",
    "UploadReport",
]
