"""Matching lines of two texts, in time that grows with their length. Pure.

``difflib`` gives readable results, but takes minutes for two documents of ten thousand lines that differ in every
second line. So long texts are split at lines that are unique in both, in the same order (as in patience diff), and the
parts in between are compared separately.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final

_MOST_COMPARISONS: Final = 1_000_000


class LineMatcher(SequenceMatcher[str]):
    """A ``SequenceMatcher`` of lines that is also fast for long texts.

    The diff of long texts is correct, but not always minimal: tens of thousands of identical lines between two others
    may count as replaced.

    Args:
        old: lines of the first text.
        new: lines of the second text.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        self._old, self._new = old, new

    def get_matching_blocks(self) -> list[Match]:
        """Return the matching blocks; the last one is empty, as with ``difflib``."""
        if len(self._old) * len(self._new) <= _MOST_COMPARISONS:
            return super().get_matching_blocks()
        blocks: list[Match] = []
        for at, to, size in _blocks(self._old, self._new):
            if blocks and (last := blocks[-1]).a + last.size == at and last.b + last.size == to:
                blocks[-1] = Match(last.a, last.b, last.size + size)  # merge adjacent blocks
            else:
                blocks.append(Match(at, to, size))
        return [*blocks, Match(len(self._old), len(self._new), 0)]


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    start_old = start_new = 0
    for at, to in [*_anchors(old, new), (len(old), len(new))]:
        for a, b, size in _between(old[start_old:at], new[start_new:to]):
            yield start_old + a, start_new + b, size
        if at < len(old):
            yield at, to, 1
        start_old, start_new = at + 1, to + 1


def _between(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Match the lines between two anchors."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    tail = next((back for back in range(shorter - head) if old[-1 - back] != new[-1 - back]), shorter - head)
    if head:
        yield 0, 0, head
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(middle_old) * len(middle_new) <= _MOST_COMPARISONS:
        for a, b, size in SequenceMatcher(None, middle_old, middle_new).get_matching_blocks()[:-1]:
            yield head + a, head + b, size
    if tail:
        yield len(old) - tail, len(new) - tail, tail


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of positions of lines that are unique in both texts.

    Of these lines, the longest sequence that is in the same order in both texts is returned.
    """
    once = {line for line, times in Counter(new).items() if times == 1}
    places = {line: place for place, line in enumerate(new) if line in once}
    counts = Counter(old)
    pairs = [(place, places[line]) for place, line in enumerate(old) if counts[line] == 1 and line in places]
    ends: list[int] = []  # smallest last position in `new` of an increasing sequence of each length
    rows: list[tuple[int, int]] = []  # length of the sequence that each pair ends
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        rows.append((length, at))
    found: list[tuple[int, int]] = []
    wanted = len(ends) - 1
    for length, at in reversed(rows):
        if length == wanted and (not found or pairs[at][1] < found[-1][1]):
            found.append(pairs[at])
            wanted -= 1
    return found[::-1]
