"""ConfigMaps and Secrets."""

from __future__ import annotations

from tests.contract.differential.areas.custom import OWN_LABELS
from tests.contract.differential.areas.values import fields, mostly
from tests.contract.differential.areas.verbs import Kind
from tests.contract.differential.side_by_side import MARK, Setup

CONFIGS = Kind(
    resources={"configmaps": "v1"},
    kind="ConfigMap",
    content=fields(
        data=mostly(
            [{"k": "v"}, {"k": "w"}, {"k": "v", "l": "m"}, {}],
            [{"bad key": "x"}, {"k": 1}, None, {"k": None}, {"..": "x"}],
        ),
        binaryData=mostly([{"z": "aGk="}, {}], [{"z": "???"}, {"k": "aGk="}, {"z": None}]),
        immutable=mostly([False], [True, None, "x"]),
    ),
    pointers=["/data/k", "/data/l", "/data", "/immutable", "/binaryData/z"],
    values=mostly(["v", "w", {"k": "x"}, True], [1]),
    selected=["data.k=v"],
)
SECRETS = Kind(
    resources={"secrets": "v1"},
    kind="Secret",
    content=fields(
        data=mostly([{"k": "aGk="}, {"k": "aGo=", "l": ""}, {}], [{"bad key": "aGk="}, {"k": "?"}, {"k": 1}, None]),
        stringData=mostly([{"k": "plain"}, {"m": "plain"}, {}], [{"bad key": "x"}, {"k": 1}]),
        type=mostly(
            ["Opaque", "example.com/t"],
            ["kubernetes.io/tls", "kubernetes.io/dockerconfigjson", "kubernetes.io/basic-auth", "", 1],
        ),
        immutable=mostly([False], [True]),
    ),
    pointers=["/data/k", "/data", "/type", "/stringData", "/stringData/k"],
    values=mostly(["aGk=", "w", {"k": "aGk="}], [1]),
    selected=["type=Opaque", "type!=Opaque"],
)
SETUP = Setup(
    marks={
        "configmaps": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MARK, "labels": OWN_LABELS}},
        "secrets": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": MARK, "labels": OWN_LABELS}},
    },
    watches=({}, {"labelSelector": "x=y"}, {"fieldSelector": "metadata.name!=a"}),
)
