"""The REST client: credentials, retries, deadlines, streamed bodies."""

from dynkube.rest._messages import Answer, Limits
from dynkube.rest._statistics import RESTStatistics

__all__ = [
    "Answer",
    "Limits",
    "RESTStatistics",
]
