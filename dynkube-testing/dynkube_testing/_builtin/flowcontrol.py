"""FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

import math

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.extensions import alone
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Check, Rules
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_NAMESPACE_HELP = "each member of this list must be '*' or a DNS-1123 label; "
_MOST_PRECEDENCE, _MOST_QUEUES, _MOST_BITS = 10_000, 10_000_000, 60


def _nonzero(**values: int) -> typedefaults.Default:
    """Return a function that sets fields which are missing or 0."""

    def complete(obj: JSONObject) -> None:
        obj.update({name: value for name, value in values.items() if not obj.get(name)})

    return complete


# ── FlowSchema ────────────────────────────────────────────────────────────────────────────────


def _check_precedence(precedence: Field) -> None:
    if precedence.value <= 0:
        precedence.invalid("must be a positive value")
    if precedence.value > _MOST_PRECEDENCE:
        precedence.invalid(f"must not be greater than {_MOST_PRECEDENCE}")
    if precedence.value == 1 and precedence.above("FlowSchema").get("metadata", "name") != "exempt":
        precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1")


def _check_method(method: Field) -> None:
    if (kind := method.get("type") or "") not in {"ByNamespace", "ByUser"}:
        method.at("type").unsupported(("ByNamespace", "ByUser"), {"Type": kind})


def _check_rules(rules: Field) -> None:
    if not rules.get("resourceRules") and not rules.get("nonResourceRules"):
        rules.required("at least one of resourceRules and nonResourceRules has to be non-empty")


def _check_subject(subject: Field) -> None:
    kind, own = subject.get("kind"), _SUBJECTS.get(subject.get("kind") or "")
    if own is None:
        subject.at("kind").one_of(sorted(_SUBJECTS))
        return
    if subject.get(own) is None:
        subject.at(own).required(f"{own} is required when subject kind is '{kind}'")
    subject.at(own).check()
    for other, field in _SUBJECTS.items():
        if field != own and subject.get(field) is not None:
            subject.at(field).forbidden(f"{field} is forbidden when subject kind is not '{other}'")


def _check_account(account: Field) -> None:
    if account.get("name") not in {None, "", "*"}:
        checks.subdomain(account.at("name"))


def _check_verbs(verbs: Field) -> None:
    if "*" not in verbs.value and not set(verbs.value) <= set(_VERBS):
        verbs.unsupported(_VERBS)


def _check_namespaces(rule: Field) -> None:
    namespaces = rule.at("namespaces")
    if not namespaces.value and not rule.get("clusterScope"):
        namespaces.required("resource rules that are not cluster scoped must supply at least one namespace")
    for index, name in enumerate(namespaces.value or ()):
        if "*" not in namespaces.value and (problem := naming.label_problem(name)):
            namespaces.item(index).invalid(_NAMESPACE_HELP + problem)


def _check_paths(rule: Field) -> None:
    paths = rule.at("nonResourceURLs")
    for index in range(0 if "*" in (paths.value or ()) else len(paths.value or ())):
        paths.item(index).invalid(_path_problem(paths.value[index]), paths.value[index])


def _path_problem(path: str) -> str:
    if not path or path == "/":
        return "" if path else "must not be empty"
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    wrong = path.count("*") > 1 or ("*" in path and not path.endswith("/*"))
    return "wildcard can only do suffix matching" if wrong else ""


# ── PriorityLevelConfiguration ────────────────────────────────────────────────────────────────


def _check_level(spec: Field) -> None:
    kind, limited, exempt = spec.at("type"), spec.at("limited"), spec.at("exempt")
    name = spec.above("PriorityLevelConfiguration").get("metadata", "name")
    if (name == "exempt") != (kind.value == "Exempt"):
        kind.invalid("must be 'Exempt' if and only if `name` is 'exempt'", kind.value or "")
    match kind.value:
        case "Exempt":
            if limited.value is not None:
                limited.forbidden("must be nil if the type is not Limited")
            exempt.check()
        case "Limited":
            if exempt.value is not None:
                exempt.forbidden("must be nil if the type is Limited")
            if limited.value is None:
                limited.required("must not be empty when type is Limited")
            limited.check()
        case _:
            kind.one_of(("Exempt", "Limited")) if kind.value else kind.required()


def _check_response(response: Field) -> None:
    kind, queuing = response.at("type"), response.at("queuing")
    match kind.value:
        case "Reject":
            if queuing.value is not None:
                queuing.forbidden("must be nil if limited.limitResponse.type is not Limited")
        case "Queue":
            if queuing.value is None:
                queuing.required("must not be empty if limited.limitResponse.type is Limited")
            queuing.check()
        case _:
            kind.one_of(("Queue", "Reject")) if kind.value else kind.required()


def _check_hand(queuing: Field) -> None:
    hand, queues = queuing.at("handSize"), queuing.get("queues")
    if hand.value <= 0:
        hand.invalid("must be positive")
    elif hand.value > queues:
        hand.invalid(f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand.value) > _MOST_BITS:
        sizes = f"deckSize {queues} and handSize {hand.value}"
        hand.invalid(f"required entropy bits of {sizes} should not be greater than {_MOST_BITS}")


_POSITIVE = checks.at_least(1, "must be positive")
_SHARES: Check = checks.at_least(0, "must be a non-negative integer")
_PERCENT: Check = checks.between(0, 100)
_RULE_VERBS: Rules = (
    ("verbs", checks.required("verbs must contain at least one value"), alone("verbs"), _check_verbs),
)
_GROUP = "flowcontrol.v1"

DEFAULTS: typedefaults.Table = {
    f"{_GROUP}.FlowSchemaSpec": (_nonzero(matchingPrecedence=1000),),
    f"{_GROUP}.ExemptPriorityLevelConfiguration": ({"nominalConcurrencyShares": 0, "lendablePercent": 0},),
    f"{_GROUP}.LimitedPriorityLevelConfiguration": ({"nominalConcurrencyShares": 30, "lendablePercent": 0},),
    f"{_GROUP}.QueuingConfiguration": (_nonzero(handSize=8, queues=64, queueLengthLimit=50),),
}
CHECKS: typechecks.Table = {
    f"{_GROUP}.FlowSchema": ("spec",),
    f"{_GROUP}.FlowSchemaSpec": (
        ("matchingPrecedence", _check_precedence),
        "distinguisherMethod",
        ("priorityLevelConfiguration.name", checks.required("must reference a priority level"), checks.subdomain),
        "rules",
    ),
    f"{_GROUP}.FlowDistinguisherMethod": (_check_method,),
    f"{_GROUP}.PolicyRulesWithSubjects": (
        ("subjects", checks.required("subjects must contain at least one value")),
        _check_rules,
        "resourceRules",
        "nonResourceRules",
    ),
    f"{_GROUP}.Subject": (_check_subject,),
    f"{_GROUP}.ServiceAccountSubject": (
        "name!",
        _check_account,
        ("namespace", checks.required("must specify namespace for service account"), checks.label),
    ),
    f"{_GROUP}.UserSubject": ("name!",),
    f"{_GROUP}.GroupSubject": ("name!",),
    f"{_GROUP}.ResourcePolicyRule": (
        *_RULE_VERBS,
        ("apiGroups", checks.required("resource rules must supply at least one api group"), alone("api groups")),
        ("resources", checks.required("resource rules must supply at least one resource"), alone("resources")),
        _check_namespaces,
        ("namespaces", alone("namespaces")),
    ),
    f"{_GROUP}.NonResourcePolicyRule": (
        *_RULE_VERBS,
        (
            "nonResourceURLs",
            checks.required("nonResourceURLs must contain at least one value"),
            alone("non-resource URLs"),
        ),
        _check_paths,
    ),
    f"{_GROUP}.PriorityLevelConfiguration": ("spec",),
    f"{_GROUP}.PriorityLevelConfigurationSpec": (_check_level,),
    f"{_GROUP}.ExemptPriorityLevelConfiguration": (
        ("nominalConcurrencyShares", _SHARES),
        ("lendablePercent", _PERCENT),
    ),
    f"{_GROUP}.LimitedPriorityLevelConfiguration": (
        ("nominalConcurrencyShares", _SHARES),
        "limitResponse",
        ("lendablePercent", _PERCENT),
        ("borrowingLimitPercent", checks.at_least(0, "if specified, must be a non-negative integer")),
    ),
    f"{_GROUP}.LimitResponse": (_check_response,),
    f"{_GROUP}.QueuingConfiguration": (
        ("queueLengthLimit", _POSITIVE),
        ("queues", _POSITIVE, checks.between(-(2**31), _MOST_QUEUES, f"must not be greater than {_MOST_QUEUES}")),
        _check_hand,
    ),
}
