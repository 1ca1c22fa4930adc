"""The benchmark of restarted servers finds events and states that the ledger of writes does not explain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

import dynkube
from benchmarks.restarts.ledger import Ledger
from benchmarks.restarts.recorder import Findings, Kind, Recorder, Responses
from benchmarks.restarts.resources import Origin, Resource
from dynkube import Unstructured
from dynkube.meta import GVR
from dynkube_testing import APIServer
from tests.informers.kit import CRDS, crd, quiet, widget

WIDGETS = GVR("example.com", "v1", "widgets")
WIDGET = Resource(gvr=WIDGETS, kind="Widget", origin=Origin.PERMANENT)


@asynccontextmanager
async def recording(server: APIServer, ledger: Ledger, findings: Findings) -> AsyncIterator[Recorder]:
    """Run a recorder with an informer on widgets that has synced."""
    async with dynkube.connect(transport=server.transport()) as client, trio.open_nursery() as nursery:
        recorder = Recorder(client.informer(WIDGETS), WIDGET, None, ledger, findings)
        async with recorder.informer:
            nursery.start_soon(recorder.follow_states)
            await recorder.informer.wait_synced()
            await quiet()
            yield recorder


async def test_a_deletion_is_a_finding_unless_the_ledger_has_it() -> None:
    async with APIServer() as server:
        server.create(crd())
        uids = [server.create(widget(name))["metadata"]["uid"] for name in "ab"]
        ledger, findings = Ledger(), Findings()
        ledger.add_resource(WIDGET)
        ledger.deleted.add(uids[0])
        async with recording(server, ledger, findings):
            server.delete(str(WIDGETS), "a", namespace="default")
            await quiet()
            assert findings.found == []

            server.delete(str(WIDGETS), "b", namespace="default")
            await quiet()

    assert [finding.kind for finding in findings.found] == [Kind.DELETED]
    assert uids[1] in str(findings.found[0])
    assert findings.events == {"Added": 2, "Deleted": 2}


async def test_absent_is_a_finding_while_the_resource_is_served() -> None:
    async with APIServer() as server:
        server.create(crd())
        ledger, findings = Ledger(), Findings()
        ledger.add_resource(WIDGET)
        async with recording(server, ledger, findings):
            server.delete(CRDS, WIDGETS.crd_name)
            await quiet()

    assert [finding.kind for finding in findings.found] == [Kind.ABSENT]


async def test_absent_is_no_finding_after_the_crd_was_deleted() -> None:
    async with APIServer() as server:
        server.create(crd())
        uid = server.create(widget("a"))["metadata"]["uid"]
        ledger, findings = Ledger(), Findings()
        ledger.add_resource(WIDGET)
        ledger.set_objects({WIDGETS: {("default", "a"): uid}})
        async with recording(server, ledger, findings):
            ledger.remove_resource(WIDGET)
            server.delete(CRDS, WIDGETS.crd_name)
            await quiet()

    assert findings.found == []
    assert findings.events["Deleted"] == 1


async def test_invalid_events_and_differing_content_are_findings() -> None:
    async with APIServer() as server:
        server.create(crd())
        findings = Findings()
        async with recording(server, Ledger(), findings) as recorder:
            old, new = (Unstructured(server.create(widget(name))) for name in "ab")
            await quiet()

            recorder._added(old)
            recorder._updated(new, old)

            assert recorder.differences({old.key: (old.uid, old.resource_version)}) == [
                f"list() {new.key}: {(new.uid, new.resource_version)}, the server's is None",
                f"handler {new.key}: {(new.uid, new.resource_version)}, the server's is None",
            ]
    assert [finding.kind for finding in findings.found] == [Kind.ADDED, Kind.UPDATED]


async def test_a_restored_backup_deletes_newer_objects_and_restores_deleted_ones() -> None:
    ledger = Ledger()
    ledger.add_resource(WIDGET)
    ledger.set_objects({WIDGETS: {("default", "stays"): "1", ("default", "later"): "3"}})
    ledger.deleted.add("2")

    ledger.rewind({WIDGETS: {("default", "stays"): "1", ("default", "went"): "2"}})

    assert ledger.deleted == {"3"}


async def test_the_responses_shown_for_a_finding_are_those_of_its_resource() -> None:
    async with APIServer() as server:
        server.create(crd())
        responses = Responses()
        async with dynkube.connect(transport=server.transport(), observers=[responses]) as client:
            for resource in ("configmaps", "widgets"):
                await client.resource(resource).list()
        findings = Findings()
        findings.note(Kind.DELETED, str(WIDGETS), "")

    shown = responses.around(findings.found[0])

    assert any("/widgets: 200" in line for line in shown)
    assert not any("/configmaps: " in line for line in shown)
