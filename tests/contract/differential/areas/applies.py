"""Several managers and one object: who owns which field after applies, updates, patches and resets in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.contract.cluster import APPLY, JSON, MERGE, Cluster
from tests.contract.differential.areas.values import Draw, Values, mostly, rarely
from tests.contract.differential.asking import Request
from tests.contract.differential.side_by_side import MARK, Ground
from tests.contract.objects import JSONObject, version

_MANAGERS = st.sampled_from(["m1", "m1", "m2", "m2", "m3"])
# Also such as apply: who applies and who updates are two, even under one name.
_UPDATERS = st.sampled_from(["m1", "m4", "m5"])
_METADATA: st.SearchStrategy[JSONObject] = st.sampled_from(
    [{}] * 6
    + [{"labels": {"a": "1"}}, {"labels": {"a": "2", "b.c/d": "1"}}, {"annotations": {"x": "1"}}]
    + [{"finalizers": ["e.com/f"]}, {"finalizers": ["e.com/g", "e.com/f"]}, {"labels": {}}]
)
_FIELDS: JSONObject = {"f:metadata": {"f:labels": {"f:a": {}}}}
_ENTRY = {"manager": "m1", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": _FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The kind of the object that they share.

    Attributes:
        resources: Its plural, or that in each version, each with its ``apiVersion``.
        kind: Its name.
        contents: The fields beside ``metadata``, by resource.
        statuses: What to send to ``/status``; ``None`` if there is no such subresource.
        scale: Whether there is a ``/scale``.
        locked: Whether an update has to name a resourceVersion.
        rehearsed: Whether there are dry runs. Those of what is allocated give numbers that mean nothing.
    """

    resources: dict[str, str]
    kind: str
    contents: dict[str, Values]
    statuses: Values | None = None
    scale: bool = False
    locked: bool = False
    rehearsed: bool = True

    def requests(self) -> st.SearchStrategy[Request]:
        """What its managers ask for."""
        return _requests(self)


@st.composite
def _requests(draw: Draw, subject: Subject) -> Request:
    verbs = [_apply] * 10 + [_update] * 3 + [_merge] * 4 + [_reset, _delete]
    verbs += [_status] * 3 if subject.statuses is not None else []
    verbs += [_scale] * 2 if subject.scale else []
    return draw(st.sampled_from(verbs))(draw, subject)


def _object(draw: Draw, subject: Subject, resource: str) -> JSONObject:
    metadata = {"name": "a", **draw(_METADATA)}
    if subject.locked and metadata.get("labels") == {}:
        del metadata["labels"]  # of custom resources that is stored, and shown nowhere, so that the next write is one
    return {
        "apiVersion": subject.resources[resource],
        "kind": subject.kind,
        "metadata": metadata,
        **draw(subject.contents[resource]),
    }


def _applied(draw: Draw, target: str, body: JSONObject) -> Request:
    params = {"fieldManager": draw(_MANAGERS)}
    if draw(st.integers(0, 2)):
        params["force"] = "true"
    if rarely(draw, 15):
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": draw(st.sampled_from(["{rv}", "{old}"]))}}
    return Request(method="PATCH", target=target, body=body, content_type=APPLY, params=params)


def _apply(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    asked = _applied(draw, f"{resource}/a", _object(draw, subject, resource))
    if subject.rehearsed and rarely(draw, 12):
        asked = replace(asked, params={**asked.params, "dryRun": "All"})
    return asked


def _status(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    assert subject.statuses is not None
    body = {**_object(draw, subject, resource), "status": draw(subject.statuses)}
    if draw(st.booleans()):
        return _applied(draw, f"{resource}/a/status", body)
    params = {"fieldManager": draw(_UPDATERS)}
    patch = {"status": body["status"]}
    return Request(method="PATCH", target=f"{resource}/a/status", body=patch, content_type=MERGE, params=params)


def _scale(draw: Draw, subject: Subject) -> Request:
    resource, replicas = draw(st.sampled_from(list(subject.resources))), draw(st.sampled_from([0, 1, 2, 3]))
    target, spec = f"{resource}/a/scale", {"replicas": replicas}
    if draw(st.booleans()):
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec}
        return _applied(draw, target, body)
    params = {"fieldManager": draw(_UPDATERS)}
    return Request(method="PATCH", target=target, body={"spec": spec}, content_type=MERGE, params=params)


def _update(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    body, params = _object(draw, subject, resource), {"fieldManager": draw(_UPDATERS)}
    if draw(st.booleans()):
        return Request(method="POST", target=resource, body=body, params=params)
    if subject.locked:
        body["metadata"] = {**body["metadata"], "resourceVersion": "{rv}"}
    return Request(method="PUT", target=f"{resource}/a", body=body, params=params)


def _merge(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    body = _object(draw, subject, resource)
    patch = {name: value for name, value in body.items() if name not in {"apiVersion", "kind"}}
    del patch["metadata"]["name"]
    if rarely(draw, 4) and (name := draw(st.sampled_from([*patch, ""]))):
        patch[name] = None
    params = {"fieldManager": draw(_UPDATERS)}
    return Request(method="PATCH", target=f"{resource}/a", body=patch, content_type=MERGE, params=params)


def _reset(draw: Draw, subject: Subject) -> Request:
    """Empty, drop, or set who owns what."""
    resource = draw(st.sampled_from(list(subject.resources)))
    entry = {**_ENTRY, "apiVersion": subject.resources[resource]}
    values: Sequence[object] = [[], [{}], None, [entry], [{**entry, "operation": "Update"}], [{**entry, "time": "x"}]]
    value = draw(st.sampled_from([*values, [{**entry, "apiVersion": "v9"}], [{**entry, "manager": ""}]]))
    params = {"fieldManager": draw(_UPDATERS)}
    if draw(st.booleans()):
        body: object = {"metadata": {"managedFields": value}}
        return Request(method="PATCH", target=f"{resource}/a", body=body, content_type=MERGE, params=params)
    body = [{"op": "replace", "path": "/metadata/managedFields", "value": value}]
    return Request(method="PATCH", target=f"{resource}/a", body=body, content_type=JSON, params=params)


def _delete(draw: Draw, subject: Subject) -> Request:
    return Request(method="DELETE", target=f"{next(iter(subject.resources))}/a")


def some(**named: Values) -> Values:
    """A dictionary with a few of these, never with none: applies that say nothing are rare enough."""
    return st.lists(st.sampled_from(sorted(named)), min_size=1, max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: named[name] for name in chosen})
    )


# ── built-in kinds ────────────────────────────────────────────────────────────────────────

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
    rehearsed=False,
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

# ── custom resources ──────────────────────────────────────────────────────────────────────

_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}


