"""Pod failure policies and success policies of Jobs."""

from __future__ import annotations

import re

from dynkube_testing._builtin import checks, typechecks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._calls.gotext import quoted

_MOST_RULES, _MOST_VALUES, _LONGEST_INDEXES = 20, 255, 64 * 1024

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def _chosen(*supported: str) -> tuple[typechecks.Check, typechecks.Check]:
    """Return the checks of a required field whose values are listed in the text."""
    return checks.required(f"valid values: [{' '.join(map(quoted, supported))}]"), checks.one_of(*supported)


def _check_action(rule: Field) -> None:
    action = rule.at("action")
    needed, supported = _chosen(*_ACTIONS)
    if needed(action):
        return
    if action.value == "FailIndex":
        if rule.above("JobSpec").get("backoffLimitPerIndex") is None:
            action.invalid("requires the backoffLimitPerIndex to be set")
    else:
        supported(action)


def _check_criteria(rule: Field) -> None:
    exits, conditions = rule.get("onExitCodes") is not None, bool(rule.get("onPodConditions"))
    if exits and conditions:
        rule.unspecified("specifying both OnExitCodes and OnPodConditions is not supported")
    if not exits and not conditions:
        rule.unspecified("specifying one of OnExitCodes and OnPodConditions is required")


def _check_container_name(exits: Field) -> None:
    name, pod = exits.at("containerName"), exits.above("JobSpec").get("template", "spec") or {}
    names = {each.get("name") for field in ("containers", "initContainers") for each in pod.get(field) or ()}
    if name.value is not None and name.value not in names:
        name.invalid("must be one of the container or initContainer names in the pod template")


def _check_exit_codes(exits: Field) -> None:
    values = exits.at("values")
    codes: list[int] = values.value or []
    if not codes:
        values.invalid("at least one value is required")
    checks.at_most(_MOST_VALUES)(values)
    for index, code in enumerate(codes):
        if exits.get("operator") == "In" and code == 0:
            values.item(index).invalid("must not be 0 for the In operator")
        if code in codes[:index]:
            values.item(index).duplicate()
    if codes != sorted(codes):
        values.invalid("must be ordered")


def _check_success_rule(rule: Field) -> None:
    indexes, count = rule.at("succeededIndexes"), rule.at("succeededCount")
    most = rule.above("JobSpec").get("completions") or 0
    total, problem = _count_indexes(indexes.value, most) if indexes.value is not None else (0, "")
    if indexes.value is None and count.value is None:
        rule.required("at least one of succeededCount or succeededIndexes must be specified")
    if len(indexes.value or "") > _LONGEST_INDEXES:
        indexes.too_long(_LONGEST_INDEXES)
    if problem:
        indexes.invalid(f"error parsing succeededIndexes: {problem}")
    if count.value is None:
        return
    checks.not_negative(count)
    if count.value > most:
        count.invalid(f"must be less than or equal to {most} (the number of specified completions)")
    if indexes.value is not None and count.value > total:
        of = "the number of indexes in the specified succeededIndexes field"
        count.invalid(f"must be less than or equal to {total} ({of})")


def _count_indexes(text: str, completions: int) -> tuple[int, str]:
    """Return the number of indexes in ``text`` such as ``1,3-5``, and the error if it is invalid."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            interval = "an index interval can have at most two parts separated by '-'"
            return 0, f"the fragment {quoted(part)} violates the requirement that {interval}"
        for limit in limits:
            if not re.fullmatch(r"\+?\d+", limit):
                return 0, f"cannot convert string to integer for index: {quoted(limit)}"
            if int(limit) >= completions:
                return 0, f"too large index: {quoted(limit)}"
        first, final = int(limits[0]), int(limits[-1])
        for former, current in ((first, final) if len(limits) == 2 else (-1, 0), (last, first)):
            if former >= current:
                return 0, f"non-increasing order, previous: {former}, current: {current}"
        total, last = total + final - first + 1, final
    return total, ""


CHECKS: typechecks.Table = {
    "batch.v1.PodFailurePolicy": (("rules", checks.at_most(_MOST_RULES)),),
    "batch.v1.PodFailurePolicyRule": (
        _check_action,
        "onExitCodes",
        ("onPodConditions", checks.at_most(_MOST_RULES)),
        _check_criteria,
    ),
    "batch.v1.PodFailurePolicyOnExitCodesRequirement": (
        ("operator", *_chosen("In", "NotIn")),
        _check_container_name,
        _check_exit_codes,
    ),
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": (
        ("type", checks.qualified_name),
        ("status", *_chosen("False", "True", "Unknown")),
    ),
    "batch.v1.SuccessPolicy": (
        (
            "rules",
            checks.required("at least one rules must be specified when the successPolicy is specified"),
            checks.at_most(_MOST_RULES),
        ),
    ),
    "batch.v1.SuccessPolicyRule": (_check_success_rule,),
}
