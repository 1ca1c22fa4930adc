"""Settings of a reconnecting watch."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import is_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Settings of a reconnecting watch; all times in seconds on the monotonic clock.

    Attributes:
        min_timeout: lower bound of the random ``timeoutSeconds`` after which the server is asked to end a watch.
        max_timeout: upper bound; random times spread the reconnects of many clients (client-go: 5 to 10 minutes).
        timeout_margin: the client closes a watch itself if the server has not ended it by so long after
            ``timeoutSeconds``.
        watch_idle_timeout: a watch without an event or bookmark for this long is considered dead. Servers send a
            bookmark about once a minute; on a server without bookmarks a quiet watch is reopened after this time.
        short: a watch that ends sooner than this without any event may mean that the resourceVersion has expired
            (kubernetes/kubernetes#104171); also the minimum interval between two such requests.
        max_unreadable: number of consecutive unreadable responses after which the watch fails.

    Raises:
        InvalidInput: a value is out of range; the message names it.
    """

    min_timeout: float = 300.0
    max_timeout: float = 600.0
    timeout_margin: float = 30.0
    watch_idle_timeout: float = 180.0
    short: float = 1.0
    max_unreadable: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.min_timeout <= self.max_timeout:
            raise InvalidInput(
                f"min_timeout must be at least 1 and at most max_timeout, not {self.min_timeout} "
                f"with {self.max_timeout}"
            )
        for name in ("timeout_margin", "watch_idle_timeout", "short"):
            if not is_seconds(getattr(self, name)):
                raise InvalidInput(f"{name} must be a positive number of seconds, not {getattr(self, name)!r}")
        if self.max_unreadable < 1:
            raise InvalidInput(f"max_unreadable must be at least 1, not {self.max_unreadable}")
