"""The event recorder on the embedded server: which Events are created and patched, when, and after failures."""

from __future__ import annotations

import logging
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

import dynkube
from dynkube import Unstructured
from dynkube._nursery import OwnedNursery
from dynkube.controllers._event_recorder import EventRecorder, is_temporary
from dynkube.errors import (
    APIError,
    ClosedError,
    ConnectFailed,
    CredentialError,
    DiscoveryFailed,
    DynkubeError,
    InvalidInput,
    NoMatch,
    Status,
)
from dynkube_testing import APIServer, Delay, Disconnect, Hang, Refuse, Rewrite, rewrites
from tests.informers.kit import namespace, quiet

EVENTS = "events.events.k8s.io"
MINUTE = 60


class WithoutJitter(Random):
    def random(self) -> float:
        return 0.0


def virtual_now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=trio.current_time())


def recorder_of(client: dynkube.Client, **options: Any) -> EventRecorder:
    defaults: dict[str, Any] = {"controller": "example.com/shop", "instance": "shop-1", "now": virtual_now}
    return EventRecorder(client, rng=WithoutJitter(), **defaults | options)


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[EventRecorder]:
    """Run a recorder in the block."""
    async with OwnedNursery() as nursery:
        nursery.start_soon(recorder.run)
        yield recorder


@pytest.fixture
def recorder(client: dynkube.Client) -> EventRecorder:
    return recorder_of(client)


@asynccontextmanager
async def running_as_alice() -> AsyncIterator[tuple[APIServer, EventRecorder]]:
    """A recorder of a user without permissions."""
    async with (
        APIServer(rbac=True) as server,
        dynkube.connect(transport=server.transport(user="alice")) as client,
        running(recorder_of(client)) as recorder,
    ):
        yield server, recorder


def pod(name: str = "web", place: str = "default", **metadata: str) -> Unstructured:
    metadata = {"name": name, "namespace": place, "uid": f"uid-of-{name}"} | metadata
    return Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def stored(server: APIServer) -> dict[str, int]:
    """Return the Events on the server, by reason, with their counts."""
    return {each["reason"]: each.get("series", {}).get("count", 1) for each in server.list(EVENTS)}


def writes(server: APIServer) -> list[tuple[float, str, int | None]]:
    """Return the times, verbs and codes of the requests that write Events."""
    return [(record.time, record.verb, record.status) for record in server.audit if record.verb in {"create", "patch"}]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# ── written Events ────────────────────────────────────────────────────────────────────────────


async def test_an_event_is_created_with_all_required_fields(server: APIServer, recorder: EventRecorder) -> None:
    async with running(recorder):
        recorder.event(pod(resourceVersion="7"), "ScaledUp", "3 of 3", action="Scale", related=pod("db"))
        await quiet()

    [event] = server.list(EVENTS)
    assert event["metadata"]["name"] == f"web.{int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * 10**9:x}"
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Pod", "resourceVersion": "7"} | {
        "namespace": "default",
        "name": "web",
        "uid": "uid-of-web",
    }
    assert (event["type"], event["reason"], event["action"], event["note"]) == ("Normal", "ScaledUp", "Scale", "3 of 3")
    assert (event["reportingController"], event["reportingInstance"]) == ("example.com/shop", "shop-1")
    assert (event["eventTime"], event["related"]["name"]) == ("2030-01-01T00:00:00.000000Z", "db")
    assert "series" not in event


