"""Limits of one list over all its pages: a server could send pages without end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

from dynkube.errors import EndlessList
from dynkube.meta import UnstructuredList
from dynkube.rest import Limits

_MAX_EMPTY_PAGES: Final = 100
"""Maximum number of consecutive empty pages before the last one. kube-apiserver sends no empty pages, as it reads on
until a page is full or nothing is left; an aggregated API that filters its pages may send some."""


class Paging:
    """Counts the pages, tokens and bytes of one list.

    Args:
        limits: the client's limits.
        request: description of the request, for messages.
        kept: whether all pages are kept in memory; then bytes and time are limited as well. ``False`` if the caller
            processes them page by page.
    """

    __slots__ = ("_bytes", "_dropped", "_empty", "_kept", "_limits", "_pages", "_request", "_tokens")

    def __init__(self, limits: Limits, request: str, *, kept: bool = True) -> None:
        self._limits = limits
        self._request = request
        self._kept = kept
        self._bytes = 0
        self._dropped = 0
        self._pages = 0
        self._empty = 0
        self._tokens: set[int] = set()  # hashes: a token may be as long as a page

    def received(self, size: int) -> None:
        """Count received bytes of a page.

        Raises:
            EndlessList: the list has more than ``max_list_bytes``.
        """
        self._bytes += size
        if self._kept and self._bytes > self._limits.max_list_bytes:
            raise self._endless(f"it has more than {self._limits.max_list_bytes} bytes (Limits.max_list_bytes)")

    def dropped(self, count: int) -> None:
        """Count objects of a page that the client has left out of it: without them the page may be empty."""
        self._dropped += count

    def token_after(self, page: UnstructuredList) -> str:
        """Return the continue token of a page; ``""`` if it is the last one.

        Raises:
            EndlessList: the token was used before, or there are too many pages.
        """
        token = page.continue_token
        if not token:
            return ""
        self._pages += 1
        self._empty = 0 if len(page) or self._dropped else self._empty + 1
        self._dropped = 0
        if hash(token) in self._tokens:
            raise EndlessList(
                f"{self._request}: page {self._pages} has the continue token of an earlier one, so the same pages "
                "would be returned again: the server's paging is broken; page_size=None requests one response"
            )
        self._tokens.add(hash(token))
        if self._empty >= _MAX_EMPTY_PAGES:
            raise self._endless(f"{self._empty} consecutive pages are empty, and more follow")
        if self._pages >= self._limits.max_list_pages:
            raise self._endless(f"it has more than {self._limits.max_list_pages} pages (Limits.max_list_pages)")
        return token

    @contextmanager
    def in_time(self) -> Iterator[None]:
        """Cancel the block after ``max_list_seconds``.

        Raises:
            EndlessList: the time is up.
        """
        seconds = self._limits.max_list_seconds
        with trio.move_on_after(seconds) as scope:
            yield
        if scope.cancelled_caught:
            raise self._endless(f"it did not end within {seconds:g} s (Limits.max_list_seconds)")

    def _endless(self, why: str) -> EndlessList:
        return EndlessList(
            f"{self._request}: the list was aborted after {self._pages} pages and {self._bytes} bytes: {why}; "
            "narrow it with a namespace or selectors, or raise the limit: connect(limits=...)"
        )
