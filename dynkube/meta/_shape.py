"""Checks that plain data can be encoded.

The data must not contain itself, and depth and repetition of shared parts are limited. Callers may pass any graph of
dicts and lists, and msgspec encodes it as a tree: a graph that uses each part ten times on each of ten levels becomes
ten gigabytes, and msgspec ends the process with a segmentation fault when memory runs out (seen with msgspec 0.20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynkube.errors import InvalidObject
from dynkube.meta._input_limits import MAX_DEPTH, MAX_REPEATED_VALUES

_PLAIN = frozenset({str, int, float, bool, type(None)})
_CONTAINERS = (dict, list, tuple)


def check_shape(value: object, called: str, *, max_depth: int = MAX_DEPTH) -> None:
    """Raise if a value is too large or too deep once encoded.

    Visits each list and dict once.

    Args:
        value: nested dicts, lists and scalars.
        called: description of the value, for the error message.
        max_depth: maximum nesting of lists and dicts.

    Raises:
        InvalidObject: ``value`` contains itself, is nested too deep, or repeats shared parts too often.
    """
    if _is_shallow_tree(value, max_depth):
        return
    if problem := _Walk(max_depth).problem(value):
        raise InvalidObject(f"{called} {problem}")


def _is_shallow_tree(value: object, max_depth: int) -> bool:
    """Whether no part is shared and the depth is allowed.

    A fast path for the usual case; goes level by level, with few calls.
    """
    level = [value] if isinstance(value, _CONTAINERS) else []
    seen: set[int] = set()
    for _ in range(max_depth):
        if not level:
            return True
        ids = set(map(id, level))
        if len(ids) < len(level) or not ids.isdisjoint(seen):
            return False
        seen |= ids
        level = [
            part
            for outer in level
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if type(part) not in _PLAIN and isinstance(part, _CONTAINERS)
        ]
    return not level


@dataclass(slots=True)
class _Part:
    """A list or dict, with size and depth of its encoding as far as visited."""

    value: object  # a reference, so that its id is not reused meanwhile
    parts: Iterator[object]
    values: int
    levels: int = 1


class _Walk:
    """A traversal that enters each list and dict once.

    Each is counted as often as it occurs.
    """

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._done: dict[int, _Part] = {}
        self._path: list[_Part] = []
        self._open: set[int] = set()
        self._repeated = 0

    def problem(self, root: object) -> str:
        """Return a description of the problem with the value; ``""`` if there is none."""
        self._enter(root)
        while self._path:
            part = next(self._path[-1].parts, None)
            if part is None:
                self._leave()
            elif id(part) in self._open:
                return "contains itself"
            elif (known := self._done.get(id(part))) is None:
                self._enter(part)
            else:
                self._add(known)
                self._repeated += known.values
            if len(self._path) + (self._path[-1].levels - 1 if self._path else 0) > self._max_depth:
                return f"is nested more than {self._max_depth:,} levels deep"
            if self._repeated > MAX_REPEATED_VALUES:
                return f"repeats shared parts too often: more than {MAX_REPEATED_VALUES:,} repeated values"
        return ""

    def _enter(self, value: object) -> None:
        assert isinstance(value, dict | list | tuple)
        values = value.values() if isinstance(value, dict) else value
        parts = [part for part in values if type(part) not in _PLAIN and isinstance(part, _CONTAINERS)]
        # each container counts itself
        count = 1 + len(value) - len(parts) + (len(value) if isinstance(value, dict) else 0)
        self._open.add(id(value))
        self._path.append(_Part(value, iter(parts), count))

    def _leave(self) -> None:
        done = self._path.pop()
        self._open.discard(id(done.value))
        self._done[id(done.value)] = done
        if self._path:
            self._add(done)

    def _add(self, part: _Part) -> None:
        around = self._path[-1]
        around.values += part.values
        around.levels = max(around.levels, part.levels + 1)
