"""Custom resources whose CRD is in the same source are applied once it is served, or fail with the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio

import dynkube
from dynkube.manifests import Outcome
from dynkube_testing import APIServer, Refuse
from tests.manifests.kit import config, crd, outcomes, widget

CRDS = "customresourcedefinitions"


@pytest.fixture
async def slow() -> AsyncIterator[APIServer]:
    async with APIServer(establish_delay=5.0) as server:
        yield server


async def test_objects_wait_only_for_their_own_crd(slow: APIServer) -> None:
    done: dict[str, float] = {}
    async with (
        dynkube.connect(transport=slow.transport()) as client,
        client.apply_all([widget("w"), config("a"), crd()]) as run,
    ):
        async for entry in run:
            done[entry.name.partition("/")[0]] = trio.current_time()

    assert run.report.ok, run.report
    assert done["widget.example.com"] == pytest.approx(5)
    assert done["configmap"] == done["customresourcedefinition.apiextensions.k8s.io"] == 0


async def test_waiting_for_a_crd_uses_a_watch_instead_of_polling(slow: APIServer) -> None:
    async with dynkube.connect(transport=slow.transport()) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.apply_all([widget("w"), crd()])._all)
        await trio.sleep(1)
        slow.forget_requests()
        await trio.sleep(3.9)

        assert not slow.requests
        assert [watch.resource.resource for watch in slow.open_watches] == [CRDS]


async def test_a_crd_that_is_already_served_is_not_watched(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([crd(), widget("w")])
    server.forget_requests()

    await client.apply_all([crd(), widget("w", size=2)])

    assert {request.verb for request in server.requests} <= {"get", "patch"}


async def test_no_watch_remains_after_the_run(slow: APIServer) -> None:
    async with dynkube.connect(transport=slow.transport()) as client:
        await client.apply_all([widget("w"), crd()])

        await slow.wait_open_watches(0)


async def test_objects_of_a_crd_that_is_never_established_fail_after_the_timeout(
    server: APIServer, client: dynkube.Client
) -> None:
    server.hold_definition("widgets.example.com")

    report = await client.apply_all([crd(), widget("w"), config("a")], on_error="continue", crd_timeout=30)

    assert outcomes(report)[1:] == [("failed", "widget.example.com/w"), ("created", "configmap/a")]
    assert report[1].message == (
        "widgets.v1.example.com was not served within 30 s after its CRD was applied; "
        "NotEstablished: CRD widgets.example.com is not established yet"
    )
    assert trio.current_time() == pytest.approx(30)


async def test_objects_of_a_crd_whose_names_are_not_accepted_fail_with_that_reason(client: dynkube.Client) -> None:
    await client.apply_all(crd())
    other = crd()
    other["metadata"]["name"] = "gadgets.example.com"
    other["spec"]["names"] |= {"plural": "gadgets"}

    gadget = widget("g") | {"kind": "Widget"}
    report = await client.apply_all([other, gadget], on_error="continue", crd_timeout=3)

    assert report[1].outcome is Outcome.FAILED
    assert "NamesNotAccepted" in report[1].message


async def test_a_version_that_the_crd_does_not_serve_fails_at_once(client: dynkube.Client) -> None:
    report = await client.apply_all([crd(), widget("w", version="v2")], on_error="continue")

    assert report[1].message == "its CRD widgets.example.com (<object 1>) does not serve v2, only v1"
    assert trio.current_time() == 0


async def test_a_version_added_to_a_crd_in_the_same_run_is_waited_for(client: dynkube.Client) -> None:
    await client.apply_all([crd(), widget("w")])

    report = await client.apply_all([crd(served=("v1", "v2")), widget("w", version="v2")])

    assert outcomes(report)[1] == ("changed", "widget.example.com/w"), report


async def test_a_kind_without_a_crd_fails_and_other_objects_are_applied(client: dynkube.Client) -> None:
    report = await client.apply_all([crd(), config("a"), widget("x") | {"kind": "Gadget"}], on_error="continue")

    assert outcomes(report)[1:] == [("created", "configmap/a"), ("failed", "gadget.example.com/x")]
    assert "Gadget" in report[2].message
    assert type(report[2].error).__name__ == "NoMatch"


async def test_objects_of_a_crd_that_could_not_be_applied_fail_with_that_reason(
    server: APIServer, client: dynkube.Client
) -> None:
    server.inject(Refuse(403), verb="patch", resource=CRDS)

    report = await client.apply_all([crd(), widget("w")], on_error="continue")

    assert [entry.outcome for entry in report] == [Outcome.FAILED, Outcome.FAILED]
    assert report[1].message.startswith(
        "the CRD of this kind, widgets.example.com (<object 1>), was not applied; CRDNotFound: "
    )


async def test_objects_are_applied_with_the_old_crd_if_the_new_one_is_rejected(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all(crd())
    server.inject(Refuse(403), verb="patch", resource=CRDS)

    report = await client.apply_all([crd(tier="x"), widget("w")], on_error="continue")

    assert [entry.outcome for entry in report] == [Outcome.FAILED, Outcome.CREATED]


async def test_a_404_shortly_after_the_crd_is_established_is_retried(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Refuse(404), verb="patch", resource="widgets", times=2)

    report = await client.apply_all([crd(), widget("w")])

    assert report.ok, report
    assert 0 < trio.current_time() < 2


async def test_cluster_scoped_objects_need_no_namespace(client: dynkube.Client) -> None:
    report = await client.apply_all([crd(scope="Cluster"), widget("w")], namespace="default")

    assert report.ok, report
    assert [entry.namespace for entry in report] == ["", ""]


async def test_in_a_dry_run_objects_of_a_new_crd_are_skipped(client: dynkube.Client) -> None:
    report = await client.apply_all([crd(), widget("w")], dry_run=True)

    assert report.ok
    assert [entry.outcome for entry in report] == [Outcome.CREATED, Outcome.SKIPPED]
    assert report[1].reason == (
        "its CRD widgets.example.com would be created, and without it the server cannot check this"
    )


async def test_in_a_dry_run_objects_of_a_new_version_are_skipped(client: dynkube.Client) -> None:
    await client.apply_all(crd())
    began = trio.current_time()

    report = await client.apply_all([crd(served=("v1", "v2")), widget("w", version="v2")], dry_run=True)

    assert trio.current_time() - began < 1, "a dry run does not wait for the CRD"
    assert [entry.outcome for entry in report] == [Outcome.CHANGED, Outcome.SKIPPED]
    assert report[1].reason.startswith("its CRD widgets.example.com does not serve it yet")


@pytest.mark.parametrize(("changed", "outcome"), [(True, Outcome.CREATED), (False, Outcome.FAILED)])
async def test_errors_of_an_outdated_schema_are_retried_after_a_change_of_the_crd(
    server: APIServer, client: dynkube.Client, changed: bool, outcome: Outcome
) -> None:
    await client.apply_all(crd())
    message = "failed to create typed patch object: .spec.size: field not declared in schema"
    server.inject(Refuse(422, message=message), verb="patch", resource="widgets", times=2)

    report = await client.apply_all([crd(tier="new") if changed else crd(), widget("w")], on_error="continue")

    assert report[1].outcome is outcome
    assert trio.current_time() < 5


async def test_a_run_with_only_crds_ends_when_they_are_served(slow: APIServer) -> None:
    async with dynkube.connect(transport=slow.transport()) as client:
        first = await client.apply_all([crd()])
    ended = trio.current_time()
    async with dynkube.connect(transport=slow.transport()) as client:
        second = await client.apply_all([widget("w")])

    assert (outcomes(first), outcomes(second)) == (
        [("created", "customresourcedefinition.apiextensions.k8s.io/widgets.example.com")],
        [("created", "widget.example.com/w")],
    )
    assert ended == pytest.approx(5)


async def test_a_crd_that_is_not_served_before_the_timeout_fails(server: APIServer, client: dynkube.Client) -> None:
    server.hold_definition("widgets.example.com")

    report = await client.apply_all([crd(), config("a")], crd_timeout=30)

    assert [entry.outcome for entry in report] == ["failed", "created"]
    assert report[0].message == (
        "it was applied: widgets.v1.example.com was not served within 30 s after its CRD was applied; "
        "NotEstablished: CRD widgets.example.com is not established yet"
    )
    assert trio.current_time() == pytest.approx(30)


@pytest.mark.parametrize("options", [{"dry_run": True}, {"prune": "pods/set"}])
async def test_dry_runs_and_unusable_sets_do_not_wait_for_crds(slow: APIServer, options: dict[str, Any]) -> None:
    async with dynkube.connect(transport=slow.transport()) as client:
        await client.apply_all([crd()], **options)

    assert trio.current_time() == 0


async def test_an_unchanged_served_crd_is_not_waited_for(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([crd()])
    server.forget_requests()

    await client.apply_all([crd()])

    assert {request.verb for request in server.requests} <= {"get", "patch"}
