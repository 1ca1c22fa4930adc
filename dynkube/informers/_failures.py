"""What went wrong around one cache: the last of it in words, and a record in the log for what users have to mend."""

from __future__ import annotations

import logging
from typing import Final

from dynkube._guard import text_of
from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.errors import DynkubeError
from dynkube.meta import Unstructured
from dynkube.telemetry import Collection

_log = get_logger("dynkube.informers")

_KINDS: Final = 256


class FailureLog:
    """Notes failures. What repeats itself is logged once; later ones of its kind are debug messages."""

    __slots__ = ("_collection", "_counts", "_malformed_told", "last")

    def __init__(self, collection: Collection) -> None:
        self.last: str = ""
        """The last failure of any kind, in words; ``""`` if there was none."""
        self._collection = collection
        self._counts: dict[tuple[str, type[Exception]], int] = {}  # of users' functions
        self._malformed_told = False

    def note(self, exc: DynkubeError) -> None:
        """The server cannot be followed; the state tells of it, so nothing is logged here."""
        self.last = sanitized(text_of(exc))

    def function_failed(self, what: str, exc: Exception, obj: Unstructured | None = None) -> None:
        """Report that a user's function failed, on an object where it was called with one.

        Such a function mostly fails on every object, and a filter at every read: only its first failure of each
        kind is logged as an error.
        """
        where = what if obj is None else f"{what} on {obj!r}"
        self.last = f"{where}: {text_of(exc)}"
        kind = (what, type(exc))
        if kind not in self._counts and len(self._counts) >= _KINDS:
            self._counts.clear()  # filters come and go, each with another name
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        level = logging.DEBUG if count > 1 else logging.ERROR
        extra = self._extra() | {"error": type(exc).__name__, "count": count}
        text = "informer %s: %s failed (failure %d); the next failures of this kind are logged as debug messages"
        _log.log(level, text, self._collection.gvr, where, count, exc_info=exc, extra=extra)

    def transform_failed(self, obj: Unstructured, exc: Exception) -> None:
        """The transform failed on an object, which is kept as it came."""
        self.function_failed("transform", exc, obj)

    def malformed(self, obj: Unstructured) -> None:
        """A list has an item that cannot be kept, as it has no name."""
        self.last = sanitized(f"an item without metadata.name was left out of a list: {obj!r}")
        level = logging.DEBUG if self._malformed_told else logging.WARNING  # lists are repeated, and so is the item
        self._malformed_told = True
        _log.log(level, "informer %s: %s", self._collection.gvr, self.last, extra=self._extra())

    def _extra(self) -> dict[str, object]:
        return {"gvr": str(self._collection.gvr), "namespace": self._collection.namespace}
