"""Built-in kinds with versions that differ: autoscalers, and Events in two API groups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster import MERGE, Cluster, Response

_SCALERS = "horizontalpodautoscalers"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
_PODS = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "p<q", "selector": {"matchLabels": {"b": "c", "a": "b"}}},
        "target": {"type": "AverageValue", "averageValue": "1k"},
    },
}
_OBJECT = {
    "type": "Object",
    "object": {
        "metric": {"name": "o"},
        "describedObject": {"kind": "Ingress", "name": "i"},
        "target": {"type": "AverageValue", "averageValue": "2"},
    },
}
_POLICY = '{"Type":"Pods","Value":2,"PeriodSeconds":30}'
_NEW_EVENT = {
    "metadata": {"name": "new"},
    "note": "n",
    "reason": "R",
    "type": "Warning",
    "action": "A",
    "reportingController": "c",
    "reportingInstance": "i",
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
}


@pytest.fixture
def namespaced(cluster: Cluster) -> str:
    """The part of a path from the namespace of the test on."""
    return f"namespaces/{cluster.namespace}"


async def _create(cluster: Cluster, version: str, scaler: dict[str, Any]) -> None:
    await cluster.call("POST", f"/apis/autoscaling/{version}/namespaces/{cluster.namespace}/{_SCALERS}", body=scaler)


async def _patch(cluster: Cluster, path: str, patch: dict[str, Any]) -> Response:
    return await cluster.call("PATCH", path, body=patch, content_type=MERGE)


def _entries(response: Response) -> set[str]:
    return {entry["apiVersion"] for entry in response.body["metadata"]["managedFields"]}


# ── autoscalers ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.since("1.23", "autoscaling/v2 is served since 1.23")
async def test_version_1_has_what_only_version_2_has_fields_for_in_annotations(
    cluster: Cluster, namespaced: str
) -> None:
    spec = {"maxReplicas": 3, "scaleTargetRef": _TARGET, "metrics": [_CPU, _PODS, _OBJECT]}
    await _create(cluster, "v2", {"metadata": {"name": "a"}, "spec": spec})

    shown = (await cluster.call("GET", f"/apis/autoscaling/v1/{namespaced}/{_SCALERS}/a")).body

    pods = r'{"metricName":"p\u003cq","targetAverageValue":"1k","selector":{"matchLabels":{"a":"b","b":"c"}}}'
    scaled = '{"target":{"kind":"Ingress","name":"i"},"metricName":"o","targetValue":"0","averageValue":"2"}'
    others = f'[{{"type":"Pods","pods":{pods}}},{{"type":"Object","object":{scaled}}}]'
    assert shown["metadata"]["annotations"] == {f"{_PREFIX}metrics": others}
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 50


@pytest.mark.since("1.23", "autoscaling/v2 is served since 1.23")
async def test_version_2_has_what_the_annotations_of_version_1_say(cluster: Cluster, namespaced: str) -> None:
    annotations = {
        "x": "y",
        f"{_PREFIX}metrics": '[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"5"}}]',
        f"{_PREFIX}behavior": f'{{"ScaleUp":{{"SelectPolicy":"Min","Policies":[{_POLICY}]}}}}',
    }
    spec = {"maxReplicas": 3, "scaleTargetRef": _TARGET}
    await _create(cluster, "v1", {"metadata": {"name": "a", "annotations": annotations}, "spec": spec})

    shown = (await cluster.call("GET", f"/apis/autoscaling/v2/{namespaced}/{_SCALERS}/a")).body

    target = {"type": "AverageValue", "averageValue": "5"}
    assert shown["spec"]["metrics"] == [{"type": "Pods", "pods": {"metric": {"name": "p"}, "target": target}}]
    policies = [rules["selectPolicy"] for _, rules in sorted(shown["spec"]["behavior"].items())]
    assert policies == ["Max", "Min"], "the default for scaleDown, and that of the annotation"
    assert shown["metadata"]["annotations"] == {"x": "y"}


@pytest.mark.since("1.23", "autoscaling/v2 is served since 1.23")
async def test_a_change_in_version_1_keeps_what_it_has_no_fields_for(cluster: Cluster, namespaced: str) -> None:
    spec = {"maxReplicas": 3, "scaleTargetRef": _TARGET, "metrics": [_CPU, _PODS]}
    await _create(cluster, "v2", {"metadata": {"name": "a"}, "spec": spec})

    patch = {"spec": {"targetCPUUtilizationPercentage": 70}}
    changed = await _patch(cluster, f"/apis/autoscaling/v1/{namespaced}/{_SCALERS}/a", patch)

    shown = (await cluster.call("GET", f"/apis/autoscaling/v2/{namespaced}/{_SCALERS}/a")).body
    pods, cpu = shown["spec"]["metrics"]
    assert (pods, cpu["resource"]["target"]["averageUtilization"]) == (_PODS, 70)
    assert _entries(changed) == {"autoscaling/v1", "autoscaling/v2"}


@pytest.mark.since("1.23", "autoscaling/v2 is served since 1.23")
async def test_the_status_of_version_2_is_in_annotations_of_version_1(cluster: Cluster, namespaced: str) -> None:
    spec = {"maxReplicas": 3, "scaleTargetRef": _TARGET}
    await _create(cluster, "v2", {"metadata": {"name": "a"}, "spec": spec})
    resource = {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "1"}}
    current = [{"type": "Resource", "resource": resource}]
    status = {"currentReplicas": 1, "desiredReplicas": 2, "currentMetrics": current}
    status["conditions"] = [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]

    await _patch(cluster, f"/apis/autoscaling/v2/{namespaced}/{_SCALERS}/a/status", {"status": status})

    shown = (await cluster.call("GET", f"/apis/autoscaling/v1/{namespaced}/{_SCALERS}/a")).body
    metrics = '{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"1"}'
    condition = '{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}'
    assert shown["metadata"]["annotations"] == {
        f"{_PREFIX}current-metrics": f'[{{"type":"Resource","resource":{metrics}}}]',
        f"{_PREFIX}conditions": f"[{condition}]",
    }
    assert shown["status"] == {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40}


# ── Events ────────────────────────────────────────────────────────────────────────────────────


async def test_an_event_of_v1_is_in_the_other_group_too(cluster: Cluster, namespaced: str) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": cluster.namespace}
    event = {"message": "m", "reason": "R", "count": 2, "source": {"component": "kubelet"}, "involvedObject": involved}
    await cluster.call("POST", f"/api/v1/{namespaced}/events", body={"metadata": {"name": "old"}, **event})

    shown = (await cluster.call("GET", f"/apis/events.k8s.io/v1/{namespaced}/events/old")).body

    assert {key: value for key, value in shown.items() if key not in {"apiVersion", "kind", "metadata"}} == {
        "eventTime": None,
        "reason": "R",
        "regarding": involved,
        "note": "m",
        "deprecatedSource": {"component": "kubelet"},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "deprecatedCount": 2,
    }


async def test_an_event_of_the_other_group_is_in_v1_too(cluster: Cluster, namespaced: str) -> None:
    regarding = {"kind": "Pod", "name": "p", "namespace": cluster.namespace}
    path = f"/apis/events.k8s.io/v1/{namespaced}/events"
    await cluster.call("POST", path, body={**_NEW_EVENT, "regarding": regarding})

    shown = (await cluster.call("GET", f"/api/v1/{namespaced}/events/new")).body

    renamed = {"metadata", "note", "reportingController"}
    expected = {key: value for key, value in _NEW_EVENT.items() if key not in renamed}
    assert {key: value for key, value in shown.items() if key not in {"apiVersion", "kind", "metadata"}} == {
        **expected,
        "involvedObject": regarding,
        "message": "n",
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "reportingComponent": "c",
    }


async def test_events_are_selected_by_the_names_of_each_group(cluster: Cluster, namespaced: str) -> None:
    path = f"/apis/events.k8s.io/v1/{namespaced}/events"
    await cluster.call("POST", path, body={**_NEW_EVENT, "regarding": {"name": "p", "namespace": cluster.namespace}})
    wanted = {
        path: "regarding.name=p,reportingController=c",
        f"/api/v1/{namespaced}/events": "involvedObject.name=p,source=c",
    }

    for place, selector in wanted.items():
        found = await cluster.call("GET", place, params={"fieldSelector": selector})
        assert [item["metadata"]["name"] for item in found.body["items"]] == ["new"], selector


@pytest.mark.since("1.21", "immutable since events.k8s.io/v1 is strict about updates")
async def test_an_event_of_the_other_group_is_immutable_except_for_its_series(
    cluster: Cluster, namespaced: str
) -> None:
    path = f"/apis/events.k8s.io/v1/{namespaced}/events"
    await cluster.call("POST", path, body={**_NEW_EVENT, "regarding": {"namespace": cluster.namespace}})

    counted = await _patch(cluster, f"{path}/new", {"series": {"count": 3}})
    changed = await _patch(cluster, f"{path}/new", {"note": "x"})

    assert counted.code == 200
    expected = 'Event "new" is invalid: message: Invalid value: "x": field is immutable'
    assert (changed.code, changed.body["message"]) == (422, expected)


async def test_an_update_through_v1_drops_the_owners_in_the_other_group(cluster: Cluster, namespaced: str) -> None:
    path = f"/apis/events.k8s.io/v1/{namespaced}/events"
    await cluster.call("POST", path, body={**_NEW_EVENT, "regarding": {"namespace": cluster.namespace}})

    changed = await _patch(cluster, f"/api/v1/{namespaced}/events/new", {"message": "changed"})

    assert _entries(changed) == {"v1"}


async def test_a_watch_has_events_of_both_groups(cluster: Cluster) -> None:
    path = f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events"
    async with cluster.stream(path, {"watch": "1"}) as events:
        involved = {"namespace": cluster.namespace}
        await cluster.create("events", {"metadata": {"name": "old"}, "message": "m", "involvedObject": involved})
        (event,) = await events.take(1)

    assert (event["type"], event["object"]["note"]) == ("ADDED", "m")
