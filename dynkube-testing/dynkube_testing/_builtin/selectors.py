"""Validation and evaluation of ``metav1.LabelSelector``."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube_testing._builtin.findings import BuiltinFindings, indexed
from dynkube_testing._calls.api import JSONObject

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def check_selector(findings: BuiltinFindings, path: str, selector: JSONObject) -> None:
    """Validate the ``metav1.LabelSelector`` at ``path``."""
    findings.labels(f"{path}.matchLabels", selector.get("matchLabels"))
    for at, expression in indexed(selector, path, "matchExpressions"):
        operator, values = expression.get("operator"), expression.get("values")
        if operator not in _OPERATORS:
            findings.invalid(f"{at}.operator", operator or "", "not a valid selector operator")
        elif operator in {"In", "NotIn"} and not values:
            findings.required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in {"Exists", "DoesNotExist"} and values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            findings.forbidden(f"{at}.values", detail)


def selects(selector: JSONObject, labels: Mapping[str, str]) -> bool:
    """Return whether ``selector`` matches ``labels``; an empty one matches everything."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    for expression in selector.get("matchExpressions") or ():
        there = labels.get(expression.get("key"))
        values = expression.get("values") or ()
        match expression.get("operator"):
            case "In" if there not in values:
                return False
            case "NotIn" if there in values:
                return False
            case "Exists" if there is None:
                return False
            case "DoesNotExist" if there is not None:
                return False
    return True


def is_empty(selector: JSONObject) -> bool:
    """Return whether ``selector`` has no requirements."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")
