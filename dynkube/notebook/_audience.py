"""Tracks which pages show a live table.

A page sends "hello" when it opens, answers messages, and sends "bye" when its output is cleared, its cell run again, or
the notebook closed. Some pages disappear without a message: the browser was closed, or the network failed. A timeout
does not count while a cell runs, as front-ends without subshells deliver no message before the cell ends.
"""

from __future__ import annotations

import math
from typing import Final

SILENCE: Final = 120.0
"""Seconds without a message after which a page is gone; it gets a message every 15 s, and answers every 30 s."""
GRACE: Final = 60.0
"""Seconds without any page after which the table rests; a page that comes back sends "hello"."""
_EAGER: Final = 10  # snapshots sent at the full rate while no page has sent "hello"
_SLOW: Final = 2.0  # seconds between the following ones


class Audience:
    """The browser pages that display one table, and when each last reported.

    No I/O; times are in seconds, from the caller's clock.
    """

    __slots__ = ("_deaf", "_expected", "_pages", "_sent", "_since")

    def __init__(self, now: float) -> None:
        self._pages: dict[str, float] = {}  # time of each page's last message
        self._since = now  # since when there is no page
        self._deaf = False
        self._expected = True  # no page has sent "hello" yet, but one may be open
        self._sent = 0  # snapshots sent while none has

    def expect(self, now: float) -> None:
        """Expect a page: the table was created, or is displayed again."""
        self._since = now
        self._expected, self._sent = not self._pages, 0

    def came(self, page: str, now: float, *, stays: bool = False) -> None:
        """Note a message of a page.

        With ``stays`` the page never times out, as it sends no further messages.
        """
        self._pages[page] = math.inf if stays else now
        self._expected = False

    def went(self, page: str, now: float) -> None:
        """Remove a page that is gone."""
        if self._pages.pop(page, None) is not None and not self._pages:
            self._since = now

    def deafen(self) -> None:
        """Suspend timeouts: from now on, messages of pages may be delayed."""
        self._deaf = True

    def listen(self, now: float) -> None:
        """Resume timeouts, counted from now: messages are delivered again, delayed ones too."""
        self._deaf = False
        self._since = max(self._since, now)
        self._pages = {page: max(heard, now) for page, heard in self._pages.items()}

    def __contains__(self, page: str) -> bool:
        return page in self._pages

    @property
    def has_pages(self) -> bool:
        """Whether any page is known to be open."""
        return bool(self._pages)

    def wants(self, now: float, sent_at: float) -> bool:
        """Return whether to send another snapshot, the last message having been sent at ``sent_at``.

        A page may be open before its "hello" arrives, so snapshots are sent without one too, after a while more slowly.
        """
        return bool(self._pages) or (self._expected and (self._sent < _EAGER or now - sent_at >= _SLOW))

    def needs_complete(self) -> bool:
        """Return whether the next snapshot must be complete, as no page has confirmed the last one; counts it."""
        if self._expected:
            self._sent += 1
        return self._expected

    @property
    def is_eager(self) -> bool:
        """Whether to send complete snapshots even without changes, as the page may have opened after the last one."""
        return self._expected and self._sent <= _EAGER

    def is_gone(self, now: float) -> bool:
        """Return whether no page has shown the table for ``GRACE`` seconds.

        Removes pages that have timed out.
        """
        if not self._deaf:
            for page in [page for page, heard in self._pages.items() if now - heard >= SILENCE]:
                self.went(page, now)
        may_come = self._expected and self._deaf
        return not self._pages and not may_come and now - self._since >= GRACE
