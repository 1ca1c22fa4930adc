"""Warnings for pods and pod templates that are valid but probably mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster import Cluster, Response
from tests.contract.objects import JSONObject, pod, workload

pytestmark = pytest.mark.since("1.36", "older servers have fewer warnings or other messages")

NO_SELECTOR = "a null labelSelector results in matching no pod"
BETA_OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def files(*paths: str, **more: Any) -> JSONObject:
    return {**more, "items": [{"key": path, "path": path} for path in paths]}


def volume(**source: JSONObject) -> JSONObject:
    return {"volumes": [{"name": "v", **source}]}


def variables(*env: JSONObject) -> JSONObject:
    return {"env": [{"name": "A", "value": "1"}, *env]}


def term(**more: Any) -> JSONObject:
    return {"topologyKey": "kubernetes.io/hostname", **more}


NODES = "@.affinity.nodeAffinity"
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
FRACTION = 'fractional byte value "1500m" is invalid, must be an integer'
IN_GO = "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:127.0.0.1}"
FIRST_PORT, CHOICE = "@.containers[0].ports[0]", "services and probes that select ports by name will use"
CLASS = "volume.beta.kubernetes.io/storage-class"
HIDDEN = '@.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'

CONTAINERS: dict[str, tuple[JSONObject, list[str]]] = {
    "a duplicate variable": (variables({"name": "A", "value": "2"}), [HIDDEN]),
    "a duplicate variable with the former value": (variables({"name": "A", "value": "$(A)"}), [HIDDEN]),
    "a duplicate variable from a field": (
        variables({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
        [HIDDEN],
    ),
    "a duplicate variable that extends the former value": (variables({"name": "A", "value": "$(A),2"}), []),
    "a duplicate port": (
        {"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}]},
        ["@.containers[0].ports[1]: duplicate port definition with @.containers[0].ports[0]"],
    ),
    "a port with and without a host port": (
        {"ports": [{"containerPort": 80}, {"containerPort": 80, "hostPort": 81}]},
        ["@.containers[0].ports[1]: overlapping port definition with @.containers[0].ports[0]"],
    ),
    "a host port on one address and on all": (
        {
            "ports": [
                {"containerPort": 80, "hostPort": 81, "hostIP": "127.0.0.1"},
                {"containerPort": 80, "hostPort": 81},
            ]
        },
        ["@.containers[0].ports[1]: dangerously ambiguous port definition with @.containers[0].ports[0]"],
    ),
    "a host address without a host port": (
        {"ports": [{"containerPort": 80, "hostIP": "127.0.0.1"}]},
        [f"@.containers[0].ports[0]: hostIP set without hostPort: {IN_GO}"],
    ),
    "a port of another protocol": ({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}, []),
    "fractional bytes": (
        {"resources": {"limits": {"memory": "1500m", "cpu": "1500m"}, "requests": {"memory": "100m"}}},
        [
            '@.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
            '@.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
        ],
    ),
}

SPECS: dict[str, tuple[JSONObject, list[str]]] = {
    "a deprecated node label": (
        {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        [f"@.nodeSelector[beta.kubernetes.io/os]: {BETA_OS}"],
    ),
    "a deprecated node label in an affinity": (
        {
            "affinity": {
                "nodeAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}
                        ]
                    },
                    PREFERRED: [
                        {
                            "weight": 1,
                            "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]},
                        }
                    ],
                }
            }
        },
        [
            f"{NODES}.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is {BETA_OS}",
            f"{NODES}.{PREFERRED}[0].preference.matchExpressions[0].values[0]: - is invalid, {LABEL_VALUE}",
        ],
    ),
    "affinities without a selector": (
        {
            "affinity": {
                "podAffinity": {REQUIRED: [term()]},
                "podAntiAffinity": {
                    REQUIRED: [term(labelSelector={})],
                    PREFERRED: [{"weight": 1, "podAffinityTerm": term()}],
                },
            },
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "beta.kubernetes.io/os", "whenUnsatisfiable": "DoNotSchedule"}
            ],
        },
        [
            f"@.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is {BETA_OS}",
            f"@.topologySpreadConstraints[0].labelSelector: {NO_SELECTOR}",
            f"@.affinity.podAffinity.{REQUIRED}[0].labelSelector: {NO_SELECTOR}",
            f"@.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: {NO_SELECTOR}",
        ],
    ),
    "a removed volume type": (
        volume(gitRepo={"repository": "r"}),
        ["@.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
    ),
    "another removed volume type": (
        volume(storageos={"volumeName": "v"}),
        ["@.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+"],
    ),
    "duplicate and empty names": (
        {
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.1", "hostnames": ["b"]}],
            "imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}],
        },
        [
            '@.hostAliases[1].ip: duplicate ip "10.0.0.1"',
            '@.imagePullSecrets[1].name: duplicate name "a"',
            '@.imagePullSecrets[2].name: invalid empty name ""',
        ],
    ),
    "a port name in two containers": (
        {
            "containers": [
                {"name": name, "image": "i", "ports": [{"name": "web", "containerPort": port}]}
                for name, port in (("a", 80), ("b", 81))
            ]
        },
        [f'@.containers[1].ports[0]: duplicate port name "web" with {FIRST_PORT}, {CHOICE} {FIRST_PORT}'],
    ),
    "fractional bytes in a claim": (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}
                }
            }
        ),
        [f"@.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: {FRACTION}"],
    ),
}

OVERLAPS: dict[str, tuple[JSONObject, list[str]]] = {
    "a file with the path of a folder": (
        volume(configMap=files("a/", "a/b", name="c")),
        ['volume "v" (ConfigMap "c"): overlapping paths: "a/b" with "a"'],
    ),
    "different files": (volume(configMap=files("a", "ab", name="c")), []),
    "a duplicate file": (
        volume(secret=files("a", "a", secretName="s")),
        ['volume "v" (Secret "s"): overlapping paths: "a" with "a"'],
    ),
    "files of several sources": (
        {"serviceAccountName": "default"}
        | volume(
            projected={
                "sources": [
                    {"configMap": files("a", name="c")},
                    {"serviceAccountToken": {"path": "a"}},
                    {"secret": files("b/c", name="s")},
                    {"downwardAPI": {"items": [{"path": "b", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                ]
            }
        ),
        [
            'volume "v" (Projected): overlapping paths: "a" (ServiceAccountToken) with "a" (ConfigMap "c")',
            'volume "v" (Projected): overlapping paths: "b" (DownwardAPI) with "b/c" (Secret "s")',
        ],
    ),
}


ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "seccomp.security.alpha.kubernetes.io/pod": SECCOMP,
    "container.seccomp.security.alpha.kubernetes.io/app": SECCOMP,
}


PROFILES = dict.fromkeys(ANNOTATIONS, "runtime/default")


async def created(cluster: Cluster, resource: str, body: JSONObject) -> Response:
    response = await cluster.call("POST", cluster.path(resource), body=body, params={"dryRun": "All"})
    assert response.code == 201, response.body
    return response


def templated(spec: JSONObject) -> JSONObject:
    body = workload()
    body["spec"]["template"]["spec"] = spec
    return body


@pytest.mark.parametrize(("container", "expected"), CONTAINERS.values(), ids=CONTAINERS)
async def test_warnings_of_containers(cluster: Cluster, container: JSONObject, expected: list[str]) -> None:
    spec = {"containers": [{"name": "app", "image": "app:1", **container}]}

    of_pod = await created(cluster, "pods", {**pod(), "spec": spec})
    of_template = await created(cluster, "deployments", templated(spec))

    assert of_pod.warnings == [text.replace("@", "spec") for text in expected]
    assert of_template.warnings == [text.replace("@", "spec.template.spec") for text in expected]


@pytest.mark.parametrize(("spec", "expected"), (SPECS | OVERLAPS).values(), ids=SPECS | OVERLAPS)
async def test_warnings_of_specs(cluster: Cluster, spec: JSONObject, expected: list[str]) -> None:
    of_pod = await created(cluster, "pods", pod(**spec))
    of_template = await created(cluster, "deployments", templated(pod(**spec)["spec"]))

    assert of_pod.warnings == [text.replace("@", "spec") for text in expected]
    assert of_template.warnings == [text.replace("@", "spec.template.spec") for text in expected]


async def test_annotations_that_fields_have_replaced_cause_warnings(cluster: Cluster) -> None:
    app_armor = "container.apparmor.security.beta.kubernetes.io/app"
    body = workload()
    body["spec"]["template"]["metadata"]["annotations"] = {**PROFILES, app_armor: "unconfined"}
    noted = pod()
    noted["metadata"]["annotations"] = PROFILES

    of_pod, of_template = await created(cluster, "pods", noted), await created(cluster, "deployments", body)

    assert of_pod.warnings == [f"metadata.annotations[{key}]: {expected}" for key, expected in ANNOTATIONS.items()]
    at = "spec.template.metadata.annotations"
    assert of_template.warnings == [
        *(f"{at}[{key}]: {expected}" for key, expected in ANNOTATIONS.items()),
        f'{at}[{app_armor}]: deprecated since v1.30; use the "appArmorProfile" field instead',
    ]
