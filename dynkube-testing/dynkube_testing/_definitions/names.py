"""Conditions of a CRD, and its accepted names: requested names that are not taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._definitions.approval import approval, is_protected
from dynkube_testing._definitions.conversion import bundle_is_bad
from dynkube_testing._definitions.crds import condition, set_condition

_IN_ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
_AS_KINDS = {"kind", "listKind"}


def accept_names(definition: JSONObject, taken_resources: set[str], taken_kinds: set[str], time: str) -> None:
    """Accept the requested names that are not taken, and set NamesAccepted.

    If several names are taken, the condition reports the last one.
    """
    wanted, status = definition["spec"]["names"], definition["status"]
    accepted = dict(status.get("acceptedNames") or {})
    if accepted == wanted:
        return
    reason, message = "NoConflicts", "no conflicts found"
    for field in _IN_ORDER[:-1]:
        taken = taken_kinds if field in _AS_KINDS else taken_resources
        if clashes := [name for name in _new(wanted, accepted, field) if name in taken]:
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            texts = [f'"{name}" is already in use' for name in clashes]
            message = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        else:
            _take(accepted, wanted, field)
    _take(accepted, wanted, "categories")
    given = {"plural": "", "kind": "", **accepted}
    status["acceptedNames"] = {field: given[field] for field in _IN_ORDER if field in given}
    free = reason == "NoConflicts"
    set_condition(definition, "NamesAccepted", free, reason, message, time)
    established = condition(definition, "Established")
    if free and established != "True":
        set_condition(definition, "Established", False, "Installing", "the initial names have been accepted", time)
    elif not established:
        set_condition(definition, "Established", False, "NotAccepted", "not all names are accepted", time)


def establish(definition: JSONObject, time: str) -> None:
    """Set the Established condition.

    Its status is ``False`` if the conversion webhook's ``caBundle`` is invalid.
    """
    if bundle_is_bad(definition):
        message = "The conversion webhook CABundle is invalid"
        set_condition(definition, "Established", False, "InvalidCABundle", message, time)
    else:
        message = "the initial names have been accepted"
        set_condition(definition, "Established", True, "InitialNamesAccepted", message, time)


def set_approval_condition(definition: JSONObject, time: str) -> None:
    """Set the condition KubernetesAPIApprovalPolicyConformant of a CRD.

    CRDs in groups that are not protected do not have it.
    """
    if is_protected(definition["spec"]["group"]):
        state, message = approval(definition)
        kind = "KubernetesAPIApprovalPolicyConformant"
        set_condition(definition, kind, state == "Approved", f"{state}Annotation", message, time)


def resource_names(accepted: JSONObject) -> set[str]:
    """Return the resource names that a CRD takes: plural, singular, short names."""
    return {*_texts(accepted, "plural"), *_texts(accepted, "singular"), *_texts(accepted, "shortNames")}


def kind_names(accepted: JSONObject) -> set[str]:
    """Return the kinds that a CRD occupies in its group: its kind and its list kind."""
    return {*_texts(accepted, "kind"), *_texts(accepted, "listKind")}


def _new(wanted: JSONObject, accepted: JSONObject, field: str) -> Iterable[str]:
    """Return the names of ``field`` in the spec that are not accepted yet."""
    present = _texts(accepted, field)
    return (name for name in _texts(wanted, field) if name not in present)


def _take(accepted: JSONObject, wanted: JSONObject, field: str) -> None:
    accepted.pop(field, None)
    if field in wanted:
        accepted[field] = wanted[field]


def _texts(names: JSONObject, field: str) -> Sequence[str]:
    value: str | Sequence[str] = names.get(field) or ()
    return (value,) if isinstance(value, str) else value
