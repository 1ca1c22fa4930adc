"""The REST client: credentials, retries, deadlines, streamed bodies."""

from dynkube.rest._backoff import Backoff
from dynkube.rest._client import RESTClient
from dynkube.rest._lines import LineSplitter
from dynkube.rest._messages import Answer, Limits, Request
from dynkube.rest._redaction import Redactor
from dynkube.rest._retry import parse_retry_after
from dynkube.rest._statistics import RESTStatistics
from dynkube.rest._stream import ByteStream
from dynkube.rest._suspension import notice_suspension, seconds_suspended
from dynkube.rest._throttle import TokenBucket

__all__ = [
    "Answer",
    "Backoff",
    "ByteStream",
    "Limits",
    "LineSplitter",
    "RESTClient",
    "RESTStatistics",
    "Redactor",
    "Request",
    "TokenBucket",
    "notice_suspension",
    "parse_retry_after",
    "seconds_suspended",
]
