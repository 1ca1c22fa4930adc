"""Objects that the manager has applied identically before are not sent again; changed or uncertain ones are."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube.manifests import Outcome
from dynkube_testing import APIServer, Refuse
from tests.manifests.kit import JSONObject, config, crd, namespace, widget


async def writes(server: APIServer, client: dynkube.Client, obj: JSONObject, **options: Any) -> list[str]:
    """Apply the object again; return the kinds of patches sent: ``"apply"``, or ``"try"`` for a dry run."""
    server.forget_requests()
    await client.apply_all(obj, **options)
    patches = [request for request in server.requests if request.verb == "patch"]
    return ["try" if "dryRun" in request.params else "apply" for request in patches]


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "selector": {"app": "web"},
        "ports": [{"port": 80, "name": "http"}, {"port": 443, "name": "https", "targetPort": 8443}],
    },
}


INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "web"},
    "spec": {
        "rules": [
            {
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "web", "port": {"number": 80}}},
                        }
                    ]
                }
            }
        ]
    },
}
POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "web"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"ports": [{"port": 80}]}]},
}


@pytest.mark.parametrize(
    "obj",
    [config("a", x="1"), namespace("bare"), SERVICE, INGRESS],
    ids=["data", "nothing to own", "items by key with defaults", "a list as a whole"],
)
async def test_an_unchanged_object_is_not_sent_again(
    server: APIServer, client: dynkube.Client, obj: JSONObject
) -> None:
    await client.apply_all(obj)

    assert await writes(server, client, obj) == []


async def test_atomic_lists_with_defaults_are_compared_by_a_dry_run(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(POLICY)
    another_port = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"ports": [{"port": 81}]}]}

    assert await writes(server, client, POLICY) == ["try"]
    assert await writes(server, client, POLICY | {"spec": another_port}) == ["apply"]


async def test_one_and_true_are_different(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([crd(), widget("a", on=1)])

    assert await writes(server, client, widget("a", on=True)) == ["apply"]


async def test_unchanged_objects_do_not_pass_admission(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(config("a", x="1"))
    server.inject(Refuse(403), verb="patch", resource="configmaps")

    report = await client.apply_all([config("a", x="1"), config("b")], on_error="continue")

    assert [entry.outcome for entry in report] == [Outcome.UNCHANGED, Outcome.FAILED]


@pytest.mark.parametrize(
    "changed",
    [config("a", x="2", y="1"), config("a", x="1"), config("a", x="1", y="1", z="1")],
    ids=["another value", "one less", "one more"],
)
async def test_a_changed_object_is_sent(server: APIServer, client: dynkube.Client, changed: JSONObject) -> None:
    await client.apply_all(config("a", x="1", y="1"))

    assert await writes(server, client, changed) == ["apply"]


async def test_an_object_changed_by_another_manager_is_sent(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(config("a", x="1"))
    await client.resource("configmaps").patch("a", {"data": {"x": "2"}}, field_manager="other")

    assert await writes(server, client, config("a", x="1"), force=True) == ["apply"]


async def test_an_object_applied_by_another_manager_is_sent(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(config("a", x="1"), field_manager="other")

    assert await writes(server, client, config("a", x="1")) == ["apply"]
    assert await writes(server, client, config("a", x="1")) == []


async def test_fields_added_by_another_manager_are_ignored(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(config("a", x="1"))
    await client.resource("configmaps").patch("a", {"data": {"y": "2"}}, field_manager="other")

    assert await writes(server, client, config("a", x="1")) == []


async def test_an_object_applied_in_another_version_is_sent(server: APIServer, client: dynkube.Client) -> None:
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}},
    }
    await client.apply_all(scaler)

    assert await writes(server, client, scaler | {"apiVersion": "autoscaling/v2"}) == ["apply"]


async def test_a_null_creation_timestamp_is_not_a_difference(server: APIServer, client: dynkube.Client) -> None:
    generated = config("a", x="1")
    generated["metadata"]["creationTimestamp"] = None
    await client.apply_all(generated)

    assert await writes(server, client, generated) == []


async def test_unchanged_objects_do_not_pass_admission_in_a_diff(server: APIServer, client: dynkube.Client) -> None:
    secret = {**config("s"), "kind": "Secret", "data": {"pin": "MTIzNDU2"}}
    await client.apply_all([config("a", x="0"), secret])
    server.inject(Refuse(403), verb="patch")

    report = await client.diff_all([config("a", x="0"), secret])
    changed = await client.diff_all([config("a", x="1")])

    assert (report.ok, bool(report), report.summary) == (True, False, "0 differ, 2 do not")
    assert report[1].diff is not None
    assert report[1].diff.before == report[1].diff.after
    assert "MTIz" not in str(report[1].diff.before)
    assert not changed.ok
