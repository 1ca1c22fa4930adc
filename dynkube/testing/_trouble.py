"""Trouble on demand: an embedded server that fails, drops watches, forgets."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube.meta import GVR
from dynkube.testing._engine import Engine
from dynkube.testing._faults import Fault
from dynkube.testing._store.watching import EndMode


class Trouble:
    """What a test does to ``_engine`` that no client could."""

    _engine: Engine

    def fail(
        self,
        *,
        status: int,
        verb: str | None = None,
        resource: str | GVR | None = None,
        path_prefix: str = "",
        retry_after: float | str | None = None,
        times: int | None = None,
        body: Mapping[str, object] | str | bytes | None = None,
        content_type: str | None = None,
    ) -> Fault:
        """Answer matching requests with ``status`` from now on; the plain functions here are not affected.

        Args:
            status: The HTTP status, 200 to 599.
            verb: Only this verb (``"list"``, ``"watch"``, ...; ``""`` for paths that are no resources).
            resource: Only this resource: ``"pods"``, ``"deployments.apps"`` or a GVR; served or not.
            path_prefix: Only paths that begin so (``"/apis"`` for discovery).
            retry_after: The Retry-After header: seconds, or text as it is to be sent (an HTTP date).
            times: How often; ``None`` until the fault is removed.
            body: What to send: a mapping as JSON, text or bytes as they are; a fitting Status if not given.
            content_type: Of the body; JSON, or HTML for text, unless given.

        Returns:
            The fault: ``hits`` counts how often it struck, ``remove()`` ends it.

        Raises:
            InvalidInput: An argument is out of range.
        """
        return self._engine.faults.fail(
            status=status,
            verb=verb,
            resource=resource,
            path_prefix=path_prefix,
            retry_after=retry_after,
            times=times,
            body=body,
            content_type=content_type,
        )

    def end_watches(self, resource: str | GVR | None = None, how: EndMode = "clean") -> int:
        """End open watches from the server's side; how many there were.

        Args:
            resource: Only those of this resource (any version of it); all by default.
            how: ``"clean"`` ends the answer properly after the events so far; ``"cut"`` drops the connection;
                ``"silent"`` leaves it open and never sends anything again, bookmarks included.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: An argument is malformed.
        """
        return self._engine.end_watches(resource, how)

    def compact(self, revision: int | None = None) -> None:
        """Forget history up to ``revision`` (all by default): older watches and continue tokens get 410."""
        self._engine.compact(revision)
