"""Arguments of requests for logs, checked before anything is sent.

Pure: no I/O.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, get_args

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import brief, is_seconds
from dynkube.pods._logs.steps import Read

OutputStream: TypeAlias = Literal["All", "Stdout", "Stderr"]
Since: TypeAlias = float | datetime | None

_SIZE_OF_TIMESTAMP: Final = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Which part of a log is read; see :meth:`dynkube.Pod.logs`."""

    follow: bool = False
    previous: bool = False
    since: Since = None
    tail: int | None = None
    timestamps: bool = False
    limit_bytes: int | None = None
    stream: OutputStream | None = None

    def __post_init__(self) -> None:
        for name in ("follow", "previous", "timestamps"):
            if not isinstance(given := getattr(self, name), bool):
                raise InvalidInput(f"{name} must be True or False, not {brief(given)}")
        if self.follow and self.previous:
            raise InvalidInput("follow and previous exclude each other: the previous run of a container has ended")
        if isinstance(self.since, datetime):
            if self.since.tzinfo is None:
                raise InvalidInput(f"since is {self.since.isoformat()}, without a time zone: pass an aware datetime")
        elif self.since is not None and not (is_seconds(self.since) and self.since < math.inf):
            raise InvalidInput(f"since must be a number of seconds > 0, or a datetime, not {brief(self.since)}")
        _check_count("tail", self.tail, 0)
        _check_count("limit_bytes", self.limit_bytes, 1)
        if self.stream is not None and self.stream not in get_args(OutputStream):
            raise InvalidInput(f"stream must be one of {', '.join(get_args(OutputStream))}, not {brief(self.stream)}")

    def params(self, container: str, step: Read, since: str | None) -> dict[str, str]:
        """Return the query of a request.

        Args:
            container: the container's name.
            step: which log is requested.
            since: where to read on after an interruption; ``None`` to begin where the options say.
        """
        # Timestamps are always requested: they tell after an interruption which lines were read.
        params = {"container": container, "timestamps": "true"}
        if step.follow:
            params["follow"] = "true"
        if step.previous:
            params["previous"] = "true"
        if self.stream is not None:
            params["stream"] = self.stream
        if since is not None:
            params["sinceTime"] = since
            return params
        if self.tail is not None:
            params["tailLines"] = str(self.tail)
        if isinstance(self.since, datetime):
            params["sinceTime"] = f"{self.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        elif self.since is not None:
            params["sinceSeconds"] = str(math.ceil(self.since))
        return params

    def size(self, raw: bytes) -> int:
        """Return how much of ``limit_bytes`` a line takes: as a kubelet counts, with newline and timestamp."""
        return len(raw) + 1 + (_SIZE_OF_TIMESTAMP if self.timestamps else 0)


def _check_count(name: str, given: object, least: int) -> None:
    if given is not None and not (isinstance(given, int) and not isinstance(given, bool) and given >= least):
        raise InvalidInput(f"{name} must be an integer >= {least}, or None, not {brief(given)}")
