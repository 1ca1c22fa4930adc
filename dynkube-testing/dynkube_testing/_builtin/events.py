"""Events, in their two versions: ``v1``, in which they are stored, and ``events.k8s.io/v1``, which is stricter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube_testing._builtin import checks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import fill
from dynkube_testing._builtin.types import stored_type_of
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind

_LONGEST, _LONGEST_MESSAGE = 128, 1024
# The namespaces of events about objects without a namespace.
_CLUSTER_WIDE = ("default", "kube-system")
_MISMATCH = "does not match event.namespace"
# Fields that an update through the stricter version must not change.
_FIXED = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type",
    "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip
_TIMES_OF_V1 = {
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_TIMES = {"deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None, "eventTime": None}
_UNSET: Mapping[str, object] = {"firstTimestamp": None, "lastTimestamp": None, "count": 0, "source": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRules(BuiltinRules):
    """The rules of Events, with the paths of ``v1`` as in a real server."""

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set zero values that are never omitted. They have no owner, unlike defaults."""
        fill(obj, **(_TIMES_OF_V1 if kind.content is None else _TIMES))

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the validation errors, more for ``events.k8s.io/v1``."""
        strict, keep = kind.content is not None, kind.content.to_keep if kind.content is not None else dict
        event = self.type_checks.root(stored_type_of(kind), keep(obj), creating=old is None)
        reporter = event.at("reportingComponent")
        _check_event(event, reporter.renamed("reportingController") if strict else reporter)
        if strict and old is None:
            _check_new(event)
        elif strict and old is not None:
            _check_change(event, keep(old))
        return event.causes


def _check_event(event: Field, reporter: Field) -> None:
    namespace, own = event.at("involvedObject", "namespace"), event.get("metadata", "namespace") or ""
    if not event.get("eventTime"):
        if (namespace.value or "") not in ({own, ""} if own == "default" else {own}):
            namespace.invalid(_MISMATCH, namespace.value or "")
        return
    if not namespace.value and own not in _CLUSTER_WIDE:
        namespace.invalid(_MISMATCH, "")
    if not reporter.value:
        reporter.required()
    checks.qualified_name(reporter)
    for name in ("reportingInstance", "action", "reason"):
        field = event.at(name)
        if not field.value:
            field.required()
        elif len(field.value) > _LONGEST:
            field.invalid(f"can have at most {_LONGEST} characters", "")
    if len(event.get("message") or "") > _LONGEST_MESSAGE:
        event.at("message").invalid(f"can have at most {_LONGEST_MESSAGE} characters", "")


def _check_new(event: Field) -> None:
    _check_series(event)
    if not event.get("eventTime"):
        event.at("eventTime").required()
    if (kind := event.get("type") or "") not in {"Normal", "Warning"}:
        event.at("type").invalid(f"has invalid value: {kind}", "")
    for name, unset in _UNSET.items():
        if (event.get(name) or unset) != unset:
            event.at(name).invalid("needs to be unset", "")


def _check_series(event: Field) -> None:
    if event.get("series") is None:
        return
    if (event.get("series", "count") or 0) < 2:
        event.at("series", "count").invalid("should be at least 2", "")
    if not event.get("series", "lastObservedTime"):
        event.at("series", "lastObservedTime").required()


def _check_change(event: Field, old: JSONObject) -> None:
    if event.get("series") != old.get("series"):
        _check_series(event)
    for name in _FIXED:
        event.at(name).renamed("reportingController" if name == "reportingComponent" else name).immutable(old.get(name))


RULES: Mapping[str, Factory] = {"events": EventRules}
