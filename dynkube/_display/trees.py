"""Trees as table rows: a line for each node, with columns beside the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from dynkube._display.cards import Line, Span, line, muted

N = TypeVar("N")

_BRANCH: Final = ("├─ ", "│  ")
_LAST: Final = ("└─ ", "   ")


def tree_rows(
    root: N, children: Callable[[N], Sequence[N]], cells: Callable[[N], tuple[Span, ...]]
) -> Iterator[tuple[Line, ...]]:
    """Yield table rows from the top down, with the first column drawn as a tree.

    Args:
        root: the root node, of any type.
        children: returns the children of a node.
        cells: returns the cells of a node; the first is its name.
    """
    pending: list[tuple[N, str, str]] = [(root, "", "")]
    while pending:
        node, lead, below = pending.pop()
        name, *rest = cells(node)
        yield (line(muted(lead), name), *(line(cell) for cell in rest))
        under = children(node)
        last = len(under) - 1
        for place in range(last, -1, -1):
            own, inner = _LAST if place == last else _BRANCH
            pending.append((under[place], below + own, below + inner))
