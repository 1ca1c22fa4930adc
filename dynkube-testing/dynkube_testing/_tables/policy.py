"""Tables of RBAC, admission, certificate, priority and disruption budget kinds."""

from __future__ import annotations

from collections.abc import Sequence

from dynkube_testing._tables.ages import Ages, human_duration
from dynkube_testing._tables.columns import AGE, NAME, Cell, Printer, column, wide
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, UNSET


def _binding(obj: Fields, ages: Ages) -> Sequence[Cell]:
    subjects = obj.each("subjects")

    def names(kind: str) -> str:
        return ", ".join(subject.text("name") for subject in subjects if subject.text("kind") == kind)

    accounts = (
        f"{subject.text('namespace')}/{subject.text('name')}"
        for subject in subjects
        if subject.text("kind") == "ServiceAccount"
    )
    role = f"{obj.text('roleRef.kind')}/{obj.text('roleRef.name')}"
    return [obj.name, role, ages.of(obj), names("User"), names("Group"), ", ".join(accounts)]


def _webhooks(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, len(obj.each("webhooks")), ages.of(obj)]


def _validating_policy(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, len(obj.each("spec.validations")), _param_kind(obj), ages.of(obj)]


def _mutating_policy(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, len(obj.each("spec.mutations")), _param_kind(obj), ages.of(obj)]


def _param_kind(obj: Fields) -> str:
    kind = obj.at("spec.paramKind")
    return f"{kind.text('apiVersion')}/{kind.text('kind')}" if obj.has("spec.paramKind") else UNSET


def _policy_binding(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("spec.policyName"), _param(obj.at("spec.paramRef")), ages.of(obj)]


def _param(ref: Fields) -> str:
    if ref.text("name"):
        # "*" because it is not known here whether the kind of the parameter is namespaced.
        return f"{ref.text('namespace') or '*'}/{ref.text('name')}"
    return _printed_selector(ref.at("selector")) if ref.has("selector") else UNSET


def _printed_selector(selector: Fields) -> str:
    """Format a selector like Go prints the struct, as in a real server."""
    labels = selector.mapping("matchLabels")
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    terms = "".join(
        f"LabelSelectorRequirement{{Key:{term.text('key')},Operator:{term.text('operator')},"
        f"Values:[{' '.join(term.texts('values'))}],}},"
        for term in selector.each("matchExpressions")
    )
    matched = f"MatchLabels:map[string]string{{{pairs}}},MatchExpressions:[]LabelSelectorRequirement{{{terms}}},"
    return f"&LabelSelector{{{matched}}}"


def _api_service(obj: Fields, ages: Ages) -> Sequence[Cell]:
    service = obj.at("spec.service")
    where = f"{service.text('namespace')}/{service.text('name')}" if obj.has("spec.service") else "Local"
    return [obj.name, where, _available(obj), ages.of(obj)]


def _available(obj: Fields) -> str:
    condition = obj.condition("Available")
    if condition is None:
        return "Unknown"
    status, reason = condition.text("status"), condition.text("reason")
    return status if status == "True" or not reason else f"{status} ({reason})"


def _signing_request(obj: Fields, ages: Ages) -> Sequence[Cell]:
    seconds = obj.number("spec.expirationSeconds")
    return [
        obj.name,
        ages.of(obj),
        obj.text("spec.signerName") or NONE,
        obj.text("spec.username"),
        human_duration(seconds) if obj.has("spec.expirationSeconds") else NONE,
        _signing_status(obj),
    ]


def _signing_status(obj: Fields) -> str:
    # As in a real server, the status of the conditions is not checked.
    kinds = {condition.text("type") for condition in obj.each("status.conditions")}
    status = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    failed = ",Failed" if "Failed" in kinds else ""
    return f"{status}{failed}{',Issued' if obj.text('status.certificate') else ''}"


