"""Selection of the printer for a kind."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._tables import cluster, network, policy, storage, workloads
from dynkube_testing._tables.autoscaling import AUTOSCALERS
from dynkube_testing._tables.columns import Printer
from dynkube_testing._tables.custom import custom_printer
from dynkube_testing._tables.pods import PODS

# Printers by resource and group, in the order of the real server's discovery.
_BUILTIN: Mapping[str, Printer] = {
    "componentstatuses": cluster.COMPONENT_STATUSES,
    "configmaps": cluster.CONFIG_MAPS,
    "endpoints": network.ENDPOINTS,
    "events": cluster.EVENTS,
    "namespaces": cluster.NAMESPACES,
    "nodes": cluster.NODES,
    "persistentvolumeclaims": storage.CLAIMS,
    "persistentvolumes": storage.VOLUMES,
    "pods": PODS,
    "podtemplates": workloads.POD_TEMPLATES,
    "replicationcontrollers": workloads.REPLICATION_CONTROLLERS,
    "resourcequotas": cluster.RESOURCE_QUOTAS,
    "secrets": cluster.SECRETS,
    "serviceaccounts": cluster.NAME_AND_AGE,
    "services": network.SERVICES,
    "apiservices.apiregistration.k8s.io": policy.API_SERVICES,
    "controllerrevisions.apps": workloads.CONTROLLER_REVISIONS,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
    "events.events.k8s.io": cluster.EVENTS,
    "horizontalpodautoscalers.autoscaling": AUTOSCALERS,
    "cronjobs.batch": workloads.CRON_JOBS,
    "jobs.batch": workloads.JOBS,
    "certificatesigningrequests.certificates.k8s.io": policy.CERTIFICATE_SIGNING_REQUESTS,
    "ingressclasses.networking.k8s.io": network.INGRESS_CLASSES,
    "ingresses.networking.k8s.io": network.INGRESSES,
    "ipaddresses.networking.k8s.io": network.IP_ADDRESSES,
    "networkpolicies.networking.k8s.io": network.NETWORK_POLICIES,
    "servicecidrs.networking.k8s.io": network.SERVICE_CIDRS,
    "poddisruptionbudgets.policy": policy.DISRUPTION_BUDGETS,
    "clusterrolebindings.rbac.authorization.k8s.io": policy.BINDINGS,
    "rolebindings.rbac.authorization.k8s.io": policy.BINDINGS,
    "csidrivers.storage.k8s.io": storage.DRIVERS,
    "csinodes.storage.k8s.io": storage.NODES,
    "storageclasses.storage.k8s.io": storage.CLASSES,
    "volumeattachments.storage.k8s.io": storage.ATTACHMENTS,
    "volumeattributesclasses.storage.k8s.io": storage.ATTRIBUTES_CLASSES,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": policy.MUTATING_POLICIES,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policy.POLICY_BINDINGS,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": policy.WEBHOOKS,
    "validatingadmissionpolicies.admissionregistration.k8s.io": policy.VALIDATING_POLICIES,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": policy.POLICY_BINDINGS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": policy.WEBHOOKS,
    "priorityclasses.scheduling.k8s.io": cluster.PRIORITY_CLASSES,
    "leases.coordination.k8s.io": cluster.LEASES,
    "runtimeclasses.node.k8s.io": policy.RUNTIME_CLASSES,
    "endpointslices.discovery.k8s.io": network.ENDPOINT_SLICES,
    "deviceclasses.resource.k8s.io": cluster.NAME_AND_AGE,
    "resourceclaims.resource.k8s.io": policy.RESOURCE_CLAIMS,
    "resourceclaimtemplates.resource.k8s.io": cluster.NAME_AND_AGE,
    "resourceslices.resource.k8s.io": policy.RESOURCE_SLICES,
    "flowschemas.flowcontrol.apiserver.k8s.io": policy.FLOW_SCHEMAS,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": policy.PRIORITY_LEVELS,
}


def printer_for(kind: Kind, subresource: str = "") -> Printer:
    """Return the printer for objects of ``kind``.

    Args:
        kind: A built-in or custom kind. A built-in kind without special columns has columns for the name and the
            creation time, as in a real server.
        subresource: ``"scale"`` for the printer of Scales; with ``""`` or ``"status"``, the printer of ``kind``.
    """
    if subresource == "scale":
        return workloads.SCALES
    if kind.crd_uid is not None or kind.printer_columns:
        return custom_printer(kind.printer_columns)
    return _BUILTIN.get(kind.group_resource, cluster.NAME_AND_TIME)