async def test_the_second_event_patches_the_first_and_later_ones_wait(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        for note in ("first", "second", "third", "fourth"):
            recorder.event(pod(), "Failed", note, type="Warning")
            await trio.sleep(10)

        [event] = server.list(EVENTS)
        assert (event["note"], event["eventTime"]) == ("first", "2030-01-01T00:00:00.000000Z")
        assert event["series"] == {"count": 2, "lastObservedTime": "2030-01-01T00:00:10.000000Z"}
        assert writes(server) == [(0, "create", 201), (10, "patch", 200)]
        assert (recorder.statistics().sent, recorder.statistics().patched) == (1, 1)


async def test_another_action_or_related_object_is_another_event(server: APIServer, recorder: EventRecorder) -> None:
    async with running(recorder):
        for action, related in (("Start", None), ("Start", None), ("Stop", None), ("Stop", pod("db"))):
            recorder.event(pod(), "Failed", action=action, related=related)
            await quiet()

    found = [(each["action"], "related" in each, "series" in each) for each in server.list(EVENTS)]
    assert sorted(found) == [("Start", False, True), ("Stop", False, False), ("Stop", True, False)]


async def test_the_final_count_is_written_six_minutes_after_the_last_event(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        recorder.event(pod(), "Once")
        for _ in range(5):
            recorder.event(pod(), "Failed")
            await trio.sleep(10)
        await trio.sleep(6 * MINUTE - 10)
        await quiet()

        assert writes(server)[-1] == (40 + 6 * MINUTE, "patch", 200)
        assert stored(server) == {"Failed": 5, "Once": 1}
        recorder.event(pod(), "Failed")
        await quiet()
        assert len(server.list(EVENTS)) == 3


async def test_an_active_series_is_refreshed_every_half_hour_and_does_not_expire(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        await quiet()
        for _ in range(2 * 60 + 1):
            recorder.event(pod(), "Failed")
            await trio.sleep(MINUTE)

        assert [time / MINUTE for time, _, _ in writes(server)] == [0, 1, 30, 60, 90, 120]
        assert stored(server)["Failed"] >= 119


async def test_a_series_whose_count_is_rejected_continues(server: APIServer, recorder: EventRecorder) -> None:
    async with running(recorder):
        await trio.sleep(1)  # so that no event occurs at the time of a refresh
        for minute in range(61):
            if minute == 2:
                server.inject(Refuse(500), verb="patch", resource=EVENTS, times=1)
            recorder.event(pod(), "Failed")
            await trio.sleep(MINUTE)

    written = [(round(time / MINUTE), code) for time, _, code in writes(server)]
    assert written == [(0, 201), (1, 200), (30, 500), (60, 200), (61, 200)]
    assert stored(server) == {"Failed": 61}


async def test_a_deleted_event_is_created_again(server: APIServer, recorder: EventRecorder) -> None:
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await quiet()
        [event] = server.list(EVENTS)
        server.delete(EVENTS, event["metadata"]["name"])

        recorder.event(pod(), "Failed")
        await quiet()

    assert [(verb, code) for _, verb, code in writes(server)] == [("create", 201), ("patch", 404), ("create", 201)]
    assert stored(server) == {"Failed": 2}
    assert recorder.statistics().failures == 0


async def test_an_event_that_is_created_again_is_not_patched_at_once(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await quiet()
        [event] = server.list(EVENTS)
        server.delete(EVENTS, event["metadata"]["name"])
        server.inject(Refuse(503), verb="create", resource=EVENTS, times=1)

        recorder.event(pod(), "Failed")
        await trio.sleep(20)

    assert writes(server)[1:] == [(0, "patch", 404), (0, "create", 503), (10, "create", 201)]


async def test_events_about_cluster_scoped_objects_are_in_the_namespace_default(
    server: APIServer, recorder: EventRecorder
) -> None:
    node = Unstructured({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    role = {"kind": "ClusterRole", "metadata": {"name": "system:node"}}
    async with running(recorder):
        recorder.event(node, "Rebooted")
        recorder.event(Unstructured({"apiVersion": "rbac.authorization.k8s.io/v1", **role}), "Reconciled")
        await quiet()

    assert [event["metadata"]["namespace"] for event in server.list(EVENTS)] == ["default"] * 2
    assert {event["regarding"]["name"] for event in server.list(EVENTS)} == {"n1", "system:node"}


async def test_event_names_are_unique_although_the_clock_stands_still(
    server: APIServer, client: dynkube.Client
) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    async with running(recorder_of(client, now=lambda: noon)) as recorder:
        for number in range(5):
            recorder.event(pod(), f"Reason{number}")
        await quiet()

    assert len(server.list(EVENTS)) == 5


async def test_a_name_that_another_recorder_used_is_replaced(server: APIServer, client: dynkube.Client) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    recorders = [recorder_of(client, now=lambda: noon, instance=name) for name in ("one", "two")]
    async with running(recorders[0]), running(recorders[1]):
        for recorder in recorders:
            recorder.event(pod(), "Failed")
        await trio.sleep(20)

    assert {event["reportingInstance"] for event in server.list(EVENTS)} == {"one", "two"}


async def test_a_note_that_is_too_long_is_cut(server: APIServer, recorder: EventRecorder) -> None:
    async with running(recorder):
        recorder.event(pod(), "Failed", "€" * 5000)
        await quiet()

    [event] = server.list(EVENTS)
    assert event["note"] == "€" * 340 + "…"


# ── many events ───────────────────────────────────────────────────────────────────────────────


async def test_a_thousand_events_about_as_many_objects_arrive_at_a_slow_and_overloaded_server(
    server: APIServer, recorder: EventRecorder
) -> None:
    server.inject(Delay(0.05), resource=EVENTS, times=100)
    server.inject(Refuse(503), resource=EVENTS, times=4)
    async with running(recorder):
        for number in range(1000):
            recorder.event(pod(f"web-{number}"), "Started")
        await trio.sleep(50)

    assert len(server.list(EVENTS)) == 1000
    assert recorder.statistics().dropped == {"spam": 0, "queue_full": 0, "refused": 0, "unreachable": 0}


async def test_an_object_with_too_many_events_loses_some(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(recorder):
        for number in range(30):
            recorder.event(pod(), f"Reason{number}")
        recorder.event(pod("other"), "Started")
        await quiet()

    assert len(server.list(EVENTS)) == 25 + 1
    assert (recorder.statistics().recorded, recorder.statistics().dropped["spam"]) == (31, 5)
    [warning] = warnings(caplog)
    assert "dropped an event about <Pod v1 default/web> with the reason Reason25 (spam)" in warning


async def test_events_are_dropped_while_too_many_wait(server: APIServer, client: dynkube.Client) -> None:
    recorder = recorder_of(client, queue_size=3)
    for number in range(5):
        recorder.event(pod(f"web-{number}"), "Started")
    assert (recorder.statistics().waiting, recorder.statistics().dropped["queue_full"]) == (3, 2)

    async with running(recorder):
        await quiet()
        recorder.event(pod("later"), "Started")
        await quiet()

    assert {event["regarding"]["name"] for event in server.list(EVENTS)} == {"web-0", "web-1", "web-2", "later"}
    assert recorder.statistics().waiting == 0


# ── failures ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "effect", [Refuse(429), Refuse(502), Refuse(503), Refuse(504), Refuse(409), Disconnect("reset")]
)
async def test_transient_failures_are_retried_after_ten_seconds(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture, effect: Any
) -> None:
    server.inject(effect, verb="create", resource=EVENTS, times=3)
    async with running(recorder):
        recorder.event(pod(), "Failed")
        recorder.event(pod("other"), "Started")
        await trio.sleep(60)

    assert [(time, code) for time, _, code in writes(server)][3:] == [(30, 201), (30, 201)]
    assert (recorder.statistics().failures, recorder.statistics().sent) == (3, 2)
    assert len(warnings(caplog)) == 1


async def test_an_event_is_dropped_after_twelve_attempts_and_the_next_one_is_sent(
    server: APIServer, recorder: EventRecorder
) -> None:
    outage = server.refuse_connections()
    async with running(recorder):
        recorder.event(pod(), "Failed")
        recorder.event(pod("other"), "Started")
        await trio.sleep(11 * 10 - 1)
        assert (recorder.statistics().failures, recorder.statistics().dropped["unreachable"]) == (11, 0)
        await trio.sleep(2)
        assert (recorder.statistics().failures, recorder.statistics().dropped["unreachable"]) == (12 + 1, 1)
        outage.remove()
        await trio.sleep(10)

    assert stored(server) == {"Started": 1}
    assert "refuse" in recorder.statistics().last_error


async def test_the_delay_between_attempts_is_random(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Refuse(503), resource=EVENTS, times=5)
    async with running(EventRecorder(client, controller="shop", instance="a", rng=Random(7))) as recorder:
        recorder.event(pod(), "Failed")
        await trio.sleep(100)

    times = [time for time, _, _ in writes(server)]
    delays = [after - before for before, after in pairwise(times)]
    assert len(set(delays)) == 5
    assert all(10 <= delay <= 12.5 for delay in delays)


@pytest.mark.parametrize(
    ("failure", "temporary"),
    [
        (ConnectFailed("no route"), True),
        (CredentialError("the plugin failed"), True),
        (DiscoveryFailed("503"), True),
        (NoMatch("not served"), False),
        (InvalidInput("not a name"), False),
        (APIError.from_status(Status(code=503)), True),
        (APIError.from_status(Status(code=403)), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_errors_of_an_unavailable_server_are_retried(failure: DynkubeError, temporary: bool) -> None:
    assert is_temporary(failure) is temporary


@pytest.mark.parametrize("code", [400, 401, 403, 413, 422, 500])
async def test_an_event_that_the_server_rejects_is_dropped_and_logged_once(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    server.inject(Refuse(code), verb="create", resource=EVENTS, times=3)
    async with running(recorder):
        for name in ("one", "two", "three", "four"):
            recorder.event(pod(name), "Failed")
        await quiet()

    assert [event["regarding"]["name"] for event in server.list(EVENTS)] == ["four"]
    assert recorder.statistics().dropped["refused"] == 3
    [warning] = warnings(caplog)
    assert "event recorder: dropped the Event default/one." in warning
    assert str(code) in warning


async def test_without_permission_events_are_dropped_until_it_is_granted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running_as_alice() as (server, recorder):
        for _ in range(3):
            recorder.event(pod(), "Failed")
            await trio.sleep(MINUTE)
        assert writes(server) == [(0, "create", 403), (60, "create", 403)]
        server.grant("alice", verbs=["create", "patch"], resource=EVENTS)
        await trio.sleep(6 * MINUTE)

        assert stored(server) == {"Failed": 3}
        [warning] = warnings(caplog)
        assert 'User "alice" cannot create resource "events" in API group "events.k8s.io"' in warning


async def test_without_permission_to_patch_events_are_created_without_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running_as_alice() as (server, recorder):
        server.grant("alice", verbs=["create"], resource=EVENTS)
        for name in ("one", "one", "two", "two"):
            recorder.event(pod(name), "Failed")
            await quiet()

        assert [event["regarding"]["name"] for event in server.list(EVENTS)] == ["one", "two"]
        assert recorder.statistics().dropped["refused"] == 2
        assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("finalizers", [[], ["example.com/held"]], ids=["deleted", "being-deleted"])
async def test_events_in_a_namespace_that_is_deleted_are_dropped_silently(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture, finalizers: list[str]
) -> None:
    server.create(namespace("shop"))
    metadata = {"name": "held", "namespace": "shop", "finalizers": finalizers}
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    async with running(recorder):
        for _ in range(2):
            recorder.event(pod(place="shop"), "Failed")
            await quiet()
        server.delete("namespaces", "shop")
        await quiet()
        recorder.event(pod(place="shop"), "Failed")
        recorder.event(pod(place="shop"), "Deleted")
        await trio.sleep(7 * MINUTE)

    assert stored(server) == {}
    assert (warnings(caplog), recorder.statistics().dropped["refused"]) == ([], 2)


async def test_an_event_whose_creation_was_not_confirmed_is_not_created_twice(
    server: APIServer, recorder: EventRecorder
) -> None:
    server.inject(Rewrite(rewrites.garble), verb="create", resource=EVENTS, times=1)
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await trio.sleep(5)
        recorder.event(pod(), "Failed")
        await trio.sleep(10)

    assert stored(server) == {"Failed": 2}
    assert [(time, verb, code) for time, verb, code in writes(server)] == [
        (0, "create", 201),
        (10, "create", 409),
        (10, "patch", 200),
    ]
    assert (recorder.statistics().sent, recorder.statistics().failures) == (1, 1)


async def test_a_single_event_whose_creation_was_not_confirmed_is_not_patched(
    server: APIServer, recorder: EventRecorder
) -> None:
    server.inject(Rewrite(rewrites.garble), verb="create", resource=EVENTS, times=1)
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await trio.sleep(20)

    assert writes(server) == [(0, "create", 201), (10, "create", 409)]
    assert stored(server) == {"Failed": 1}


async def test_an_unreachable_server_gets_the_events_later(server: APIServer, recorder: EventRecorder) -> None:
    server.inject(Refuse(503), path_prefix="/api", duration=45)
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await trio.sleep(200)

    assert stored(server) == {"Failed": 1}


async def test_each_kind_of_rejection_is_logged_once(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(recorder):
        for name in ("one", "two"):
            recorder.event(pod(name), "Failed")
            await quiet()
        for verb, code, reason in (("create", 403, "Denied"), ("create", 422, "Invalid"), ("patch", 403, "Failed")):
            with server.inject(Refuse(code), verb=verb, resource=EVENTS):
                for name in ("one", "two"):
                    recorder.event(pod(name), reason)
                    await quiet()

    assert (len(warnings(caplog)), recorder.statistics().failures) == (3, 6)


async def test_each_outage_is_logged_once(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(recorder):
        for name in ("one", "two"):
            server.inject(Refuse(503), verb="create", resource=EVENTS, times=2)
            recorder.event(pod(name), "Failed")
            await trio.sleep(MINUTE)

    assert ["cannot write Events at present, and will retry" in text for text in warnings(caplog)] == [True] * 2


async def test_a_server_without_the_api_gets_no_events_and_the_recorder_continues(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    server.unregister("events.v1.events.k8s.io")
    async with running(recorder):
        for name in ("one", "two"):
            recorder.event(pod(name), "Failed")
        await trio.sleep(1)

    assert (recorder.statistics().dropped["refused"], recorder.statistics().waiting) == (2, 0)
    [warning] = warnings(caplog)
    assert "NoMatch" in warning


async def test_an_event_in_an_invalid_namespace_is_dropped_and_the_recorder_continues(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        recorder.event(pod(place="../kube-system"), "Failed")
        recorder.event(pod(), "Started")
        await quiet()

    assert (stored(server), recorder.statistics().dropped["refused"]) == ({"Started": 1}, 1)


async def test_invalid_events_do_not_block_the_event_loop(recorder: EventRecorder) -> None:
    for number in range(100):
        recorder.event(pod(f"web-{number}", "../kube-system"), "Failed")
    turns = 0
    async with running(recorder):
        while recorder.statistics().waiting:
            await trio.lowlevel.checkpoint()
            turns += 1

    assert turns >= 100


# ── the end ───────────────────────────────────────────────────────────────────────────────────


async def test_events_recorded_before_the_cancellation_are_still_sent(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        for _ in range(4):
            recorder.event(pod(), "Failed")
            await quiet()
        for number in range(100):
            recorder.event(pod(f"web-{number}"), "Started")

    assert (len(server.list(EVENTS)), stored(server)["Failed"], trio.current_time()) == (101, 4, 0)


async def test_ending_takes_two_seconds_at_most(
    server: APIServer, recorder: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    server.inject(Hang(), verb="create", resource=EVENTS)
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await trio.sleep(1)

    assert trio.current_time() == 1 + 2
    assert warnings(caplog) == ["event recorder: 1 Events were not written when run() was cancelled"]


async def test_ending_does_not_wait_for_an_unreachable_server(server: APIServer, recorder: EventRecorder) -> None:
    with server.refuse_connections():
        async with running(recorder):
            recorder.event(pod(), "Failed")
            await trio.sleep(1)

    assert trio.current_time() == 1


async def test_without_a_flush_timeout_it_ends_at_once(server: APIServer, client: dynkube.Client) -> None:
    async with running(recorder_of(client, flush_timeout=0)) as recorder:
        recorder.event(pod(), "Failed")

    assert (server.list(EVENTS), recorder.statistics().waiting) == ([], 1)


@pytest.mark.parametrize("path", ["/api", "/apis/events.k8s.io"], ids=["discovery", "create"])
async def test_an_event_whose_request_is_cancelled_is_sent_again_and_exists_once(
    server: APIServer, recorder: EventRecorder, path: str
) -> None:
    server.inject(Delay(1.5), path_prefix=path, times=1)
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await trio.sleep(1)

    assert stored(server) == {"Failed": 1}
    assert recorder.statistics().waiting == 0


async def test_it_may_run_again_and_sends_the_events_recorded_in_between(
    server: APIServer, recorder: EventRecorder
) -> None:
    async with running(recorder):
        recorder.event(pod(), "Failed")
        await quiet()
        with pytest.raises(InvalidInput, match="running already"):
            await recorder.run()
    recorder.event(pod(), "Failed")
    assert stored(server) == {"Failed": 1}

    async with running(recorder):
        await quiet()

    assert stored(server) == {"Failed": 2}


async def test_running_with_a_closed_client_raises(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        recorder = recorder_of(client)
    recorder.event(pod(), "Failed")

    with pytest.raises(ClosedError):
        await recorder.run()

    with trio.move_on_after(0):  # a cancelled run ends although the client is closed
        await recorder.run()


async def test_closing_the_client_ends_a_running_recorder_with_an_error(server: APIServer) -> None:
    async def outlive_the_client() -> None:
        async with OwnedNursery() as nursery:
            async with dynkube.connect(transport=server.transport()) as client:
                recorder = recorder_of(client)
                nursery.start_soon(recorder.run)
                await quiet()
            recorder.event(pod(), "Failed")
            await trio.sleep_forever()

    with pytest.raises(ClosedError):
        await outlive_the_client()


# ── arguments ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reason": "not one word"}, "reason='not one word': pass one CamelCase word like 'ScaledUp'"),
        ({"reason": "lower"}, "reason='lower'"),
        ({"reason": ""}, "reason=''"),
        ({"reason": "R" * 129}, "of at most 128 characters"),
        ({"reason": "Ends\n"}, "reason="),
        ({"reason": None}, "reason=None"),
        ({"action": "do it"}, "action='do it'"),
        ({"type": "Error"}, "type='Error': pass 'Normal' or 'Warning'"),
        ({"note": b"bytes"}, "note is bytes: pass a string"),
        ({"regarding": {"kind": "Pod"}}, "regarding is a dict: pass an Unstructured"),
        ({"regarding": Unstructured({"metadata": {"name": "web"}})}, "has no kind"),
        ({"regarding": Unstructured({"kind": "Pod"})}, "has no name"),
        ({"related": Unstructured({"kind": "Pod"})}, "related=<Pod"),
    ],
)
async def test_an_event_that_servers_would_reject_is_rejected(
    recorder: EventRecorder, arguments: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        recorder.event(**({"regarding": pod(), "reason": "Failed"} | arguments))

    assert recorder.statistics().recorded == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controller": "not a name"}, "controller='not a name' may only contain letters"),
        ({"controller": ""}, "controller='' is empty"),
        ({"controller": None}, "controller=None is None"),
        ({"instance": ""}, "instance='': pass 1 to 128 bytes"),
        ({"instance": "é" * 65}, "pass 1 to 128 bytes"),
        ({"burst": 0}, "burst=0: pass an integer of 1 or more"),
        ({"queue_size": 1.5}, "queue_size=1.5"),
        ({"refill_seconds": float("inf")}, "refill_seconds=inf"),
        ({"flush_timeout": -1}, "flush_timeout=-1: pass a finite number of seconds"),
    ],
)
async def test_invalid_options_are_rejected(client: dynkube.Client, options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        recorder_of(client, **options)


async def test_a_time_without_a_time_zone_is_rejected(client: dynkube.Client) -> None:
    recorder = recorder_of(client, now=partial(datetime, 2026, 1, 2))

    with pytest.raises(InvalidInput, match="has no time zone"):
        recorder.event(pod(), "Failed")


async def test_a_recorder_cannot_be_pickled(recorder: EventRecorder) -> None:
    with pytest.raises(TypeError, match="an EventRecorder cannot be pickled"):
        pickle.dumps(recorder)


# ── as a block ───────────────────────────────────────────────────────────────────────────────


async def test_the_end_of_a_block_writes_what_waits(server: APIServer, recorder: EventRecorder) -> None:
    async with recorder as events:
        events.event(pod(), "Started")
        events.event(pod(), "Pulled")

    assert stored(server).keys() == {"Started", "Pulled"}


async def test_the_end_of_a_block_is_bounded_by_the_flush_timeout(server: APIServer, recorder: EventRecorder) -> None:
    server.inject(Hang(), resource=EVENTS)
    began = trio.current_time()
    async with recorder as events:
        events.event(pod(), "Started")

    assert trio.current_time() - began == 2


async def test_a_block_may_be_entered_again_but_not_twice_at_once(server: APIServer, recorder: EventRecorder) -> None:
    async with recorder:
        with pytest.raises(ClosedError, match="this event recorder is entered already"):
            await recorder.__aenter__()
    async with recorder as events:
        events.event(pod(), "Started")

    assert stored(server).keys() == {"Started"}