def _disruption_budget(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [
        obj.name,
        obj.scalar("spec.minAvailable", "N/A"),
        obj.scalar("spec.maxUnavailable", "N/A"),
        obj.number("status.disruptionsAllowed"),
        ages.of(obj),
    ]


def _flow_schema(obj: Fields, ages: Ages) -> Sequence[Cell]:
    dangling = obj.condition("Dangling")
    return [
        obj.name,
        obj.text("spec.priorityLevelConfiguration.name"),
        obj.number("spec.matchingPrecedence"),
        obj.text("spec.distinguisherMethod.type", NONE),
        ages.of(obj),
        "?" if dangling is None else dangling.text("status"),
    ]


def _priority_level(obj: Fields, ages: Ages) -> Sequence[Cell]:
    limited = obj.at("spec.limited")
    queuing = limited.at("limitResponse.queuing")
    sizes = (queuing.number(name) for name in ("queues", "handSize", "queueLengthLimit"))
    return [
        obj.name,
        obj.text("spec.type"),
        limited.number("nominalConcurrencyShares") if obj.has("spec.limited") else NONE,
        *(sizes if limited.has("limitResponse.queuing") else (NONE, NONE, NONE)),
        ages.of(obj),
    ]


def _runtime_class(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("handler"), ages.of(obj)]


def _claim(obj: Fields, ages: Ages) -> Sequence[Cell]:
    states = ["deleted"] if obj.deleting else []
    if obj.has("status.allocation"):
        states.append("allocated")
        if obj.each("status.reservedFor"):
            states.append("reserved")
    return [obj.name, ",".join(states) or "pending", ages.of(obj)]


def _slice(obj: Fields, ages: Ages) -> Sequence[Cell]:
    spec = obj.at("spec")
    return [obj.name, spec.text("nodeName"), spec.text("driver"), spec.text("pool.name"), ages.of(obj)]


_PARAM_KIND = column("ParamKind", "Kind of the objects with its parameters")

API_SERVICES = Printer(
    (
        NAME,
        column("Service", "Service that answers for the API, or Local"),
        column("Available", "Whether it answers"),
        AGE,
    ),
    _api_service,
)
BINDINGS = Printer(
    (
        NAME,
        column("Role", "Role that is given"),
        AGE,
        wide("Users", "Users who get it"),
        wide("Groups", "Groups that get it"),
        wide("ServiceAccounts", "Service accounts that get it"),
    ),
    _binding,
)
CERTIFICATE_SIGNING_REQUESTS = Printer(
    (
        NAME,
        AGE,
        column("SignerName", "Who is asked to sign"),
        column("Requestor", "Who asks"),
        column("RequestedDuration", "For how long it is to be valid"),
        column("Condition", "Whether it is approved and issued"),
    ),
    _signing_request,
)
DISRUPTION_BUDGETS = Printer(
    (
        NAME,
        column("Min Available", "Pods that have to stay"),
        column("Max Unavailable", "Pods that may be away"),
        column("Allowed Disruptions", "Pods that may be taken away now", "integer"),
        AGE,
    ),
    _disruption_budget,
)
FLOW_SCHEMAS = Printer(
    (
        NAME,
        column("PriorityLevel", "Priority level of the requests it matches"),
        column("MatchingPrecedence", "Its rank among the schemas; lower comes first"),
        column("DistinguisherMethod", "How its requests are divided into flows"),
        AGE,
        column("MissingPL", "Whether its priority level is missing"),
    ),
    _flow_schema,
)
PRIORITY_LEVELS = Printer(
    (
        NAME,
        column("Type", "Whether requests are limited"),
        column("NominalConcurrencyShares", "Its share of the requests served at once"),
        column("Queues", "How many queues it has"),
        column("HandSize", "Queues that one flow may use"),
        column("QueueLengthLimit", "Requests that one queue holds"),
        AGE,
    ),
    _priority_level,
)
MUTATING_POLICIES = Printer(
    (NAME, column("Mutations", "How many changes it makes", "integer"), _PARAM_KIND, AGE), _mutating_policy
)
VALIDATING_POLICIES = Printer(
    (NAME, column("Validations", "How many checks it makes", "integer"), _PARAM_KIND, AGE), _validating_policy
)
POLICY_BINDINGS = Printer(
    (
        NAME,
        column("PolicyName", "Policy that is put in force"),
        column("ParamRef", "Objects with its parameters"),
        AGE,
    ),
    _policy_binding,
)
RESOURCE_CLAIMS = Printer((NAME, column("State", "Whether devices are allocated and in use"), AGE), _claim)
RESOURCE_SLICES = Printer(
    (
        NAME,
        column("Node", "Node that has the devices"),
        column("Driver", "Driver of the devices"),
        column("Pool", "Pool the devices belong to"),
        AGE,
    ),
    _slice,
)
RUNTIME_CLASSES = Printer((NAME, column("Handler", "What runs pods of this class"), AGE), _runtime_class)
WEBHOOKS = Printer((NAME, column("Webhooks", "How many webhooks it has", "integer"), AGE), _webhooks)
