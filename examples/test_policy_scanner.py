"""Tests of policy_scanner.py, without a cluster and in virtual time. Run them by ``python -m pytest examples``."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml

import dynkube
from dynkube_testing import APIServer
from examples import policy_scanner

pytestmark = pytest.mark.anyio

RULES = """
- {name: long, resource: sessions.v1.example.com, path: "{.spec.seconds}", equals: 3600, message: take an hour}
- {name: named, resource: sessions.v1.example.com, path: "{.metadata.name}", matches: "^h", message: begin with h}
- {name: owned, resource: namespaces, path: "{.metadata.labels.owner}", exists: true, message: add an owner}
"""


@pytest.fixture
def anyio_backend(virtual_time_backend: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return virtual_time_backend


@pytest.fixture
async def scanner(api_server: APIServer, kube_client: dynkube.Client) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(policy_scanner.scan, kube_client)
        yield
        nursery.cancel_scope.cancel()


def rules(text: str, name: str = "rules") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": {policy_scanner.RULES: "true"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"rules.yaml": text}}


def definition(kind: str, scope: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": f"{kind.lower()}s", "singular": kind.lower(), "kind": kind}
    version = {"name": "v1alpha2", "served": True, "storage": True, "schema": schema}
    spec = {"group": "wgpolicyk8s.io", "scope": scope, "names": names, "versions": [version]}
    metadata = {
        "name": f"{names['plural']}.wgpolicyk8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/wg-policy-prototypes"},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def status(server: APIServer, name: str = "rules") -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(server.get("configmaps", f"{name}-status")["data"]["status.yaml"])
    return found


def events_about(server: APIServer, name: str) -> list[str]:
    """Return the notes of Events, with their counts if above one."""
    events = [event for event in server.list("events.events.k8s.io") if event["regarding"]["name"] == name]
    return [event["note"] + (str(event["series"]) if "series" in event else "") for event in events]


def violated(server: APIServer) -> dict[str, int]:
    return {rule["name"]: rule["violations"] for rule in status(server)["rules"]}


@pytest.mark.usefixtures("scanner")
async def test_violations_are_in_the_status_and_in_events(
    api_server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    api_server.create(rules(RULES))
    await trio.sleep(20)
    assert violated(api_server) == {"long": 0, "named": 0, "owned": 4}
    assert status(api_server)["rules"][0]["scan"].startswith("ABSENT")

    api_server.load(Path(__file__).with_name("sessions.yaml"))
    await trio.sleep(20)
    assert violated(api_server) == {"long": 1, "named": 1, "owned": 4}
    assert "long: sessions.v1.example.com default/minute: take an hour" in status(api_server)["violations"]
    assert events_about(api_server, "minute") == ["default/rules/long: take an hour; default/rules/named: begin with h"]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.usefixtures("scanner")
async def test_objects_are_scanned_again_when_they_or_the_rules_change(api_server: APIServer) -> None:
    api_server.load(Path(__file__).with_name("sessions.yaml"))
    api_server.create(rules(RULES))
    await trio.sleep(20)
    session = api_server.get("sessions", "minute")
    api_server.update({**session, "spec": {"seconds": 3600}})
    await trio.sleep(20)
    assert violated(api_server)["long"] == 0

    api_server.apply(rules(RULES.replace("3600", "60")))
    await trio.sleep(20)
    assert violated(api_server)["long"] == 2

    api_server.delete("sessions", "hour")
    await trio.sleep(20)
    assert violated(api_server)["long"] == 1

    api_server.delete("crds", "sessions.example.com")
    await trio.sleep(20)
    assert violated(api_server)["long"] == 0


@pytest.mark.usefixtures("scanner")
async def test_a_violation_has_one_event_however_often_it_is_scanned(api_server: APIServer) -> None:
    api_server.load(Path(__file__).with_name("sessions.yaml"))
    api_server.create(rules(RULES))
    await trio.sleep(20)
    api_server.apply(rules(RULES + "- {name: new, resource: sessions.v1.example.com, path: .spec, exists: true}"))
    session = api_server.get("sessions", "minute")
    api_server.update({**session, "metadata": {**session["metadata"], "labels": {"a": "b"}}})
    await trio.sleep(1800)
    assert events_about(api_server, "minute") == ["default/rules/long: take an hour; default/rules/named: begin with h"]


@pytest.mark.usefixtures("scanner")
async def test_bad_rules_are_reported_and_do_not_stop_others(api_server: APIServer) -> None:
    api_server.create(rules("- {name: broken", "other"))
    bad = """
