"""Deployments, without controllers."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contract.differential.areas.custom import OWN_LABELS
from tests.contract.differential.areas.pods import POD_SPECS
from tests.contract.differential.areas.values import fields, mostly
from tests.contract.differential.areas.verbs import Kind
from tests.contract.differential.side_by_side import MARK, Setup
from tests.contract.objects import workload

_SMALL_POD = st.sampled_from(
    [
        {"containers": [{"name": "a", "image": "i:1"}]},
        {"containers": [{"name": "a", "image": "i:2"}, {"name": "b", "image": "j"}]},
    ]
)
_TEMPLATES = st.builds(
    lambda labels, spec: {"metadata": {"labels": labels}, "spec": spec},
    mostly([{"app": "x"}, {"app": "x", "v": "1"}], [{"app": "y"}, {}, None, {"bad key": "v"}]),
    st.one_of(_SMALL_POD, _SMALL_POD, POD_SPECS),
)
_SPECS = st.builds(
    lambda selector, template, more: {"selector": selector, "template": template, **more},
    mostly(
        [{"matchLabels": {"app": "x"}}, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}],
        [{}, None, {"matchLabels": {"app": "z"}}, {"matchExpressions": [{"key": "app", "operator": "Bogus"}]}],
    ),
    _TEMPLATES,
    fields(
        replicas=mostly([0, 1, 3], [-1, "x", None, 1.5]),
        strategy=mostly(
            [
                {"type": "Recreate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
                {"rollingUpdate": {"maxUnavailable": "50%"}},
                {},
            ],
            [
                {"type": "Bogus"},
                {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
                {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
                {"rollingUpdate": {"maxSurge": "x"}},
            ],
        ),
        minReadySeconds=mostly([0, 5], [-1]),
        revisionHistoryLimit=mostly([1, 10], [-1]),
        progressDeadlineSeconds=mostly([600, 10], [0, -1]),
        paused=mostly([True, False], ["x"]),
    ),
)
_STATUSES = fields(
    replicas=mostly([0, 1, 3], [-1, "x"]),
    readyReplicas=mostly([0, 1], [-1, 9]),
    updatedReplicas=mostly([0, 1], []),
    observedGeneration=mostly([1, 2], [-1]),
    conditions=mostly(
        [[{"type": "Available", "status": "True"}], []],
        [[{"type": "A"}], [{"type": "A", "status": "x"}, {"type": "A", "status": "y"}]],
    ),
)
DEPLOYMENTS = Kind(
    resources={"deployments": "apps/v1"},
    kind="Deployment",
    content=st.fixed_dictionaries({"spec": _SPECS}),
    status=_STATUSES,
    pointers=[
        "/spec/replicas",
        "/spec/template/spec/containers/0/image",
        "/spec/template/metadata/labels/v",
        "/spec/selector",
        "/spec/strategy",
        "/spec/paused",
    ],
    values=mostly([2, "i:9", {"type": "Recreate"}, True], ["x"]),
    selected=["spec.replicas=1"],
    scale=True,
)
_SPEC = workload(
    template={"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
)["spec"]
SETUP = Setup(
    marks={
        "deployments": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": MARK, "labels": OWN_LABELS},
            "spec": _SPEC,
        }
    },
    watches=({}, {"labelSelector": "x=y"}, {"fieldSelector": "metadata.name!=a"}),
)
