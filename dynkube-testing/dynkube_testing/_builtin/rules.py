"""The base class for the rules of built-in kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dynkube.errors import StatusCause
from dynkube_testing._builtin.findings import BuiltinFindings, read_copy
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._verbs.rules import KindRules

Complete: TypeAlias = Callable[[JSONObject], None]
Prepare: TypeAlias = Callable[[JSONObject, JSONObject | None], None]
Check: TypeAlias = Callable[[BuiltinFindings, JSONObject, JSONObject | None], None]
Caution: TypeAlias = Callable[[JSONObject, JSONObject | None], Iterable[str]]

#: The use of the names of most workloads, for warnings.
POD_NAMES = "Pod names and hostnames"


def _nothing(obj: JSONObject) -> None:
    """Set no defaults."""


def _nothing_more(obj: JSONObject, old: JSONObject | None) -> None:
    """Set no fields."""


def _no_warnings(obj: JSONObject, old: JSONObject | None) -> Iterable[str]:
    """Return no warnings."""
    return ()


def may_warn(obj: JSONObject, old: JSONObject | None) -> bool:
    """Return whether a write may cause warnings: a create, or a new generation."""
    return old is None or obj["metadata"].get("generation") != old["metadata"].get("generation")


def _fine(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinRules(KindRules):
    """The rules of one built-in kind.

    Attributes:
        defaults: Function that sets the defaults of an object. It is called for each write.
        decides: Function that sets the fields that the server decides (such as an empty status). Its arguments are the
            object and the stored object, ``None`` for a create.
        checks: Function that adds validation errors to its first argument.
        changes: Function that adds errors for forbidden changes, in updates of the whole object.
        names: The use of the object's name for which a DNS label is recommended (text of a warning); ``""`` for none.
        cautions: Function that returns warnings for values that are valid, but probably mistakes.
    """

    defaults: Complete = _nothing
    decides: Prepare = _nothing_more
    checks: Check = _fine
    changes: Check = _fine
    names: str = ""
    cautions: Caution = _no_warnings

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults. Fields are copied first, so that the request is not modified."""
        for field in obj.keys() - {"metadata"}:
            if obj[field] is None:
                del obj[field]
            else:
                obj[field] = read_copy(obj[field])
        self.defaults(obj)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the fields that the server decides."""
        self.decides(obj, old)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the validation errors of the object."""
        findings = BuiltinFindings()
        self.checks(findings, obj, old)
        return findings.causes

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return warnings for probable mistakes.

        The name of a new object that is not a DNS label causes one if :attr:`names` is set.
        """
        problems = naming.label_problems(obj["metadata"].get("name", "")) if self.names and old is None else []
        surprise = "which can result in surprising behavior; a DNS label is recommended"
        named = [f"metadata.name: this is used in {self.names}, {surprise}: [{' '.join(problems)}]"] if problems else []
        return [*named, *self.cautions(obj, old)]

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Return the errors for forbidden changes."""
        findings = BuiltinFindings()
        self.changes(findings, obj, old)
        return findings.causes
