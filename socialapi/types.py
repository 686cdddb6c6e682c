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
from socialapi.models.oauth import AppOnlyToken, InvalidatedToken
from socialapi.problems import BrokenRule, OperationError, Problem, ServiceError
from socialapi.reports import Forecast, Progress, RowIssue, UploadReport

__all__ = [
    "AppOnlyToken",
    "AudienceUser",
    "BrokenRule",
    "DoNotReachList",
    "Forecast",
    "IdentifierKind",
    "InvalidatedToken",
    "Operation",
    "OperationError",
    "OperationParams",
    "OperationType",
    "Problem",
    "Progress",
    "RowIssue",
    "ServiceError",
    "UploadCounts",
    "UploadReport",
]
