"""The output of ``dynkube demo``: the code that runs, its results, and the checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from dynkube._text.tables import printable
from dynkube.cli._timeline import TimelineEntry

_STYLES = {
    "added": "green",
    "updated": "cyan",
    "deleted": "red",
    "UNKNOWN": "yellow",
    "ABSENT": "yellow",
    "SYNCING": "cyan",
    "LIVE": "green",
    "DEGRADED": "red",
}


@dataclass(frozen=True, slots=True)
class Check:
    """An expected and an actual value."""

    claim: str
    expected: object
    found: object

    @property
    def holds(self) -> bool:
        """Whether the values are equal."""
        return self.expected == self.found


class DemoPrinter:
    """Prints the demo; colours depend on the console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._failed = 0

    def introduce(self, text: str) -> None:
        """Print the first line."""
        self._console.print(Text(text, style="dim"))

    def begin(self, title: str, code: str) -> None:
        """Print the title of a step, and the Python code that it runs."""
        self._console.print()
        self._console.print(Text(title, style="bold"))
        for line in code.splitlines():
            self._console.print(Text(f"    {line}", style="blue"))

    def print_timeline(self, entries: Iterable[TimelineEntry]) -> None:
        """Print handler calls and states with their times."""
        for entry in entries:
            line = Text().append(f"  {entry.after:6.2f} s  ", style="dim")
            line.append(f"{entry.word:<8}", style=_STYLES.get(entry.word, ""))
            line.append(f"  {printable(entry.text)}".rstrip())
            self._console.print(line)

    def judge(self, checks: Iterable[Check]) -> bool:
        """Print the checks that hold on one line, and each failed one on its own.

        Return whether all hold.
        """
        judged = list(checks)
        holding = "; ".join(f"{check.claim}: {_value(check.found)}" for check in judged if check.holds)
        if holding:
            self._console.print(Text().append("      ok  ", style="green").append(printable(holding)))
        failing = [check for check in judged if not check.holds]
        for check in failing:
            self._console.print(Text().append("  FAILED  ", style="bold red").append(_complaint(check)))
        self._failed += len(failing)
        return not failing

    def end(self, held: bool) -> None:
        """Print the last line."""
        self._console.print()
        if held:
            self._console.print(Text("All checks passed.", style="bold green"))
        else:
            self._console.print(Text(f"{self._failed} of the above checks failed: see FAILED.", style="bold red"))


def _complaint(check: Check) -> str:
    return printable(f"{check.claim}: expected {_value(check.expected)}, found {_value(check.found)}")


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{number} on {name}" for name, number in value.items())
    return str(value) or "none"
