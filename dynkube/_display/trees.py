"""Trees as text: what belongs to what, with a line for each node and columns beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dynkube._display.cards import Line, Span, line, muted

_BRANCH: Final = ("├─ ", "│  ")
_LAST: Final = ("└─ ", "   ")


@dataclass(frozen=True, slots=True)
class Node:
    """One node.

    Attributes:
        cells: what its line shows; the first one is its name.
        children: what is below it.
    """

    cells: tuple[Span, ...]
    children: Sequence[Node] = ()


def tree_rows(root: Node) -> Iterator[tuple[Line, ...]]:
    """The rows of a table, from the top down; the names are drawn as a tree."""
    pending: list[tuple[Node, str, str]] = [(root, "", "")]
    while pending:
        node, lead, below = pending.pop()
        name, *rest = node.cells
        yield (line(muted(lead), name), *(line(cell) for cell in rest))
        last = len(node.children) - 1
        for place in range(last, -1, -1):
            own, inner = _LAST if place == last else _BRANCH
            pending.append((node.children[place], below + own, below + inner))
