"""What an embedded server has seen, for tests to assert on."""

from __future__ import annotations

from dynkube.testing._wire.audit import Audit, OpenWatch, RequestRecord, WatchCount


class Records:
    """Requests and watches, as ``_audit`` has them."""

    _audit: Audit

    @property
    def audit(self) -> list[RequestRecord]:
        """Every request received so far, oldest first (the last ``audit_limit`` of them); a new list.

        Each says who asked for what, with which body, how it was answered and how long that took.
        """
        return self._audit.requests

    @property
    def requests(self) -> list[RequestRecord]:
        """The same as :attr:`audit`."""
        return self._audit.requests

    def forget_requests(self) -> None:
        """Empty :attr:`audit`, so that a test can look at one phase alone."""
        self._audit.forget_requests()

    @property
    def open_watches(self) -> tuple[OpenWatch, ...]:
        """The watches that are open now, oldest first: from their 200 until either side closed them."""
        return self._audit.open_watches

    @property
    def watch_counts(self) -> tuple[WatchCount, ...]:
        """How many watches each client has had on each resource, in all and at once, since the server began."""
        return self._audit.watch_counts

    async def wait_open_watches(self, count: int) -> None:
        """Return when exactly ``count`` watches are open. Waits without polling; put a timeout of yours around it."""
        await self._audit.wait_open_watches(count)
