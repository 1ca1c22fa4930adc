"""Built-in kinds that several managers apply: ConfigMaps, Services and Deployments."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contract.differential.areas.applies import Subject, some
from tests.contract.differential.areas.values import mostly

CONFIGS = Subject(
    resources={"configmaps": "v1"},
    kind="ConfigMap",
    contents={
        "configmaps": some(
            data=mostly([{"k": "v"}, {"k": "w"}, {"k": "v", "l": "m"}, {"l.m": "n"}, {"l": "n"}, {}], [{"k": None}]),
            binaryData=mostly([{"z": "aGk="}, {"z": "aGo="}, {}], [None]),
        )
    },
)

_PORTS = mostly(
    [
        [{"port": 80}],
        [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}],
        [{"port": 81, "name": "b", "targetPort": 8081}],
        [{"port": 80, "name": "a", "targetPort": "web"}],
        [{"port": 80, "name": "u", "protocol": "UDP"}, {"port": 80, "name": "a"}],
    ],
    [[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}], [], None, [{"name": "x"}]],
)
SERVICES = Subject(
    resources={"services": "v1"},
    kind="Service",
    dry_runs=False,
    contents={
        "services": st.fixed_dictionaries(
            {
                "spec": some(
                    ports=_PORTS,
                    selector=mostly([{"a": "1"}, {"a": "2", "b": "1"}, {}], [None]),
                    type=st.sampled_from(["ClusterIP", "NodePort"]),
                    sessionAffinity=st.sampled_from(["None", "ClientIP"]),
                    externalIPs=st.sampled_from([["10.9.0.1"], ["10.9.0.2", "10.9.0.1"], []]),
                )
            }
        )
    },
    statuses=st.sampled_from(
        [
            {"loadBalancer": {"ingress": [{"ip": "10.8.0.1"}]}},
            {
                "conditions": [
                    {
                        "type": "A",
                        "status": "True",
                        "reason": "R",
                        "lastTransitionTime": "2020-01-01T00:00:00Z",
                        "message": "",
                    }
                ]
            },
            {"loadBalancer": {}},
        ]
    ),
)

_ENVIRONMENTS = mostly(
    [
        [{"name": "A", "value": "1"}],
        [{"name": "A", "value": "2"}, {"name": "B", "value": "1"}],
        [{"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        [],
    ],
    [[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], None, [{"value": "1"}]],
)
_CONTAINER_PORTS = mostly(
    [
        [{"containerPort": 80}],
        [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81}],
        [{"containerPort": 80, "protocol": "UDP", "name": "u"}, {"containerPort": 80, "name": "t"}],
    ],
    [[{"containerPort": 80}, {"containerPort": 80, "name": "x"}], [{"name": "x"}]],
)
_CONTAINERS = st.lists(
    st.builds(
        lambda name, image, more: {"name": name, "image": image, **more},
        st.sampled_from(["a", "b"]),
        st.sampled_from(["i:1", "i:2"]),
        some(
            env=_ENVIRONMENTS,
            ports=_CONTAINER_PORTS,
            args=st.sampled_from([["x"], ["x", "y"], []]),
            resources=st.sampled_from(
                [{}, {"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}, "requests": {"memory": "1Gi"}}]
            ),
            securityContext=st.sampled_from([{}, {"capabilities": {"add": ["A"]}}, {"runAsUser": 0}]),
            imagePullPolicy=st.sampled_from(["Always", "IfNotPresent"]),
        ),
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda container: container["name"],
)
_TEMPLATES = st.builds(
    lambda labels, containers, more: {"metadata": {"labels": labels}, "spec": {"containers": containers, **more}},
    st.sampled_from([{"app": "x"}, {"app": "x", "v": "1"}]),
    _CONTAINERS,
    some(
        volumes=st.sampled_from(
            [[{"name": "v", "emptyDir": {}}], [{"name": "v", "configMap": {"name": "c"}}], [{"name": "w"}], []]
        ),
        tolerations=st.sampled_from([[{"key": "k"}], [{"key": "k"}, {"key": "l"}]]),
        hostAliases=st.sampled_from([[{"ip": "10.0.0.1", "hostnames": ["h"]}], [{"ip": "10.0.0.2"}]]),
        imagePullSecrets=st.sampled_from([[{"name": "s"}], [{"name": "s"}, {"name": "t"}], [{}]]),
        nodeSelector=st.sampled_from([{"a": "1"}, {"b": "1"}]),
        terminationGracePeriodSeconds=st.sampled_from([0, 30, 5]),
        topologySpreadConstraints=st.sampled_from(
            [[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}], []]
        ),
    ),
)
DEPLOYMENTS = Subject(
    resources={"deployments": "apps/v1"},
    kind="Deployment",
    contents={
        "deployments": st.builds(
            lambda template, more: {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template, **more}},
            _TEMPLATES,
            some(
                replicas=st.sampled_from([0, 1, 3]),
                strategy=st.sampled_from([{"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 1}}, {}]),
                paused=st.booleans(),
                minReadySeconds=st.sampled_from([0, 5]),
            ),
        )
    },
    statuses=st.sampled_from(
        [
            {"replicas": 1},
            {"replicas": 1, "readyReplicas": 1},
            {"conditions": [{"type": "A", "status": "True"}]},
            {"conditions": [{"type": "B", "status": "True"}, {"type": "A", "status": "False"}]},
            {},
        ]
    ),
    scale=True,
)