- {name: path, resource: pods, path: "{.spec[", exists: true}
- {name: field, resource: pods, path: .spec, exists: true, severity: high}
- {name: regex, resource: pods, path: .spec, matches: "("}
- {name: nothing, resource: pods, path: .spec}
- {name: resource, resource: "no such thing", path: .spec, exists: true}
- nothing at all
"""
    api_server.create(rules(bad + RULES))
    api_server.create(rules("#" * (policy_scanner.SIZE + 1), "long"))
    await trio.sleep(20)

    assert violated(api_server)["owned"] == 4
    errors = status(api_server)["errors"]
    assert [error.split(":")[0] for error in errors] == [f"rules.yaml[{number}]" for number in range(6)]
    assert "unknown field `severity`" in errors[1]
    for name in ("other", "long"):
        assert [error.split(":")[0] for error in status(api_server, name)["errors"]] == ["rules.yaml"]


@pytest.mark.usefixtures("scanner")
async def test_reports_follow_violations_once_their_crd_is_installed(api_server: APIServer) -> None:
    api_server.load(Path(__file__).with_name("sessions.yaml"))
    api_server.create(rules(RULES))
    await trio.sleep(20)
    api_server.create(definition("PolicyReport", "Namespaced"))
    await trio.sleep(20)
    (report,) = api_server.list("policyreports")
    assert report["scope"]["name"] == "minute"
    assert report["summary"] == {"pass": 0, "fail": 2}
    assert report["metadata"]["ownerReferences"][0]["name"] == "minute"

    session = api_server.get("sessions", "minute")
    api_server.update({**session, "spec": {"seconds": 3600}})
    await trio.sleep(20)
    (report,) = api_server.list("policyreports")
    assert [(result["rule"], result["result"]) for result in report["results"]] == [("long", "pass"), ("named", "fail")]

    api_server.apply(rules("[]"))
    await trio.sleep(20)
    assert api_server.list("policyreports") == []


@pytest.mark.usefixtures("scanner")
async def test_cluster_scoped_objects_have_cluster_reports(api_server: APIServer) -> None:
    api_server.create(definition("ClusterPolicyReport", "Cluster"))
    api_server.create(rules(RULES))
    await trio.sleep(20)
    assert len(api_server.list("clusterpolicyreports")) == 4

    namespace = api_server.get("namespaces", "default")
    namespace["metadata"]["labels"]["owner"] = "team-a"
    api_server.update(namespace)
    await trio.sleep(20)
    assert len(api_server.list("clusterpolicyreports")) == 3

    api_server.delete("configmaps", "rules")
    await trio.sleep(20)
    assert api_server.list("clusterpolicyreports") == []


@pytest.mark.usefixtures("scanner")
async def test_nothing_is_sent_while_nothing_changes(api_server: APIServer) -> None:
    api_server.load(Path(__file__).with_name("sessions.yaml"))
    api_server.create(definition("PolicyReport", "Namespaced"))
    api_server.create(rules(RULES))
    await trio.sleep(400)  # until counts of Events are written
    api_server.forget_requests()
    await trio.sleep(250)
    assert {request.verb for request in api_server.audit} <= {"watch"}


@pytest.mark.parametrize(
    ("path", "check", "holds"),
    [
        (".spec.missing", {"exists": True}, False),
        (".spec.missing", {"exists": False}, True),
        (".spec.missing", {"equals": None}, False),
        (".spec.missing", {"matches": ".*"}, False),
        (".spec.images[*]", {"matches": "^registry/"}, False),
        (".spec.images[*]", {"matches": ":1$"}, True),
        (".spec.replicas", {"equals": 1}, True),
        (".spec.replicas", {"matches": "^[1-9]$"}, True),
        (".spec.paused", {"equals": True}, True),
        (".spec.paused", {"equals": 1}, False),
    ],
)
def test_what_a_rule_demands(path: str, check: dict[str, Any], holds: bool) -> None:
    obj = dynkube.Unstructured({"spec": {"images": ["registry/a:1", "b:1"], "replicas": 1, "paused": True}})

    assert policy_scanner.Rule(name="rule", resource="pods", path=path, **check).holds(obj) is holds
