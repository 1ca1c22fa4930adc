"""Services, whose addresses and ports the server allocates."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contract.differential.areas.custom import OWN_LABELS
from tests.contract.differential.areas.values import fields, mostly
from tests.contract.differential.areas.verbs import Kind
from tests.contract.differential.side_by_side import MARK, Setup

_PORTS = mostly(
    [
        [{"port": 80}],
        [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}],
        [{"port": 80, "targetPort": "web"}],
        [{"port": 80, "protocol": "UDP", "targetPort": 8080}],
        [{"port": 81, "appProtocol": "http"}],
    ],
    [
        [{"port": 80}, {"port": 81}],
        [],
        [{"port": 0}],
        [{"port": 80, "name": "A"}],
        [{"port": 80, "protocol": "X"}],
        [{}],
        [{"port": 80, "nodePort": 80}],
        [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}],
        None,
    ],
)
_SPECS = st.builds(
    lambda ports, more: {"ports": ports, **more},
    _PORTS,
    fields(
        selector=mostly([{"app": "x"}, {"app": "y"}, {}], [{"bad key": "x"}, None]),
        type=mostly(["ClusterIP", "NodePort", "LoadBalancer"], ["ExternalName", "Bogus", None]),
        clusterIP=mostly(["None", ""], ["x", "192.0.2.1", None]),
        externalName=mostly(["example.com"], ["Bad_Name", ""]),
        sessionAffinity=mostly(["None", "ClientIP"], ["Bogus"]),
        externalIPs=mostly([["192.0.2.1"], []], [["x"]]),
        externalTrafficPolicy=mostly(["Cluster", "Local"], ["Bogus"]),
        internalTrafficPolicy=mostly(["Cluster", "Local"], ["Bogus"]),
        ipFamilyPolicy=mostly(["SingleStack"], ["RequireDualStack", "PreferDualStack", "Bogus"]),
        ipFamilies=mostly([["IPv4"]], [["IPv6"], ["x"], ["IPv4", "IPv4"]]),
        publishNotReadyAddresses=mostly([True, False], []),
        allocateLoadBalancerNodePorts=mostly([True, False], []),
        loadBalancerClass=mostly(["e.com/x"], ["bad class"]),
    ),
)
_STATUSES = fields(
    loadBalancer=mostly(
        [{"ingress": [{"ip": "192.0.2.7"}]}, {"ingress": [{"hostname": "h.example.com"}]}, {}],
        [{"ingress": [{"ip": "x"}]}],
    ),
    conditions=mostly(
        [
            [
                {
                    "type": "A",
                    "status": "True",
                    "reason": "R",
                    "message": "",
                    "lastTransitionTime": "2020-01-01T00:00:00Z",
                }
            ],
            [],
        ],
        [[{"type": "A"}]],
    ),
)
SERVICES = Kind(
    resources={"services": "v1"},
    kind="Service",
    content=st.fixed_dictionaries({"spec": _SPECS}),
    status=_STATUSES,
    pointers=[
        "/spec/ports/0/port",
        "/spec/ports/-",
        "/spec/type",
        "/spec/selector/app",
        "/spec/selector",
        "/spec/clusterIP",
        "/spec/clusterIPs",
        "/spec/ports/0/nodePort",
    ],
    values=mostly([82, "NodePort", "ClusterIP", {"port": 83, "name": "c"}, "None"], ["x"]),
    selected=["spec.type=ClusterIP", "spec.clusterIP=None"],
)
SETUP = Setup(
    marks={
        "services": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": MARK, "labels": OWN_LABELS},
            "spec": {"ports": [{"port": 80}]},
        }
    },
    watches=({}, {"labelSelector": "x=y"}, {"fieldSelector": "spec.type=ClusterIP"}),
)
