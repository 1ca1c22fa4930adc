"""PodSecurity: the Pod Security Standards that a namespace's labels enforce or warn about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, open_namespace
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, pod, workload

pytestmark = pytest.mark.since("1.36", "older servers have older versions of the standards")

SAFE: JSONObject = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def contained(security: JSONObject | None = None, *names: str, **spec: Any) -> JSONObject:
    """Return a pod whose containers, by default ``app``, have a security context."""
    context = {} if security is None else {"securityContext": security}
    return pod(containers=[{"name": name, "image": "app:1", **context} for name in names or ("app",)], **spec)


async def violation(cluster: Cluster, level: str, body: JSONObject) -> str:
    """Return why a pod violates a level, in a new namespace; ``""`` if it does not."""
    namespace = await open_namespace(cluster, enforce=level)
    response = await dry_run(cluster, "pods", body, namespace)
    if response.code == 201:
        return ""
    prefix = f'pods "p" is forbidden: violates PodSecurity "{level}:latest": '
    assert response.body["message"].startswith(prefix), response.body
    return str(response.body["message"].removeprefix(prefix))


async def test_a_plain_pod_is_not_restricted(cluster: Cluster) -> None:
    assert await violation(cluster, "restricted", contained(None, "a", "b")) == (
        'allowPrivilegeEscalation != false (containers "a", "b" must set '
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (containers "a", "b" must set '
        'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or containers "a", "b" must set '
        'securityContext.runAsNonRoot=true), seccompProfile (pod or containers "a", "b" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )


@pytest.mark.parametrize("level", ["privileged", "baseline", "restricted"])
async def test_a_safe_pod_is_allowed_at_each_level(cluster: Cluster, level: str) -> None:
    assert await violation(cluster, level, contained(SAFE)) == ""


BASELINE: list[tuple[JSONObject, str]] = [
    (contained({"privileged": True}), 'privileged (container "app" must not set securityContext.privileged=true)'),
    (pod(hostNetwork=True, hostPID=True), "host namespaces (hostNetwork=true, hostPID=true)"),
    (pod(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]), 'hostPath volumes (volume "v")'),
    (
        pod(containers=[{"name": "a", "image": "a:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]),
        'hostPort (container "a" uses hostPort 80)',
    ),
    (
        contained({"capabilities": {"add": ["SYS_ADMIN", "NET_RAW"]}}),
        (
            'non-default capabilities (container "app" must not include "NET_RAW", "SYS_ADMIN" in '
            "securityContext.capabilities.add)"
        ),
    ),
    (
        contained({"seLinuxOptions": {"type": "spc_t", "user": "u"}}),
        (
            'seLinuxOptions (container "app" set forbidden securityContext.seLinuxOptions: type "spc_t"; '
            "user may not be set)"
        ),
    ),
    (
        contained({"seccompProfile": {"type": "Unconfined"}}),
        'seccompProfile (container "app" must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (
        contained({"appArmorProfile": {"type": "Unconfined"}}),
        'forbidden AppArmor profile (container "app" must not set AppArmor profile type to "Unconfined")',
    ),
    (pod(securityContext={"sysctls": [{"name": "kernel.x", "value": "1"}]}), "forbidden sysctls (kernel.x)"),
    (
        pod(containers=[{"name": "a", "image": "a:1", "livenessProbe": {"tcpSocket": {"port": 1, "host": "1.2.3.4"}}}]),
        'probe or lifecycle host (container "a" uses probe or lifecycle host "1.2.3.4")',
    ),
]


@pytest.mark.parametrize(("body", "why"), BASELINE, ids=[why.partition(" (")[0] for _, why in BASELINE])
async def test_the_baseline_forbids(cluster: Cluster, body: JSONObject, why: str) -> None:
    assert await violation(cluster, "baseline", body) == why


RESTRICTED: list[tuple[JSONObject, str]] = [
    (
        contained(SAFE | {"procMount": "Unmasked"}, hostUsers=False),
        'procMount (container "app" must not set securityContext.procMount to "Unmasked")',
    ),
    (
        contained(SAFE, volumes=[{"name": "v", "nfs": {"server": "s", "path": "/"}}]),
        'restricted volume types (volume "v" uses restricted volume type "nfs")',
    ),
    (
        contained(SAFE | {"runAsNonRoot": False}),
        'runAsNonRoot != true (container "app" must not set securityContext.runAsNonRoot=false)',
    ),
    (contained(SAFE, securityContext={"runAsUser": 0}), "runAsUser=0 (pod must not set runAsUser=0)"),
    (
        contained(SAFE | {"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}),
        'unrestricted capabilities (container "app" must not include "CHOWN" in securityContext.capabilities.add)',
    ),
    (
        contained({**SAFE, "seccompProfile": None}, securityContext={"seccompProfile": {"type": "Unconfined"}}),
        'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
]


@pytest.mark.parametrize(("body", "why"), RESTRICTED, ids=[why.partition(" (")[0] for _, why in RESTRICTED])
async def test_the_restricted_level_forbids(cluster: Cluster, body: JSONObject, why: str) -> None:
    assert await violation(cluster, "restricted", body) == why


async def test_an_older_version_of_the_policy_has_fewer_checks(cluster: Cluster) -> None:
    namespace = await open_namespace(cluster, enforce="restricted", enforce_version="v1.22")

    response = await dry_run(cluster, "pods", contained({**SAFE, "runAsUser": 0}), namespace)

    assert response.code == 201
    assert response.warnings == []


async def test_workloads_are_stored_with_a_warning(cluster: Cluster) -> None:
    namespace = await open_namespace(cluster, enforce="baseline")
    body = workload()
    body["spec"]["template"]["spec"] = pod(hostNetwork=True)["spec"]

    response = await dry_run(cluster, "deployments", body, namespace)

    assert response.code == 201
    assert response.warnings == ['would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)']


async def test_pods_are_stored_with_a_warning_if_only_that_is_asked(cluster: Cluster) -> None:
    namespace = await open_namespace(cluster, warn="baseline", warn_version="v1.30")

    response = await dry_run(cluster, "pods", pod(hostIPC=True), namespace)

    assert response.code == 201
    assert response.warnings == ['would violate PodSecurity "baseline:v1.30": host namespaces (hostIPC=true)']


async def test_labels_must_be_valid(cluster: Cluster) -> None:
    prefix, name = "pod-security.kubernetes.io/", f"{cluster.namespace}-labelled"
    labels = {f"{prefix}enforce": "strict", f"{prefix}warn-version": "1.30"}

    response = await dry_run(cluster, "namespaces", {"metadata": {"name": name, "labels": labels}})

    assert response.code == 422
    assert response.body["message"] == (
        f'Namespace "{name}" is invalid: [metadata.labels[{prefix}enforce]: Invalid value: "strict": must be one of '
        f'privileged, baseline, restricted, metadata.labels[{prefix}warn-version]: Invalid value: "1.30": must be '
        '"latest" or "v1.x"]'
    )


async def test_a_namespace_warns_about_pods_that_violate_a_new_level(cluster: Cluster) -> None:
    for name in ("b", "a", "c"):
        body = pod(name, **({"hostIPC": True} if name == "c" else {"hostPID": True}))
        await cluster.create("pods", body)
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}

    path, body = cluster.path("namespaces", cluster.namespace), {"metadata": {"labels": labels}}

    async def sees_all_pods() -> bool:  # a real server's plugin sees new pods some milliseconds later
        tried = await cluster.call("PATCH", path, body=body, content_type=MERGE, params={"dryRun": "All"})
        return any("2 other pods" in warning for warning in tried.warnings)

    await cluster.until(sees_all_pods)
    response = await cluster.call("PATCH", path, body=body, content_type=MERGE)

    assert response.warnings == [
        f'existing pods in namespace "{cluster.namespace}" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]


async def test_labels_of_a_pod_can_be_changed_although_it_violates_the_level(cluster: Cluster) -> None:
    namespace = await open_namespace(cluster, enforce="privileged")
    await cluster.create("pods", pod(hostPID=True), namespace=namespace)
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    await cluster.patch("namespaces", namespace, {"metadata": {"labels": labels}})

    changed = await cluster.patch("pods", "p", {"metadata": {"labels": {"a": "b"}}}, namespace=namespace)

    assert changed["metadata"]["labels"] == {"a": "b"}
