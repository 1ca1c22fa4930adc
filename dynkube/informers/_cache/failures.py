"""Record and log the failures of one cache and of the user's functions on it."""

from __future__ import annotations

import logging
from typing import Final

from dynkube._guard import logged, text_of
from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.errors import DynkubeError
from dynkube.meta import Unstructured
from dynkube.telemetry import Collection

_log = get_logger("dynkube.informers")

_KINDS: Final = 256


class FailureLog:
    """Records failures. The first of each kind is logged, later ones at DEBUG."""

    __slots__ = ("_collection", "_counts", "_malformed_logged", "_whole_logged", "last")

    def __init__(self, collection: Collection) -> None:
        self.last: str = ""
        """The last failure of any kind, as text; ``""`` if there was none."""
        self._collection = collection
        self._counts: dict[tuple[str, type[Exception]], int] = {}  # failures by user's function and exception type
        self._malformed_logged = False
        self._whole_logged = False

    def note(self, exc: DynkubeError) -> None:
        """Record a failure of listing or watching, without logging it.

        Such failures are logged with the state changes that they cause.
        """
        self.last = sanitized(text_of(exc))

    def function_failed(self, what: str, exc: Exception, obj: Unstructured | None = None) -> None:
        """Record that a user's function raised.

        A function that fails mostly fails on every object, and a filter at every read. So only the first failure with
        each type of exception is logged as an error.

        Args:
            what: a description of the function.
            exc: the exception.
            obj: the object it was called with, if any.
        """
        where = what if obj is None else f"{what} on {obj!r}"
        self.last = f"{where}: {text_of(exc)}"
        kind = (what, type(exc))
        if kind not in self._counts and len(self._counts) >= _KINDS:
            self._counts.clear()  # bounds its size, as each new filter adds an entry
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        level = logging.DEBUG if count > 1 else logging.ERROR
        extra = self._extra() | {"error": type(exc).__name__, "count": count}
        text = "informer %s: %s failed (failure %d); the next failures of this kind are logged as debug messages"
        _log.log(level, text, self._collection.gvr, where, count, exc_info=logged(exc), extra=extra)

    def transform_failed(self, obj: Unstructured, exc: Exception) -> None:
        """Record that the transform raised; the object is kept as received."""
        self.function_failed("transform", exc, obj)

    def malformed(self, obj: Unstructured) -> None:
        """Record an item of a list that was left out because it has no name."""
        self.last = sanitized(f"an item without metadata.name was left out of a list: {obj!r}")
        level = logging.DEBUG if self._malformed_logged else logging.WARNING  # each list has it again
        self._malformed_logged = True
        _log.log(level, "informer %s: %s", self._collection.gvr, self.last, extra=self._extra())

    def whole_object_received(self) -> None:
        """Record that the server sends whole objects where only metadata was requested."""
        if not self._whole_logged:
            self._whole_logged = True
            text = "informer %s: the server ignores that only metadata is requested; the rest is removed here"
            _log.warning(text, self._collection.gvr, extra=self._extra())

    def _extra(self) -> dict[str, object]:
        return {"gvr": str(self._collection.gvr), "namespace": self._collection.namespace}
