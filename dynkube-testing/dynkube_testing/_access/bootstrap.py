"""Default RBAC roles and bindings of a cluster.

These are the user-facing roles, and the basic roles of authenticated and unauthenticated users. The roles of control
plane components (``system:controller:...``, ``system:node`` and so on) are omitted, since no such components run here.
"""

from __future__ import annotations

from collections.abc import Iterator

from dynkube_testing._access.attributes import PolicyRule
from dynkube_testing._access.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP
from dynkube_testing._access.rules import write_rule
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.users import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from dynkube_testing._engine import Engine

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_BOTH = tuple(sorted((*_READ, *_WRITE)))


def _about(group: str, resources: str, verbs: tuple[str, ...]) -> PolicyRule:
    return PolicyRule(verbs, ("", "events.k8s.io") if resources == "events" else (group,), tuple(resources.split()))


def _paths(paths: str) -> PolicyRule:
    return PolicyRule(("get",), urls=tuple(paths.split()))


_VIEW = (
    _about(
        "",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers "
        "replicationcontrollers/scale serviceaccounts services services/status",
        _READ,
    ),
    _about(
        "",
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas "
        "resourcequotas/status",
        _READ,
    ),
    _about("", "namespaces", _READ),
    _about("", "events", _READ),
    _about("discovery.k8s.io", "endpointslices", _READ),
    _about(
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets "
        "replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
        _READ,
    ),
    _about("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", _READ),
    _about("batch", "cronjobs cronjobs/status jobs jobs/status", _READ),
    _about(
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status "
        "networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
        _READ,
    ),
    _about("policy", "poddisruptionbudgets poddisruptionbudgets/status", _READ),
    _about("networking.k8s.io", "ingresses ingresses/status networkpolicies", _READ),
    _about("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates", _READ),
)

_EDIT = (
    _about("", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy", _READ),
    _about("", "serviceaccounts", ("impersonate",)),
    _about("", "pods pods/attach pods/exec pods/portforward pods/proxy", _WRITE),
    _about("", "pods/eviction", ("create",)),
    _about(
        "",
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts "
        "services services/proxy",
        _WRITE,
    ),
    _about("", "serviceaccounts/token", ("create",)),
    _about("", "events", _WRITE),
    _about(
        "apps",
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets "
        "statefulsets/scale",
        _WRITE,
    ),
    _about("autoscaling", "horizontalpodautoscalers", _WRITE),
    _about("batch", "cronjobs jobs", _WRITE),
    _about(
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets "
        "replicasets/scale replicationcontrollers/scale",
        _WRITE,
    ),
    _about("policy", "poddisruptionbudgets", _WRITE),
    _about("networking.k8s.io", "ingresses networkpolicies", _WRITE),
    _about("coordination.k8s.io", "leases", _BOTH),
    _about("resource.k8s.io", "resourceclaims resourceclaimtemplates", _WRITE),
)

_ADMIN = (
    _about("authorization.k8s.io", "localsubjectaccessreviews", ("create",)),
    _about(GROUP, "rolebindings roles", _BOTH),
)

_ROLES = {
    "cluster-admin": (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), urls=("*",))),
    "system:discovery": (
        _paths("/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),
    ),
    "system:basic-user": (
        _about("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", ("create",)),
        _about("authentication.k8s.io", "selfsubjectreviews", ("create",)),
    ),
    "system:public-info-viewer": (_paths("/healthz /livez /readyz /version /version/"),),
    "system:monitoring": (
        _paths(
            "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
        ),
        _about("", "nodes/metrics", ("get",)),
    ),
    "system:auth-delegator": (
        _about("authentication.k8s.io", "tokenreviews", ("create",)),
        _about("authorization.k8s.io", "subjectaccessreviews", ("create",)),
    ),
}

# Rules of the aggregated roles, and the role into which each is aggregated: admin includes edit, edit includes view.
_AGGREGATED = {"admin": (_ADMIN, ""), "edit": (_EDIT, "admin"), "view": (_VIEW, "edit")}

_BINDINGS = {
    "cluster-admin": (MASTERS,),
    "system:monitoring": ("system:monitoring",),
    "system:discovery": (AUTHENTICATED,),
    "system:basic-user": (AUTHENTICATED,),
    "system:public-info-viewer": (AUTHENTICATED, UNAUTHENTICATED),
}


def install(engine: Engine) -> None:
    """Create the default roles and bindings that do not exist in ``engine``."""
    for gvr, objects in ((CLUSTER_ROLES, _cluster_roles()), (CLUSTER_ROLE_BINDINGS, _bindings())):
        kind = engine.registry.get(gvr)
        assert kind is not None, f"RBAC needs {gvr} to be served"
        for body in objects:
            if engine.storage.get(kind, "", body["metadata"]["name"]) is None:
                engine.handle(Call(verb="create", kind=kind, body=body, user_agent="kube-apiserver"))


def _cluster_roles() -> Iterator[JSONObject]:
    for name, rules in _ROLES.items():
        yield {"metadata": _metadata(name), "rules": [write_rule(rule) for rule in rules]}
    for name, (rules, wider) in _AGGREGATED.items():
        part = _metadata(f"system:aggregate-to-{name}", name)
        yield {"metadata": part, "rules": [write_rule(rule) for rule in rules]}
        selector = {"matchLabels": {_aggregates_to(name): "true"}}
        yield {"metadata": _metadata(name, wider), "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _bindings() -> Iterator[JSONObject]:
    for name, groups in _BINDINGS.items():
        yield {
            "metadata": _metadata(name),
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
        }


def _metadata(name: str, aggregates_to: str = "") -> JSONObject:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if aggregates_to:
        labels[_aggregates_to(aggregates_to)] = "true"
    return {"name": name, "labels": labels, "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}}


def _aggregates_to(name: str) -> str:
    return f"{GROUP}/aggregate-to-{name}"
