"""``Log``: a log that was read as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from dynkube._displayable import Displayable
from dynkube._text.tables import printable
from dynkube._text.words import counted
from dynkube.pods._logs.lines import LogLine


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Log(Displayable, Sequence[LogLine]):
    """The lines of a container's log; ``str()`` is its text. From :meth:`Pod.read_logs`.

    Attributes:
        lines: the lines, in the order in which they were written.
        pod: the pod's name.
        namespace: the pod's namespace.
        container: the container's name.
        truncated: why there are more lines than these, and how to read them; ``""`` if there are none.
    """

    lines: tuple[LogLine, ...]
    pod: str
    namespace: str
    container: str
    truncated: str = ""

    @property
    def text(self) -> str:
        """The lines as text, each with a newline; invalid UTF-8 is replaced."""
        return "".join(f"{line.text}{'' if line.continues else chr(10)}" for line in self.lines)

    @property
    def size(self) -> int:
        """The bytes of all lines, with a newline each."""
        return sum(len(line.raw) + (not line.continues) for line in self.lines)

    @overload
    def __getitem__(self, index: int) -> LogLine: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LogLine]: ...
    def __getitem__(self, index: int | slice) -> LogLine | Sequence[LogLine]:
        return self.lines[index]

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[LogLine]:
        return iter(self.lines)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        more = ", truncated" if self.truncated else ""
        lines = counted(len(self.lines), "line")
        return printable(f"<Log of {self.namespace}/{self.pod} {self.container}: {lines}{more}>")
