"""The base class for the rules of built-in kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dynkube.errors import StatusCause
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.sections import read_copy, section
from dynkube_testing._builtin.typechecks import TypeChecks
from dynkube_testing._builtin.typedefaults import TypeDefaults
from dynkube_testing._builtin.types import field_type, stored_type_of, type_of
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._verbs.rules import KindRules

Prepare: TypeAlias = Callable[[JSONObject, JSONObject | None], object]
Change: TypeAlias = Callable[[Field, JSONObject], object]
Caution: TypeAlias = Callable[[JSONObject, JSONObject | None], Iterable[str]]

#: The use of the names of most workloads, for warnings.
POD_NAMES = "Pod names and hostnames"


def _nothing(obj: object, old: object) -> None:
    """Do nothing."""


def _no_warnings(obj: JSONObject, old: JSONObject | None) -> Iterable[str]:
    """Return no warnings."""
    return ()


def may_warn(obj: JSONObject, old: JSONObject | None) -> bool:
    """Return whether a write may cause warnings: a create, or a new generation."""
    return old is None or obj["metadata"].get("generation") != old["metadata"].get("generation")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinRules(KindRules):
    """The rules of one built-in kind.

    Attributes:
        type_checks: The rules of the types of all kinds.
        type_defaults: The defaults of the types of all kinds.
        flat: Whether the objects have neither a status nor parts with defaults, so that those which each new server has
            are created without reading the schemas.
        decides: Function that sets the fields that the server decides (such as an empty status). Its arguments are the
            object and the stored object, ``None`` for a create.
        fixed: Paths of fields that must not change, in updates of the whole object.
        changes: Function that reports other forbidden changes.
        updated: Function with checks that apply only to updates, also to those of subresources.
        names: The use of the object's name for which a DNS label is recommended (text of a warning); ``""`` for none.
        cautions: Function that returns warnings for values that are valid, but probably mistakes.
    """

    type_checks: TypeChecks
    type_defaults: TypeDefaults
    flat: bool = False
    decides: Prepare = _nothing
    fixed: tuple[str, ...] = ()
    changes: Change = _nothing
    updated: Change = _nothing
    names: str = ""
    cautions: Caution = _no_warnings

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults. Fields are copied first, so that the request is not modified."""
        for field in obj.keys() - {"metadata"}:
            if obj[field] is None:
                del obj[field]
            else:
                obj[field] = read_copy(obj[field])
        self.type_defaults.complete(type_of(kind), obj, flat=self.flat)
        if (content := kind.content) is not None:
            stored = content.to_keep(obj)
            self.type_defaults.complete(stored_type_of(kind), stored)
            metadata, shown = obj["metadata"], content.shown(stored)
            metadata_shown = dict(shown["metadata"])
            metadata.clear()
            metadata.update(metadata_shown)
            obj.clear()
            obj.update({**shown, "metadata": metadata})

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the fields that the server decides, and a missing status that is never absent."""
        if not self.flat and field_type(type_of(kind), "status").by_value:
            section(obj, "status")
        self.decides(obj, old)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the validation errors of the object; as in a real server, with the paths of the stored version."""
        stored = obj if kind.content is None else kind.content.to_keep(obj)
        field = self.type_checks.checked(stored_type_of(kind), stored, creating=old is None)
        if old is not None:
            self.updated(field, old)
        return field.causes

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
        field = self.type_checks.root(type_of(kind), obj)
        before = self.type_checks.root(type_of(kind), old)
        for path in self.fixed:
            names = path.split(".")
            field.at(*names).immutable(before.get(*names))
        self.changes(field, old)
        return field.causes


#: Makes the rules of a kind; its arguments are :attr:`~BuiltinRules.type_checks` and ``type_defaults``.
Factory: TypeAlias = Callable[..., BuiltinRules]