def _listed(kind: str, items: JSONObject, *keys: str) -> JSONObject:
    more = {"x-kubernetes-list-map-keys": list(keys)} if keys else {}
    return {"type": "array", "items": items, "x-kubernetes-list-type": kind, **more}


def _struct(**properties: JSONObject) -> JSONObject:
    return {"type": "object", "properties": properties}


_PORT = _struct(
    port=_INTEGER,
    protocol={"type": "string", "default": "TCP"},
    name=_STRING,
    tags=_listed("set", _STRING),
    options={"type": "object", "additionalProperties": _STRING},
    backends=_listed("map", _struct(id=_STRING, weight={"type": "number"}) | {"required": ["id"]}, "id"),
) | {"required": ["port"]}
_COMMON = {
    "size": {"type": "integer", "default": 1},
    "name": {"type": "string", "nullable": True},
    "ports": _listed("map", _PORT, "port", "protocol"),
    "tags": _listed("set", _STRING),
    "numbers": _listed("set", {"type": "number"}),
    "lines": {"type": "array", "items": _STRING},
    "whole": _struct(a=_INTEGER, b={"type": "string", "default": "x"}) | {"x-kubernetes-map-type": "atomic"},
    "nested": _struct(deep=_struct(leaf={"type": "string", "default": "green"}, other=_INTEGER)),
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "open": _struct(known=_STRING) | {"x-kubernetes-preserve-unknown-fields": True},
    "either": {"x-kubernetes-int-or-string": True},
    "map": {"type": "object", "additionalProperties": _struct(a=_INTEGER, b=_listed("set", _STRING))},
    "pairs": _listed(
        "map", _struct(k=_STRING, v=_STRING) | {"x-kubernetes-map-type": "atomic", "required": ["k"]}, "k"
    ),
}
_SPECS = {
    "size": mostly([0, 1, 2], [None]),
    "name": mostly(["a", "b", None], []),
    "ports": mostly(
        [
            [{"port": 80}],
            [{"port": 80, "name": "a"}, {"port": 81, "tags": ["x"]}],
            [{"port": 81, "tags": ["x", "y"]}, {"port": 80, "protocol": "UDP"}],
            [{"port": 80, "options": {"k": "v"}, "backends": [{"id": "b", "weight": 1}]}],
            [{"port": 80, "options": {"k": "w", "l": "x"}, "backends": [{"id": "c", "weight": 1.5}, {"id": "b"}]}],
            [],
        ],
        [[{"port": 80}, {"port": 80}], [{"name": "x"}], None],
    ),
    "tags": mostly([["x"], ["y", "x"], ["z", "y"], []], [["x", "x"], None]),
    "numbers": mostly([[1], [1.5, 1], [2], [1.0], []], [None, [True]]),
    "lines": mostly([["x"], ["x", "x"], []], [None]),
    "whole": mostly([{"a": 1}, {"a": 2, "b": "y"}, {}, {"b": "x"}], [None]),
    "nested": mostly([{}, {"deep": {}}, {"deep": {"leaf": "blue"}}, {"deep": {"other": 1}}], [None, {"deep": None}]),
    "any": mostly([1, "a", {"b": [1]}, {"b": {"c": 1}}, {"b": {"c": None}}, [{"a": 1}], [], {}, {"b": {}}], [None]),
    "open": mostly([{"known": "a"}, {"x": 1}, {"x": {"y": 1}, "known": "b"}, {"x": [1]}, {"x": {}}, {}], [None]),
    "either": st.sampled_from([1, "2", 1, "1"]),
    "map": mostly([{"a": {"a": 1}}, {"a": {"b": ["x"]}, "b": {}}, {"b": {"a": 2, "b": ["y", "x"]}}, {}], [{"a": None}]),
    "pairs": mostly([[{"k": "a", "v": "1"}], [{"k": "b"}, {"k": "a", "v": "2"}], []], [[{"v": "1"}], None]),
}
_STATUSES = some(
    phase=st.sampled_from(["p", "q"]),
    size=st.sampled_from([0, 1, 2]),
    conditions=st.sampled_from(
        [[{"type": "A", "status": "True"}], [{"type": "B"}, {"type": "A", "status": "False"}], []]
    ),
)
_STATUS = _struct(
    phase=_STRING,
    size=_INTEGER,
    conditions=_listed("map", _struct(type=_STRING, status=_STRING) | {"required": ["type"]}, "type"),
)
# Of a second version, which has other fields, and tells some of the same in another way.
_OTHER = {
    **{name: _COMMON[name] for name in ("size", "name", "ports", "lines", "whole", "nested", "map", "either")},
    "tags": {"type": "array", "items": _STRING},
    "extra": _STRING,
}
_OTHER_SPECS = {**{name: _SPECS[name] for name in _OTHER if name != "extra"}, "extra": st.sampled_from(["x", "y"])}


