"""The result of ``diff_all``; prints like ``kubectl diff``."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube._displayable import Displayable
from dynkube._text.tables import printable
from dynkube.fields import Diff
from dynkube.manifests._entries import Entries
from dynkube.manifests._location import Place
from dynkube.manifests._report import object_name
from dynkube.meta import Unstructured


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffEntry:
    """The changes that applying a source would make to one object.

    Attributes:
        place: location in the source; ``None`` for objects that are not in it.
        object: as in the source; ``None`` if it cannot be read.
        diff: the changes, false if there are none; ``None`` if they are unknown.
        error: why the changes are unknown; ``None`` if they are known.
        new: whether the object would be created, but the server cannot check it before its CRD or namespace exists.
        reason: an explanation of ``new``, or the operation that failed if ``error`` does not tell it.
        pruned: whether the object is a member of the ApplySet that is not in the source, so that it would be deleted;
            ``diff`` then has all its fields.
    """

    place: Place | None = None
    object: Unstructured | None = None
    diff: Diff | None = None
    error: Exception | None = None
    new: bool = False
    reason: str = ""
    pruned: bool = False

    @property
    def message(self) -> str:
        """The reason and the error as text; Secret values are redacted."""
        return ": ".join(filter(None, (self.reason, str(self.error) if self.error is not None else "")))

    @property
    def differs(self) -> bool:
        """Whether anything would change."""
        return self.new or bool(self.diff)

    def __str__(self) -> str:
        """The diff in the format of ``kubectl diff``; empty if nothing would change."""
        if self.diff is not None:
            conflicts = "".join(f"# {conflict}\n" for conflict in self.diff.conflicts)
            return f"{self.diff}\n{conflicts}".rstrip("\n") if self.diff else ""
        name = object_name(self.object) if self.object is not None else ""
        mark = "!" if self.error is not None else "#"
        about = " ".join(filter(None, (name, f"({self.place})" if self.place is not None else "")))
        return printable(f"{mark} {': '.join(filter(None, (about, self.message)))}", keep="\n")


class DiffReport(Displayable, Entries[DiffEntry]):
    """The changes that applying a source would make.

    Entries are in the order of the source. The report is false if nothing would change.

    ``print()`` of it shows all diffs like ``kubectl diff``; a notebook shows the same.
    """

    @property
    def ok(self) -> bool:
        """Whether the changes of all objects are known."""
        return all(entry.error is None for entry in self._entries)

    def __bool__(self) -> bool:
        return any(entry.differs for entry in self._entries)

    @property
    def summary(self) -> str:
        """``2 differ, 40 do not, 3 would be pruned, 1 failed``."""
        of_source = [entry for entry in self._entries if not entry.pruned and (entry.object is not None or entry.error)]
        pruned = sum(entry.pruned and entry.error is None for entry in self._entries)
        failed = sum(entry.error is not None for entry in self._entries)
        differing = sum(entry.differs for entry in of_source)
        alike = sum(entry.error is None and not entry.differs for entry in of_source)
        counts = [f"{differing} differ", f"{alike} do not"]
        counts += [f"{pruned} would be pruned"] if pruned else []
        return ", ".join([*counts, f"{failed} failed"] if failed else counts)

    def __str__(self) -> str:
        return "\n".join([*filter(None, map(str, self._entries)), self.summary])

    def __repr__(self) -> str:
        return f"<DiffReport: {self.summary}>"
