"""The built-in kinds: those that a current API server serves without any CRDs.

The table has one row per resource, in the order of the real server's discovery. It leaves out versions that current
Kubernetes releases have removed, or do not enable by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from dynkube.meta import GVK, GVR
from dynkube_testing._kinds.conversions import CORE_EVENT_FIELDS, conversion_of
from dynkube_testing._kinds.kinds import ALL_VERBS, Kind, ScalePaths
from dynkube_testing._kinds.schemas import Schema, builtin_schemas

_CREATE_ONLY = ("create",)
_STATUS = ("status",)
_ALL = ("all",)


class _Row(NamedTuple):
    """One resource in one version, with the attributes of its :class:`Kind`."""

    resource: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    generation: bool = False
    selectable: tuple[str, ...] = ()
    scale: ScalePaths | None = None
    warning: str = ""


_WORKLOAD = ("scale", "status")
_NO_COMPONENTS = "v1 ComponentStatus is deprecated in v1.19+"
_USE_SLICES = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
_READ_ONLY = ("get", "list")
_NO_DELETECOLLECTION = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")
_EXTENSIONS = ("api-extensions",)
_POD_SUBRESOURCES = (
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "log",
    "portforward",
    "proxy",
    "resize",
    "status",
)
_SELECTOR = ScalePaths(label_selector=".spec.selector")

_POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)
_EVENT_FIELDS = (
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
)


def _admission(resource: str, kind: str, subresources: tuple[str, ...] = ()) -> _Row:
    return _Row(resource, kind, False, (), _EXTENSIONS, subresources, generation=True)


_BUILTIN: Mapping[str, tuple[_Row, ...]] = {
    "v1": (
        _Row("bindings", "Binding", verbs=_CREATE_ONLY),
        _Row("componentstatuses", "ComponentStatus", False, ("cs",), verbs=_READ_ONLY, warning=_NO_COMPONENTS),
        _Row("configmaps", "ConfigMap", short_names=("cm",)),
        _Row("endpoints", "Endpoints", short_names=("ep",), warning=_USE_SLICES),
        _Row("events", "Event", short_names=("ev",), selectable=CORE_EVENT_FIELDS),
        _Row("limitranges", "LimitRange", short_names=("limits",)),
        _Row(
            "namespaces",
            "Namespace",
            False,
            ("ns",),
            subresources=("finalize", "status"),
            verbs=_NO_DELETECOLLECTION,
            selectable=("status.phase",),
        ),
        _Row("nodes", "Node", False, ("no",), subresources=("proxy", "status"), selectable=("spec.unschedulable",)),
        _Row("persistentvolumeclaims", "PersistentVolumeClaim", short_names=("pvc",), subresources=_STATUS),
        _Row("persistentvolumes", "PersistentVolume", False, ("pv",), subresources=_STATUS),
        _Row("pods", "Pod", True, ("po",), _ALL, _POD_SUBRESOURCES, generation=True, selectable=_POD_FIELDS),
        _Row("podtemplates", "PodTemplate", generation=True),
        _Row(
            "replicationcontrollers",
            "ReplicationController",
            True,
            ("rc",),
            _ALL,
            _WORKLOAD,
            generation=True,
            selectable=("status.replicas",),
            scale=_SELECTOR,
        ),
        _Row("resourcequotas", "ResourceQuota", short_names=("quota",), subresources=_STATUS),
        _Row("secrets", "Secret", selectable=("type",)),
        _Row("serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=("token",)),
        _Row(
            "services", "Service", True, ("svc",), _ALL, ("proxy", "status"), selectable=("spec.clusterIP", "spec.type")
        ),
    ),
    "apiregistration.k8s.io/v1": (
        _Row("apiservices", "APIService", False, categories=_EXTENSIONS, subresources=_STATUS),
    ),
    "apps/v1": (
        _Row("controllerrevisions", "ControllerRevision"),
        _Row("daemonsets", "DaemonSet", True, ("ds",), _ALL, _STATUS, generation=True),
        _Row("deployments", "Deployment", True, ("deploy",), _ALL, _WORKLOAD, generation=True, scale=_SELECTOR),
        _Row("replicasets", "ReplicaSet", True, ("rs",), _ALL, _WORKLOAD, generation=True, scale=_SELECTOR),
        _Row("statefulsets", "StatefulSet", True, ("sts",), _ALL, _WORKLOAD, generation=True, scale=_SELECTOR),
    ),
    "events.k8s.io/v1": (_Row("events", "Event", short_names=("ev",), selectable=_EVENT_FIELDS),),
    "authentication.k8s.io/v1": (
        _Row("selfsubjectreviews", "SelfSubjectReview", False, verbs=_CREATE_ONLY),
        _Row("tokenreviews", "TokenReview", False, verbs=_CREATE_ONLY),
    ),
    "authorization.k8s.io/v1": (
        _Row("localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=_CREATE_ONLY),
        _Row("selfsubjectaccessreviews", "SelfSubjectAccessReview", False, verbs=_CREATE_ONLY),
        _Row("selfsubjectrulesreviews", "SelfSubjectRulesReview", False, verbs=_CREATE_ONLY),
        _Row("subjectaccessreviews", "SubjectAccessReview", False, verbs=_CREATE_ONLY),
    ),
    "autoscaling/v2": (_Row("horizontalpodautoscalers", "HorizontalPodAutoscaler", True, ("hpa",), _ALL, _STATUS),),
    "autoscaling/v1": (_Row("horizontalpodautoscalers", "HorizontalPodAutoscaler", True, ("hpa",), _ALL, _STATUS),),
    "batch/v1": (
        _Row("cronjobs", "CronJob", True, ("cj",), _ALL, _STATUS, generation=True),
        _Row("jobs", "Job", True, (), _ALL, _STATUS, generation=True, selectable=("status.successful",)),
    ),
    "certificates.k8s.io/v1": (
        _Row(
            "certificatesigningrequests",
            "CertificateSigningRequest",
            False,
            ("csr",),
            subresources=("approval", "status"),
            selectable=("spec.signerName",),
        ),
    ),
    "networking.k8s.io/v1": (
        _Row("ingressclasses", "IngressClass", False, generation=True),
        _Row("ingresses", "Ingress", short_names=("ing",), subresources=_STATUS, generation=True),
        _Row("ipaddresses", "IPAddress", False, ("ip",)),
        _Row("networkpolicies", "NetworkPolicy", short_names=("netpol",), generation=True),
        _Row("servicecidrs", "ServiceCIDR", False, subresources=_STATUS),
    ),
    "policy/v1": (_Row("poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",), (), _STATUS, generation=True),),
    "rbac.authorization.k8s.io/v1": (
        _Row("clusterrolebindings", "ClusterRoleBinding", False),
        _Row("clusterroles", "ClusterRole", False),
        _Row("rolebindings", "RoleBinding"),
        _Row("roles", "Role"),
    ),
    "storage.k8s.io/v1": (
        _Row("csidrivers", "CSIDriver", False),
        _Row("csinodes", "CSINode", False),
        _Row("csistoragecapacities", "CSIStorageCapacity"),
        _Row("storageclasses", "StorageClass", False, ("sc",)),
        _Row("volumeattachments", "VolumeAttachment", False, subresources=_STATUS),
        _Row("volumeattributesclasses", "VolumeAttributesClass", False, ("vac",)),
    ),
    "admissionregistration.k8s.io/v1": (
        _admission("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
        _admission("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
        _admission("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        _admission("validatingadmissionpolicies", "ValidatingAdmissionPolicy", _STATUS),
        _admission("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
        _admission("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ),
    "apiextensions.k8s.io/v1": (
        _Row(
            "customresourcedefinitions",
            "CustomResourceDefinition",
            False,
            ("crd", "crds"),
            _EXTENSIONS,
            _STATUS,
            generation=True,
        ),
    ),
    "scheduling.k8s.io/v1": (_Row("priorityclasses", "PriorityClass", False, ("pc",), generation=True),),
    "coordination.k8s.io/v1": (_Row("leases", "Lease"),),
    "node.k8s.io/v1": (_Row("runtimeclasses", "RuntimeClass", False),),
    "discovery.k8s.io/v1": (_Row("endpointslices", "EndpointSlice", generation=True),),
    "resource.k8s.io/v1": (
        _Row("deviceclasses", "DeviceClass", False, generation=True),
        _Row("resourceclaims", "ResourceClaim", subresources=_STATUS),
        _Row("resourceclaimtemplates", "ResourceClaimTemplate"),
        _Row(
            "resourceslices",
            "ResourceSlice",
            False,
            generation=True,
            selectable=("spec.nodeName", "spec.driver"),
        ),
    ),
    "flowcontrol.apiserver.k8s.io/v1": (
        _Row("flowschemas", "FlowSchema", False, subresources=_STATUS, generation=True),
        _Row("prioritylevelconfigurations", "PriorityLevelConfiguration", False, subresources=_STATUS, generation=True),
    ),
}

_EVENTS = GVK("events.k8s.io", "v1", "Event")

# Served kinds (keys) whose objects a real server stores in another version or group (values).
_STORED_AS: Mapping[GVK, GVK] = {
    _EVENTS: GVK("", "v1", "Event"),
    GVK("autoscaling", "v1", "HorizontalPodAutoscaler"): GVK("autoscaling", "v2", "HorizontalPodAutoscaler"),
    **{
        GVK(group, "v1", kind): GVK(group, "v1beta1", kind)
        for group, kind in (
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
        )
    },
}


def builtin_kinds() -> tuple[Kind, ...]:
    """Return all built-in kinds, in discovery order."""
    return tuple(_kind(api_version, row) for api_version, rows in _BUILTIN.items() for row in rows)


def _kind(api_version: str, row: _Row) -> Kind:
    group, _, version = api_version.rpartition("/")
    gvk = GVK(group, version, row.kind)
    return Kind(
        gvr=GVR(group, version, row.resource),
        kind=row.kind,
        namespaced=row.namespaced,
        short_names=row.short_names,
        categories=row.categories,
        verbs=row.verbs,
        subresources=row.subresources,
        selectable_fields=row.selectable,
        generation=row.generation,
        scale=row.scale,
        stored_as=_STORED_AS.get(gvk),
        storage_group="events" if gvk == _EVENTS else "",
        content=conversion_of(gvk),
        warning=row.warning,
        schema_source=partial(_schema, gvk),
    )


def _schema(gvk: GVK) -> Schema | None:
    schemas = builtin_schemas()
    name = schemas.name_of(gvk)
    return None if name is None else schemas.resolved(name)
