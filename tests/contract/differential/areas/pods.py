"""Pods, without kubelets."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contract.differential.areas.custom import OWN_LABELS
from tests.contract.differential.areas.values import fields, mostly
from tests.contract.differential.areas.verbs import Kind
from tests.contract.differential.side_by_side import MARK, Setup

_RESOURCES = mostly(
    [{"requests": {"cpu": "1"}}, {"limits": {"cpu": "1", "memory": "1Gi"}}, {}],
    [
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        {"limits": {"cpu": "x"}},
        {"limits": {"bogus": 1}},
        {"limits": {"cpu": -1}},
    ],
)
_PROBE = mostly(
    [{"httpGet": {"path": "/", "port": 80}}, {"exec": {"command": ["x"]}}, {"tcpSocket": {"port": "web"}}],
    [{}, {"periodSeconds": -1}],
)
_CONTAINER = st.builds(
    lambda base, more: {**base, **more},
    st.fixed_dictionaries(
        {"name": mostly(["a", "b"], ["A", "", None]), "image": mostly(["i:1", "i:2", "j"], ["", " x", None])}
    ),
    fields(
        ports=mostly(
            [
                [{"containerPort": 80}],
                [{"containerPort": 80, "name": "web"}, {"containerPort": 81, "protocol": "UDP"}],
                [],
            ],
            [
                [{"containerPort": 0}],
                [{"containerPort": 80, "name": "TOO_LONG_A_NAME_"}],
                [{}],
                [{"containerPort": 80, "hostPort": 81}],
            ],
        ),
        env=mostly(
            [[{"name": "E", "value": "1"}], [{"name": "E", "value": "2"}, {"name": "F"}], []],
            [
                [{"name": "E"}, {"name": "E"}],
                [{"name": ""}],
                [{"name": "X", "valueFrom": {}}],
                [{"name": "X", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "bogus"}}}],
            ],
        ),
        command=mostly([["x"], []], ["x", [1]]),
        imagePullPolicy=mostly(["Always", "IfNotPresent"], ["Bogus"]),
        resources=_RESOURCES,
        livenessProbe=_PROBE,
        readinessProbe=_PROBE,
        volumeMounts=mostly(
            [[{"name": "v", "mountPath": "/v"}], []],
            [[{"name": "v", "mountPath": ""}], [{"name": "none", "mountPath": "/x"}]],
        ),
        securityContext=mostly(
            [{"runAsUser": 1}, {}], [{"runAsUser": -1}, {"privileged": True, "allowPrivilegeEscalation": False}]
        ),
    ),
)
_CONTAINERS = mostly([1, 2, 1], [0]).flatmap(lambda count: st.lists(_CONTAINER, min_size=count, max_size=count))
POD_SPECS = st.builds(
    lambda containers, more: {"containers": containers, **more},
    _CONTAINERS,
    fields(
        restartPolicy=mostly(["Always", "Never"], ["Bogus", ""]),
        terminationGracePeriodSeconds=mostly([30, 0], [-1]),
        activeDeadlineSeconds=mostly([5, 10], [0, -1]),
        nodeSelector=mostly([{"a": "b"}, {}], [{"bad key": "x"}]),
        tolerations=mostly(
            [[{"key": "k", "operator": "Exists"}], []],
            [[{"key": "k", "operator": "Bogus"}], [{"operator": "Exists", "value": "x"}]],
        ),
        volumes=mostly(
            [[{"name": "v", "emptyDir": {}}], [{"name": "v", "configMap": {"name": "c"}}], []],
            [
                [{"name": "v"}],
                [{"name": "V", "emptyDir": {}}],
                [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}],
                [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
            ],
        ),
        initContainers=mostly([[{"name": "init", "image": "i"}], []], [[{"name": "a", "image": "i"}]]),
        serviceAccountName=mostly(["sa"], ["Bad_Name"]),
        hostNetwork=mostly([False], [True]),
        dnsPolicy=mostly(["Default", "ClusterFirst"], ["Bogus", "None"]),
        hostname=mostly(["h"], ["Bad_Host"]),
        priorityClassName=mostly(["system-node-critical"], ["none"]),
        schedulingGates=mostly([[{"name": "e.com/g"}], []], [[{"name": ""}]]),
        securityContext=mostly([{"runAsNonRoot": True}, {}], [{"runAsUser": -1}]),
    ),
)
_CONDITION = st.fixed_dictionaries(
    {"type": mostly(["Ready", "example.com/x"], ["", None]), "status": mostly(["True", "False"], [""])}
)
_STATUSES = fields(
    phase=mostly(["Running", "Pending", "Succeeded", "Failed"], ["Bogus", 1]),
    conditions=st.lists(_CONDITION, max_size=2),
    podIP=mostly(["10.1.2.3"], ["x", ""]),
    podIPs=mostly([[{"ip": "10.1.2.3"}], []], [[{"ip": "x"}]]),
    message=mostly(["m"], [1]),
    containerStatuses=mostly(
        [[{"name": "a", "ready": True, "restartCount": 0, "image": "i", "imageID": "x", "state": {"running": {}}}], []],
        [[{"name": "a"}]],
    ),
    unknown=mostly([1], []),
)
PODS = Kind(
    resources={"pods": "v1"},
    kind="Pod",
    content=st.fixed_dictionaries({"spec": POD_SPECS}),
    status=_STATUSES,
    pointers=[
        "/spec/containers/0/image",
        "/spec/containers/0/env/0/value",
        "/spec/containers/-",
        "/spec/activeDeadlineSeconds",
        "/spec/nodeName",
        "/status/phase",
        "/spec/tolerations/-",
        "/spec/containers/0/name",
    ],
    values=mostly(["i:9", 5, {"key": "k2", "operator": "Exists"}, {"name": "z", "image": "i"}], [1]),
    selected=[
        "spec.nodeName=",
        "status.phase=Pending",
        "status.phase=Running",
        "spec.restartPolicy=Always",
        "spec.bogus=1",
    ],
)
SETUP = Setup(
    marks={
        "pods": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": MARK, "labels": OWN_LABELS},
            "spec": {"containers": [{"name": "a", "image": "i"}]},
        }
    },
    watches=({}, {"labelSelector": "x=y"}, {"fieldSelector": "status.phase=Pending"}),
)