def _served(name: str, spec: JSONObject, *, storage: bool) -> JSONObject:
    schema = {"openAPIV3Schema": _struct(spec=_struct(**spec), status=_STATUS)}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    return version(name, storage=storage, schema=schema, subresources={"status": {}, "scale": paths})


def _definitions(cluster: Cluster) -> list[JSONObject]:
    versions = [_served("v1", _COMMON, storage=True), _served("v2", _COMMON, storage=False)]
    different = [_served("v1", _COMMON, storage=True), _served("v2", _OTHER, storage=False)]
    return [
        cluster.definition(versions=versions),
        cluster.definition("gadgets", "Gadget"),
        cluster.definition("gizmos", "Gizmo", versions=different),
    ]


def _custom(plural: str, kind: str, specs: dict[str, dict[str, Values]]) -> Subject:
    return Subject(
        resources={f"{plural}.{name}": f"{{group}}/{name}" for name in specs},
        kind=kind,
        contents={f"{plural}.{name}": st.fixed_dictionaries({"spec": some(**spec)}) for name, spec in specs.items()},
        statuses=_STATUSES,
        locked=True,
    )


WIDGETS = _custom("widgets", "Widget", {"v1": _SPECS, "v2": _SPECS})
GIZMOS = _custom("gizmos", "Gizmo", {"v1": _SPECS, "v2": _OTHER_SPECS})
_LEAVES: Values = st.sampled_from([1, "a", None, 1.5, True, ""])
GADGETS = Subject(
    resources={"gadgets": "{group}/v1"},
    kind="Gadget",
    contents={
        "gadgets": some(
            spec=st.recursive(
                _LEAVES,
                lambda inner: st.one_of(
                    st.lists(inner, max_size=2),
                    st.dictionaries(st.sampled_from(["a", "b", "c.d", "f:x", "."]), inner, max_size=3),
                ),
                max_leaves=6,
            ),
            data=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["v", "w"]), max_size=2),
        )
    },
    locked=True,
)


def ground(subject: Subject, mark: JSONObject) -> Ground:
    """Where sequences of a subject are played; ``mark`` are the fields of its mark."""
    resource, api_version = next(iter(subject.resources.items()))
    plural = resource.partition(".")[0]
    metadata = {"name": MARK}
    return Ground(
        marks={plural: {"apiVersion": api_version, "kind": subject.kind, "metadata": metadata, **mark}},
        warned=False,  # of odd pods and ports the embedded server does not warn
        define=lambda cluster: [each for each in _definitions(cluster) if each["spec"]["names"]["plural"] == plural],
    )


_POD = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
_SPEC = {"selector": {"matchLabels": {"app": "x"}}, "template": _POD}
_SUBJECTS: list[tuple[str, Subject, JSONObject]] = [
    ("configs", CONFIGS, {}),
    ("services", SERVICES, {"spec": {"ports": [{"port": 80}]}}),
    ("deployments", DEPLOYMENTS, {"spec": _SPEC}),
    ("widgets", WIDGETS, {"spec": {}}),
    ("gizmos", GIZMOS, {"spec": {}}),
    ("gadgets", GADGETS, {}),
]
#: Name, ground and requests of each area.
AREAS = [(f"applies-{name}", ground(subject, mark), subject.requests()) for name, subject, mark in _SUBJECTS]
#: Those whose objects, and merges, are the same in older releases.
AGELESS = {"applies-configs"}
