"""The numbers of a watch that resumes by itself."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube.errors import InvalidInput
from dynkube.meta import is_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """How a resuming watch behaves; all times in seconds on the monotonic clock.

    Attributes:
        min_timeout: the server is asked to end each watch after a random time, from this
        max_timeout: to this, so that the watches of many clients spread (client-go: 5 to 10 minutes).
        timeout_margin: how long after that time a server that did not end it is given up.
        silence: without an event or bookmark for so long a watch counts as dead. Servers send a bookmark
            about once a minute; where one sends none, this is merely how often the watch is opened again.
        short: a watch that ended sooner than this, with nothing said, may be how a server says that its
            history is gone (kubernetes/kubernetes#104171); two of them never begin closer together.
        max_unreadable: after so many unreadable answers in a row the watch gives up.

    Raises:
        InvalidInput: a number makes no sense; the message names it.
    """

    min_timeout: float = 300.0
    max_timeout: float = 600.0
    timeout_margin: float = 30.0
    silence: float = 180.0
    short: float = 1.0
    max_unreadable: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.min_timeout <= self.max_timeout:
            raise InvalidInput(
                f"min_timeout must be at least 1 and at most max_timeout, not {self.min_timeout} "
                f"with {self.max_timeout}"
            )
        for name in ("timeout_margin", "silence", "short"):
            if not is_seconds(getattr(self, name)):
                raise InvalidInput(f"{name} must be a positive number of seconds, not {getattr(self, name)!r}")
        if self.max_unreadable < 1:
            raise InvalidInput(f"max_unreadable must be at least 1, not {self.max_unreadable}")
