"""The result of applying each object of a source; prints as a table."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynkube._displayable import Displayable
from dynkube._text.tables import Table, printable
from dynkube.errors import ApplyConflict
from dynkube.manifests._entries import Entries
from dynkube.manifests._location import Place
from dynkube.meta import Unstructured


class Outcome(enum.StrEnum):
    """The result for one object."""

    CREATED = "created"
    """The object did not exist before."""
    CHANGED = "changed"
    """The object existed and was modified."""
    UNCHANGED = "unchanged"
    """The object was up to date; its resourceVersion is the same."""
    APPLIED = "applied"
    """The apply succeeded; whether it changed anything is unknown, as RBAC does not allow to get the object."""
    PRUNED = "pruned"
    """A member of the ApplySet that is no longer in the source: its deletion was requested."""
    CONFLICTED = "conflicted"
    """Other managers own fields with other values; nothing was written."""
    FAILED = "failed"
    """It is not a valid object, the server returned an error response, or there was no response."""
    SKIPPED = "skipped"
    """It was not sent; see ``reason``."""
    INTERRUPTED = "interrupted"
    """It was sent, but the run ended before the response: it is unknown whether it was written."""


#: Outcomes of a run that was not successful.
TROUBLE = frozenset({Outcome.CONFLICTED, Outcome.FAILED, Outcome.INTERRUPTED})
#: Outcomes of a successful apply.
DONE = frozenset({Outcome.CREATED, Outcome.CHANGED, Outcome.UNCHANGED, Outcome.APPLIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The result for one object.

    Attributes:
        outcome: the kind of result.
        place: location in the source; ``None`` for pruned objects.
        object: as returned by the server, else as in the source; ``None`` if the source could not be read.
        error: the exception: for a conflict an :class:`~dynkube.errors.ApplyConflict`.
        reason: why the object was skipped, the operation that failed (if ``error`` does not tell it), that the object
            is being deleted, or that its namespace is ignored, as its kind is cluster-scoped.
    """

    outcome: Outcome
    place: Place | None = None
    object: Unstructured | None = None
    error: Exception | None = None
    reason: str = ""

    @property
    def source(self) -> str:
        """``FILE:LINE``; ``""`` for pruned objects."""
        return "" if self.place is None else str(self.place)

    @property
    def name(self) -> str:
        """``deployment.apps/web``, as kubectl names objects; ``""`` if there is no object."""
        return "" if self.object is None else object_name(self.object)

    @property
    def namespace(self) -> str:
        """The object's namespace; ``""`` if it is cluster-scoped or the source has none."""
        return "" if self.object is None else self.object.namespace

    @property
    def terminating(self) -> bool:
        """Whether the object was applied, but is being deleted with the applied fields."""
        return self.outcome in DONE and self.object is not None and self.object.deletion_timestamp is not None

    @property
    def message(self) -> str:
        """The reason and the error as text; Secret values are redacted."""
        if self.error is None:
            return self.reason
        return ": ".join(filter(None, (self.reason, str(self.error) or type(self.error).__name__)))

    def __str__(self) -> str:
        """One line, followed by the error."""
        details = _details(self)
        if details and not (self.name or self.source):  # an entry of the ApplySet has neither name nor source
            details[0] = f"{self.outcome:<11} {details[0]}"
            return "\n    ".join(details)
        where = f"  ({self.source})" if self.source else ""
        namespace = f" -n {self.namespace}" if self.namespace else ""
        first = printable(f"{self.outcome:<11} {self.name or '-'}{namespace}{where}")
        return "\n    ".join([first, *details])


class Report(Displayable, Entries[Entry]):
    """The results for all objects of a source.

    Entries are in the order of the source, followed by pruned objects. ``print(report)`` shows a table, the errors, and
    a summary; a notebook shows the same as HTML.

    Attributes:
        dry_run: whether this was a dry run: nothing was written, and the outcomes are predictions.
        interrupted: whether the run ended before it was complete.
    """

    def __init__(self, entries: Sequence[Entry], *, dry_run: bool = False, interrupted: bool = False) -> None:
        super().__init__(entries)
        self.dry_run = dry_run
        self.interrupted = interrupted

    @property
    def ok(self) -> bool:
        """Whether the run was complete and successful.

        No object is conflicted, failed or interrupted.
        """
        return not self.interrupted and not any(entry.outcome in TROUBLE for entry in self._entries)

    @property
    def changed(self) -> bool:
        """Whether anything was written or deleted (in a dry run: would be).

        Also true if that is unknown for an object.
        """
        quiet = {Outcome.UNCHANGED, Outcome.SKIPPED, Outcome.CONFLICTED, Outcome.FAILED}
        return any(entry.outcome not in quiet for entry in self._entries)

    def of(self, *outcomes: Outcome | str) -> tuple[Entry, ...]:
        """Return the entries with these outcomes: ``report.of("failed", "conflicted")``."""
        wanted = {Outcome(outcome) for outcome in outcomes}
        return tuple(entry for entry in self._entries if entry.outcome in wanted)

    @property
    def counts(self) -> dict[Outcome, int]:
        """Number of entries by outcome, without zeros."""
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

    def __repr__(self) -> str:
        return f"<Report: {self.summary}>"

    def _table(self) -> Table:
        rows = ((entry.outcome, entry.name, entry.namespace, entry.source, entry.reason) for entry in self._entries)
        return Table(("OUTCOME", "OBJECT", "NAMESPACE", "SOURCE", "REASON"), tuple(rows))

    def _troubles(self) -> Iterator[str]:
        return (str(entry) for entry in self._entries if entry.error is not None)


def object_name(obj: Unstructured) -> str:
    """Return ``deployment.apps/web``, as kubectl names objects."""
    group = obj.api_version.rpartition("/")[0]
    return f"{'.'.join(filter(None, (obj.kind.lower(), group)))}/{obj.name}"


def _details(entry: Entry) -> list[str]:
    if isinstance(entry.error, ApplyConflict) and entry.error.conflicts:
        return entry.error.table().splitlines()
    return [printable(line) for line in entry.message.splitlines()]
