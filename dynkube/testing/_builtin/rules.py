"""What is known about one built-in kind, as the rules that writes go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dynkube.errors import StatusCause
from dynkube.testing._builtin.findings import Findings, read_copy
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds import naming
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._verbs.rules import KindRules

Complete: TypeAlias = Callable[[JSONObject], None]
Prepare: TypeAlias = Callable[[JSONObject, JSONObject | None], None]
Check: TypeAlias = Callable[[Findings, JSONObject, JSONObject | None], None]
Caution: TypeAlias = Callable[[JSONObject, JSONObject | None], Iterable[str]]

#: What the names of most workloads become part of.
POD_NAMES = "Pod names and hostnames"


def _nothing(obj: JSONObject) -> None:
    """No defaults."""


def _nothing_more(obj: JSONObject, old: JSONObject | None) -> None:
    """Nothing that the server decides."""


def _no_warnings(obj: JSONObject, old: JSONObject | None) -> Iterable[str]:
    """Nothing that is hardly meant so."""
    return ()


def asks_anew(obj: JSONObject, old: JSONObject | None) -> bool:
    """Whether an object asks for something else than before, if there was one: other writes are not warned of."""
    return old is None or obj["metadata"].get("generation") != old["metadata"].get("generation")


def _fine(findings: Findings, obj: JSONObject, old: JSONObject | None) -> None:
    """Nothing that is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinRules(KindRules):
    """The rules of one built-in kind.

    Attributes:
        defaults: Fills in what the type itself has as defaults, on each write.
        decides: Fills in what the server decides (addresses, an empty status), given what there was before.
        checks: Tells what is wrong.
        changes: Tells what may not be changed, on an update of the object itself.
        names: What its name becomes part of, where a DNS label is recommended for that.
        cautions: Tells what is valid, and hardly meant so.
    """

    defaults: Complete = _nothing
    decides: Prepare = _nothing_more
    checks: Check = _fine
    changes: Check = _fine
    names: str = ""
    cautions: Caution = _no_warnings

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Defaults, on a copy of what was sent."""
        for field in obj.keys() - {"metadata"}:
            if obj[field] is None:
                del obj[field]
            else:
                obj[field] = read_copy(obj[field])
        self.defaults(obj)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """What the server decides."""
        self.decides(obj, old)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """What is wrong."""
        findings = Findings()
        self.checks(findings, obj, old)
        return findings.causes

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """A new name that is valid and may surprise, and whatever else is hardly meant so."""
        problems = naming.label_problems(obj["metadata"].get("name", "")) if self.names and old is None else []
        surprise = "which can result in surprising behavior; a DNS label is recommended"
        named = [f"metadata.name: this is used in {self.names}, {surprise}: [{' '.join(problems)}]"] if problems else []
        return [*named, *self.cautions(obj, old)]

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """What may not be changed."""
        findings = Findings()
        self.changes(findings, obj, old)
        return findings.causes
