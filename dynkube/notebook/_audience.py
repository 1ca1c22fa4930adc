"""Who looks at a live table, as far as that can be known.

A page says that it is there ("hello"), answers what it hears, and says goodbye when its output is cleared, its cell run
again, or the notebook closed. Some go without a word: the browser was closed, the network is gone. While a cell runs,
though, silence says nothing, since front-ends without subshells deliver no word before it ends.
"""

from __future__ import annotations

import math
from typing import Final

SILENCE: Final = 120.0
"""Seconds without a word after which a page is gone; it hears something every 15, and answers every 30."""
GRACE: Final = 60.0
"""Seconds without any page after which nobody will look: to come back, a page says hello."""
_EAGER: Final = 10  # pictures that are sent at the full rate while no page has said that it is there
_SLOW: Final = 2.0  # seconds between those that come after


class Audience:
    """Plain data; moments are seconds of a clock of the caller's."""

    __slots__ = ("_deaf", "_expected", "_pages", "_sent", "_since")

    def __init__(self, now: float) -> None:
        self._pages: dict[str, float] = {}  # when each was heard last
        self._since = now  # how long there has been none
        self._deaf = False
        self._expected = True  # nobody has come yet, and may be there without being heard
        self._sent = 0  # pictures to whom it may concern

    def expect(self, now: float) -> None:
        """Somebody is about to look: the table was made, or is displayed once more."""
        self._since = now
        self._expected, self._sent = not self._pages, 0

    def came(self, page: str, now: float, *, stays: bool = False) -> None:
        """A page said something. One that ``stays`` never speaks again, and is there until it went."""
        self._pages[page] = math.inf if stays else now
        self._expected = False

    def went(self, page: str, now: float) -> None:
        """A page said goodbye."""
        if self._pages.pop(page, None) is not None and not self._pages:
            self._since = now

    def deafen(self) -> None:
        """From now on, pages may speak without being heard."""
        self._deaf = True

    def listen(self, now: float) -> None:
        """From now on every word is heard, those included that were said meanwhile."""
        self._deaf = False
        self._since = max(self._since, now)
        self._pages = {page: max(heard, now) for page, heard in self._pages.items()}

    def __contains__(self, page: str) -> bool:
        return page in self._pages

    def wants(self, now: float, told: float) -> bool:
        """Whether there should be another picture, the last word having been sent at ``told``.

        While no page was heard of, one may be there all the same: it gets pictures, after a while more slowly.
        """
        return bool(self._pages) or (self._expected and (self._sent < _EAGER or now - told >= _SLOW))

    def needs_whole(self) -> bool:
        """Whether the picture that is being sent has to be a whole one, as nobody has said that the last one came."""
        if self._expected:
            self._sent += 1
        return self._expected

    @property
    def is_eager(self) -> bool:
        """Whether it gets whole pictures also where nothing is new: the ones before may have come too early."""
        return self._expected and self._sent <= _EAGER

    def is_gone(self, now: float) -> bool:
        """Whether nobody looks any more."""
        if not self._deaf:
            for page in [page for page, heard in self._pages.items() if now - heard >= SILENCE]:
                self.went(page, now)
        may_come = self._expected and self._deaf
        return not self._pages and not may_come and now - self._since >= GRACE
