"""The REST client: credentials, retries, deadlines, streamed bodies."""

from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Answer, Limits, Request
from dynkube.rest._statistics import RESTStatistics

__all__ = [
    "Answer",
    "Limits",
    "RESTClient",
    "RESTStatistics",
    "Request",
]
