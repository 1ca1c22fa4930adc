"""Recorded requests and watches of an embedded server, for assertions in tests."""

from __future__ import annotations

from dynkube_testing._wire.audit import Audit, OpenWatch, RequestRecord, WatchCount


class Records:
    """Access to the requests and watches recorded in ``_audit``."""

    _audit: Audit

    @property
    def audit(self) -> list[RequestRecord]:
        """The requests received so far, oldest first, as a new list.

        Only the last ``audit_limit`` requests are kept, each with its user, body, response and duration.
        """
        return self._audit.requests

    @property
    def requests(self) -> list[RequestRecord]:
        """Alias of :attr:`audit`."""
        return self._audit.requests

    def forget_requests(self) -> None:
        """Clear :attr:`audit`, for example between the phases of a test."""
        self._audit.forget_requests()

    @property
    def open_watches(self) -> tuple[OpenWatch, ...]:
        """The open watches, oldest first.

        A watch is open from its 200 response until either side closes it.
        """
        return self._audit.open_watches

    @property
    def watch_counts(self) -> tuple[WatchCount, ...]:
        """Number of watches per client and resource since the server started.

        Each entry has the total number and the number of concurrently open watches.
        """
        return self._audit.watch_counts

    async def wait_open_watches(self, count: int) -> None:
        """Wait until exactly ``count`` watches are open.

        Waits without polling. There is no timeout; use ``trio.fail_after`` if one is needed.
        """
        await self._audit.wait_open_watches(count)
