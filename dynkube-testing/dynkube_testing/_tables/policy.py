"""Tables of RBAC, admission, certificate, priority and disruption budget kinds."""

from __future__ import annotations

from dynkube_testing._tables.ages import human_duration
from dynkube_testing._tables.columns import (
    AGE,
    NAME,
    Printer,
    Value,
    column,
    count,
    integer,
    number,
    scalar,
    text,
    wide,
)
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, UNSET


def _subjects(kind: str) -> Value:
    """Return the value of a column: the names of the subjects of a binding that are of ``kind``."""

    def value(obj: Fields) -> str:
        found = (subject for subject in obj.each("subjects") if subject.text("kind") == kind)
        prefixed = kind == "ServiceAccount"
        names = ((f"{each.text('namespace')}/" if prefixed else "") + each.text("name") for each in found)
        return ", ".join(names)

    return value


def _param_kind(obj: Fields) -> str:
    kind = obj.at("spec.paramKind")
    return f"{kind.text('apiVersion')}/{kind.text('kind')}" if obj.has("spec.paramKind") else UNSET


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


def _service(obj: Fields) -> str:
    service = obj.at("spec.service")
    return f"{service.text('namespace')}/{service.text('name')}" if obj.has("spec.service") else "Local"


def _available(obj: Fields) -> str:
    condition = obj.condition("Available")
    if condition is None:
        return "Unknown"
    status, reason = condition.text("status"), condition.text("reason")
    return status if status == "True" or not reason else f"{status} ({reason})"


def _duration(obj: Fields) -> str:
    return human_duration(obj.number("spec.expirationSeconds")) if obj.has("spec.expirationSeconds") else NONE


def _signing_status(obj: Fields) -> str:
    # As in a real server, the status of the conditions is not checked.
    kinds = {condition.text("type") for condition in obj.each("status.conditions")}
    status = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    failed = ",Failed" if "Failed" in kinds else ""
    return f"{status}{failed}{',Issued' if obj.text('status.certificate') else ''}"


def _dangling(obj: Fields) -> str:
    return "?" if (dangling := obj.condition("Dangling")) is None else dangling.text("status")


def _limited(path: str, owner: str) -> Value:
    """Return the value of a column: the number at ``path`` in the limits, if there is the object ``owner``."""
    return lambda obj: obj.number(f"spec.limited{path}") if obj.has(f"spec.limited{owner}") else NONE


def _claim_state(obj: Fields) -> str:
    states = ["deleted"] if obj.deleting else []
    if obj.has("status.allocation"):
        states.append("allocated")
        if obj.each("status.reservedFor"):
            states.append("reserved")
    return ",".join(states) or "pending"


def _queuing(name: str) -> Value:
    return _limited(f"{_QUEUING}.{name}", _QUEUING)


_QUEUING = ".limitResponse.queuing"
_PARAM_KIND = column("ParamKind", "Kind of the objects with its parameters", _param_kind)

API_SERVICES = Printer(
    (
        NAME,
        column("Service", "Service that answers for the API, or Local", _service),
        column("Available", "Whether it answers", _available),
        AGE,
    )
)
BINDINGS = Printer(
    (
        NAME,
        column("Role", "Role that is given", lambda obj: f"{obj.text('roleRef.kind')}/{obj.text('roleRef.name')}"),
        AGE,
        wide("Users", "Users who get it", _subjects("User")),
        wide("Groups", "Groups that get it", _subjects("Group")),
        wide("ServiceAccounts", "Service accounts that get it", _subjects("ServiceAccount")),
    )
)
CERTIFICATE_SIGNING_REQUESTS = Printer(
    (
        NAME,
        AGE,
        column("SignerName", "Who is asked to sign", lambda obj: obj.text("spec.signerName") or NONE),
        column("Requestor", "User who sent the request", "spec.username"),
        column("RequestedDuration", "For how long it is to be valid", _duration),
        column("Condition", "Whether it is approved and issued", _signing_status),
    )
)
DISRUPTION_BUDGETS = Printer(
    (
        NAME,
        column("Min Available", "Pods that have to stay", scalar("spec.minAvailable", "N/A")),
        column("Max Unavailable", "Pods that may be away", scalar("spec.maxUnavailable", "N/A")),
        integer("Allowed Disruptions", "Pods that may be taken away now", "status.disruptionsAllowed"),
        AGE,
    )
)
FLOW_SCHEMAS = Printer(
    (
        NAME,
        column("PriorityLevel", "Priority level of the requests it matches", "spec.priorityLevelConfiguration.name"),
        column(
            "MatchingPrecedence", "Its rank among the schemas; lower comes first", number("spec.matchingPrecedence")
        ),
        column(
            "DistinguisherMethod",
            "How its requests are divided into flows",
            text("spec.distinguisherMethod.type", NONE),
        ),
        AGE,
        column("MissingPL", "Whether its priority level is missing", _dangling),
    )
)
PRIORITY_LEVELS = Printer(
    (
        NAME,
        column("Type", "Whether requests are limited", "spec.type"),
        column(
            "NominalConcurrencyShares",
            "Its share of the requests served at once",
            _limited(".nominalConcurrencyShares", ""),
        ),
        column("Queues", "How many queues it has", _queuing("queues")),
        column("HandSize", "Queues that one flow may use", _queuing("handSize")),
        column("QueueLengthLimit", "Requests that one queue holds", _queuing("queueLengthLimit")),
        AGE,
    )
)
MUTATING_POLICIES = Printer(
    (NAME, column("Mutations", "How many changes it makes", count("spec.mutations"), "integer"), _PARAM_KIND, AGE)
)
VALIDATING_POLICIES = Printer(
    (NAME, column("Validations", "How many checks it makes", count("spec.validations"), "integer"), _PARAM_KIND, AGE)
)
POLICY_BINDINGS = Printer(
    (
        NAME,
        column("PolicyName", "Policy that is put in force", "spec.policyName"),
        column("ParamRef", "Objects with its parameters", lambda obj: _param(obj.at("spec.paramRef"))),
        AGE,
    )
)
RESOURCE_CLAIMS = Printer((NAME, column("State", "Whether devices are allocated and in use", _claim_state), AGE))
RESOURCE_SLICES = Printer(
    (
        NAME,
        column("Node", "Node that has the devices", "spec.nodeName"),
        column("Driver", "Driver of the devices", "spec.driver"),
        column("Pool", "Pool the devices belong to", "spec.pool.name"),
        AGE,
    )
)
RUNTIME_CLASSES = Printer((NAME, column("Handler", "What runs pods of this class", "handler"), AGE))
WEBHOOKS = Printer((NAME, column("Webhooks", "How many webhooks it has", count("webhooks"), "integer"), AGE))
