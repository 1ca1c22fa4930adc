"""Validation and evaluation of label selectors, and of node selectors."""

from __future__ import annotations

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Table
from dynkube_testing._calls.api import JSONObject

_SEVERAL = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_OPERATOR = "not a valid selector operator"


def _check_operator(requirement: Field) -> None:
    operator, values = requirement.get("operator") or "", requirement.at("values")
    match operator:
        case "In" | "NotIn":
            checks.required(_SEVERAL)(values)
        case "Exists" | "DoesNotExist":
            if values.value:
                values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case "Gt" | "Lt" if requirement.type.endswith("NodeSelectorRequirement"):
            if len(values.value or ()) != 1:
                values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
        case _:
            requirement.at("operator").invalid(_NO_OPERATOR, operator)


def _check_values(requirement: Field) -> None:
    """Check the values; those of preferred node affinities are not checked."""
    if requirement.owner is None or requirement.owner.name != "preference":
        values = requirement.at("values")
        for index in range(len(values.value or ())):
            checks.label_value(values.item(index))


def _check_field_requirements(term: Field) -> None:
    """Check the requirements of fields of nodes, of which there is only the name."""
    for requirement in term.each("matchFields"):
        operator, values = requirement.get("operator") or "", requirement.at("values")
        if operator not in {"In", "NotIn"}:
            requirement.at("operator").invalid(_NO_OPERATOR, operator)
        elif len(values.value or ()) != 1:
            values.required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
        if (key := requirement.get("key") or "") != "metadata.name":
            requirement.at("key").invalid("not a valid field selector key", key)
            continue
        for index in range(len(values.value or ())):
            checks.subdomain(values.item(index))


CHECKS: Table = {
    "meta.v1.LabelSelector": (("matchLabels", checks.labels), "matchExpressions"),
    "meta.v1.LabelSelectorRequirement": (_check_operator, ("key", checks.qualified_name), _check_values),
    "core.v1.NodeSelector": (("nodeSelectorTerms", checks.required("must have at least one node selector term")),),
    "core.v1.NodeSelectorTerm": ("matchExpressions", _check_field_requirements),
    "core.v1.NodeSelectorRequirement": (_check_operator, ("key", checks.qualified_name), _check_values),
}


def is_empty(selector: JSONObject) -> bool:
    """Return whether ``selector`` has no requirements."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")
