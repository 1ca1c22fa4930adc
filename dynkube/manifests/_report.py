"""What became of each object of a source, as data that prints as a table."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dynkube._display import Shown, Table, printable
from dynkube.errors import ApplyConflict
from dynkube.manifests._entries import Entries
from dynkube.manifests._place import Place
from dynkube.meta import Unstructured

if TYPE_CHECKING:
    from dynkube._display import Card


class Outcome(enum.StrEnum):
    """What became of one object."""

    CREATED = "created"
    """It was not there."""
    CHANGED = "changed"
    """It was there, and is another now."""
    UNCHANGED = "unchanged"
    """It was there as it should be, and its resourceVersion did not move."""
    APPLIED = "applied"
    """The server took it; whether that changed anything is not known, as it may not be read."""
    PRUNED = "pruned"
    """It was in the ApplySet, is not in the source any more, and its deletion has begun."""
    CONFLICTED = "conflicted"
    """Other managers own fields with other values; nothing was written."""
    FAILED = "failed"
    """It is no object, the server refused it, or there was no answer."""
    SKIPPED = "skipped"
    """It was not sent; the reason says why."""
    INTERRUPTED = "interrupted"
    """It was sent, and the run ended before there was an answer: it may have been written, or not."""


#: After these the run has not done what it was asked to.
TROUBLE = frozenset({Outcome.CONFLICTED, Outcome.FAILED, Outcome.INTERRUPTED})
#: The server took it.
DONE = frozenset({Outcome.CREATED, Outcome.CHANGED, Outcome.UNCHANGED, Outcome.APPLIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What became of one object.

    Attributes:
        outcome: in one word.
        place: where it stands in the source; ``None`` for what was pruned.
        object: as the server answered with it, else as it stands in the source; ``None`` where the source could not
            be read.
        error: what was raised: of a conflict an :class:`~dynkube.errors.ApplyConflict`.
        reason: why it was skipped, what could not be done where ``error`` does not say, or that it is being deleted.
    """

    outcome: Outcome
    place: Place | None = None
    object: Unstructured | None = None
    error: Exception | None = None
    reason: str = ""

    @property
    def source(self) -> str:
        """``FILE:LINE``; ``""`` for what was pruned."""
        return "" if self.place is None else str(self.place)

    @property
    def name(self) -> str:
        """``deployment.apps/web``, as kubectl names objects; ``""`` where there is no object."""
        return "" if self.object is None else object_name(self.object)

    @property
    def namespace(self) -> str:
        """Of the object; ``""`` for cluster-scoped ones, and where the source does not say."""
        return "" if self.object is None else self.object.namespace

    @property
    def terminating(self) -> bool:
        """Whether the server took it and is deleting the object: what was applied goes with it."""
        return self.outcome in DONE and self.object is not None and self.object.deletion_timestamp is not None

    @property
    def message(self) -> str:
        """What went wrong, why it was skipped, or that it is being deleted, for people; without values of Secrets."""
        if self.error is None:
            return self.reason
        return ": ".join(filter(None, (self.reason, str(self.error) or type(self.error).__name__)))

    def __str__(self) -> str:
        """One line, and what went wrong under it."""
        details = _details(self)
        if details and not (self.name or self.source):  # of the ApplySet: there is nothing else to begin with
            details[0] = f"{self.outcome:<11} {details[0]}"
            return "\n    ".join(details)
        where = f"  ({self.source})" if self.source else ""
        namespace = f" -n {self.namespace}" if self.namespace else ""
        first = printable(f"{self.outcome:<11} {self.name or '-'}{namespace}{where}")
        return "\n    ".join([first, *details])


class Report(Shown, Entries[Entry]):
    """What became of every object of a source, in the order of the source; what was pruned comes last.

    ``print()`` of it is a table, then what went wrong, then the numbers; a notebook shows the same in HTML.

    Attributes:
        dry_run: whether nothing was written, and each outcome is what would become of it.
        interrupted: whether the run ended before it was through.
    """

    def __init__(self, entries: Sequence[Entry], *, dry_run: bool = False, interrupted: bool = False) -> None:
        super().__init__(entries)
        self.dry_run = dry_run
        self.interrupted = interrupted

    @property
    def ok(self) -> bool:
        """Whether all of it was done: nothing conflicted, failed or was interrupted."""
        return not self.interrupted and not any(entry.outcome in TROUBLE for entry in self._entries)

    @property
    def changed(self) -> bool:
        """Whether anything was, or in a dry run would be, written or deleted, as far as is known."""
        quiet = {Outcome.UNCHANGED, Outcome.SKIPPED, Outcome.CONFLICTED, Outcome.FAILED}
        return any(entry.outcome not in quiet for entry in self._entries)

    def of(self, *outcomes: Outcome | str) -> tuple[Entry, ...]:
        """The entries with one of these outcomes: ``report.of("failed", "conflicted")``."""
        wanted = {Outcome(outcome) for outcome in outcomes}
        return tuple(entry for entry in self._entries if entry.outcome in wanted)

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many there are of each outcome, without those of which there are none."""
        counted = Counter(entry.outcome for entry in self._entries)
        return {outcome: counted[outcome] for outcome in Outcome if counted[outcome]}

    @property
    def summary(self) -> str:
        """``3 created, 1 failed; 1 is being deleted (dry run: nothing was written)``."""
        numbers = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items()) or "nothing to apply"
        if terminating := sum(entry.terminating for entry in self._entries):
            numbers += f"; {terminating} {'is' if terminating == 1 else 'are'} being deleted"
        numbers += "; the run was interrupted" if self.interrupted else ""
        return f"{numbers} (dry run: nothing was written)" if self.dry_run else numbers

    def __str__(self) -> str:
        return "\n\n".join(filter(None, (str(self._table()), *self._troubles(), self.summary)))

    def _card(self, now: datetime) -> Card:
        from dynkube.manifests._shown import report_card

        return report_card(self, now)

    def __repr__(self) -> str:
        return f"<Report: {self.summary}>"

    def _table(self) -> Table:
        rows = ((entry.outcome, entry.name, entry.namespace, entry.source, entry.reason) for entry in self._entries)
        return Table(("OUTCOME", "OBJECT", "NAMESPACE", "SOURCE", "REASON"), tuple(rows))

    def _troubles(self) -> Iterator[str]:
        return (str(entry) for entry in self._entries if entry.error is not None)


def object_name(obj: Unstructured) -> str:
    """``deployment.apps/web``, as kubectl names objects."""
    group = obj.api_version.rpartition("/")[0]
    return f"{'.'.join(filter(None, (obj.kind.lower(), group)))}/{obj.name}"


def _details(entry: Entry) -> list[str]:
    if isinstance(entry.error, ApplyConflict) and entry.error.conflicts:
        return entry.error.table().splitlines()
    return [printable(line) for line in entry.message.splitlines()]
