"""Observers are notified of everything that a client does, in order, and cannot break it."""

from __future__ import annotations

import logging
from typing import Any

import httpx2
import pytest
import trio

import dynkube
from dynkube import DEGRADED, LIVE, Client, Unstructured
from dynkube.errors import ConnectFailed, DeadlineExceeded, InvalidInput, NotFound, ProtocolError
from dynkube.rest._messages import Request
from dynkube.telemetry import Observer
from dynkube_testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, crd, pod, quiet, widget
from tests.rest.wire import Wire
from tests.telemetry.kit import ObserverRecorder, SilentTransport

pytestmark = pytest.mark.scenario("F40")


async def test_each_attempt_is_reported_at_its_start_and_end(
    server: APIServer, client: Client, recorder: ObserverRecorder
) -> None:
    server.fail(resource="pods", status=429, retry_after=2, times=1)

    await client.resource("pods.v1").create(pod("a"), namespace="default")

    (first, rejected), (second, created) = recorder.finished[-2:]
    assert set(recorder.started) == {info for info, _ in recorder.finished}
    assert (first.verb, str(first.gvr), first.namespace, first.attempt) == ("create", "pods.v1", "default", 1)
    assert (rejected.code, type(rejected.error).__name__) == (429, "TooManyRequests")
    assert (second.template, second.attempt) == ("/api/v1/namespaces/{namespace}/pods", 2)
    assert second.body_bytes > 100
    assert (created.code, created.error) == (201, None)
    assert created.received > 100


async def test_a_list_ends_when_it_was_read_and_a_watch_when_its_response_began(
    server: APIServer, client: Client, recorder: ObserverRecorder
) -> None:
    async with client.resource("pods.v1").watch(namespace="default") as events:
        server.create(pod("a"))
        await anext(events)
        attempts = [(info.verb, outcome.code, outcome.received > 0) for info, outcome in recorder.finished]

    assert attempts[-2:] == [("list", 200, True), ("watch", 200, False)]
    assert len(recorder.started) == len(recorder.finished)


async def test_a_cancelled_attempt_is_reported_as_finished(recorder: ObserverRecorder) -> None:
    async with dynkube.connect(transport=SilentTransport(), observers=[recorder]) as client:
        with pytest.raises(DeadlineExceeded):
            await client.raw("GET", "/version", timeout=7)

        ((info, outcome),) = recorder.finished
        assert (info.template, outcome.code, outcome.seconds) == ("/version", None, 7)
        assert isinstance(outcome.error, trio.Cancelled)
        assert client.statistics().answers == {("get", 0): 1}


@pytest.mark.parametrize(
    ("failure", "error"),
    [(httpx2.LocalProtocolError("b'Bearer top-secret'"), ProtocolError), (httpx2.ConnectError("down"), ConnectFailed)],
)
async def test_a_transport_error_is_reported_as_a_dynkube_error_without_secrets(
    recorder: ObserverRecorder, failure: Exception, error: type[Exception]
) -> None:
    async with dynkube.connect(transport=Wire(failure), observers=[recorder]) as client:
        with pytest.raises(error):
            await client.raw("POST", "/version")

    ((_, outcome),) = recorder.finished
    assert (outcome.code, type(outcome.error)) == (None, error)
    assert "top-secret" not in str(outcome.error)


async def test_an_exception_while_reading_is_reported_as_the_end(
    server: APIServer, client: Client, recorder: ObserverRecorder
) -> None:
    with pytest.raises(KeyError):
        async with client._api.rest.stream(Request(method="GET", path="/api/v1/pods"), watch=False):
            raise KeyError("not what was expected")

    ((_, outcome),) = recorder.finished
    assert (outcome.code, type(outcome.error)) == (200, KeyError)


async def test_lists_and_watches_of_informers_are_reported_with_the_number_of_objects(
    server: APIServer, client: Client, recorder: ObserverRecorder
) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS, label_selector="app!=b") as widgets:
        await widgets.wait_state(LIVE)
        server.compact()
        server.fail(resource="widgets", verb="watch", status=410, times=1)
        server.end_watches("widgets")
        await trio.sleep(5)

    about = f"{WIDGETS} with app!=b"
    assert [line for line in recorder.reflected if WIDGETS in line] == [
        f"watch {about} started",
        f"watch {about} finished with 2",
        f"watch {about} started",
        f"watch {about} finished with 0",
        f"list {about} started",
        f"list {about} finished with 1",
        f"watch {about} started",
        f"watch {about} finished with 0",
    ]
    errors = [type(outcome.error).__name__ for outcome in recorder.outcomes]
    assert errors.count("Gone") == 1


async def test_state_changes_and_handler_runs_are_reported(
    server: APIServer, client: Client, recorder: ObserverRecorder
) -> None:
    server.create(crd())
    server.create(widget("a"))

    async def slow(obj: Unstructured) -> None:
        await trio.sleep(3)
        raise KeyError(obj.name)

    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(on_add=slow, name="mine")
        await widgets.wait_synced()
        server.fail(resource="widgets", status=403)
        server.end_watches("widgets")
        await widgets.wait_state(DEGRADED)

    (run,) = recorder.runs
    assert (run.handler, run.event, run.seconds, type(run.error)) == ("mine", "Added", 3, KeyError)
    phases = [(change.previous, change.phase) for _, change in recorder.changes]
    assert phases[-3:] == [("SYNCING", "LIVE"), ("LIVE", "DEGRADED"), ("DEGRADED", "STOPPED")]
    assert recorder.changes[-2][1].reason == "Forbidden"
    assert {str(collection) for collection, _ in recorder.changes} == {WIDGETS}


async def test_opening_and_closing_a_client_is_reported(server: APIServer, recorder: ObserverRecorder) -> None:
    async with dynkube.connect(transport=server.transport(), observers=[recorder]):
        assert recorder.clients == ["opened with 0 informers"]

    assert recorder.clients == ["opened with 0 informers", "closed"]


class BrokenRequests(Observer):
    """Raises in every method."""

    def request_started(self, request: object) -> None:
        raise RuntimeError("started")

    def request_finished(self, request: object, outcome: object) -> None:
        raise RuntimeError("finished")

    def state_changed(self, collection: object, change: object) -> None:
        raise RuntimeError("changed")

    def handler_ran(self, collection: object, run: object) -> None:
        raise RuntimeError("ran")


async def test_an_observer_that_raises_is_reported_once_and_breaks_nothing(
    server: APIServer, recorder: ObserverRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    connected = dynkube.connect(transport=server.transport(), observers=[BrokenRequests(), recorder])
    async with connected as client, client.informer("pods.v1") as pods:
        pods.add_handler(on_add=lambda obj: None)
        await pods.wait_synced()
        for name in "abc":
            await client.resource("pods.v1").create(pod(name))
        with pytest.raises(NotFound):
            await client.resource("pods.v1").get("d")

    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [message.split()[1] for message in messages if message.startswith("observer ")] == [
        "BrokenRequests.state_changed",
        "BrokenRequests.request_started",
        "BrokenRequests.request_finished",
        "BrokenRequests.handler_ran",
    ]
    assert len(recorder.runs) == 3


@pytest.mark.parametrize(
    ("observer", "message"),
    [
        (ObserverRecorder, "the class ObserverRecorder: pass an instance"),
        (print, "a builtin_function_or_method: pass an instance of a subclass of dynkube.telemetry.Observer"),
    ],
)
def test_an_invalid_observer_is_rejected_by_connect(observer: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=rf"observers\[0\] is {message}"):
        dynkube.connect(url="http://api.invalid", observers=[observer])


def test_an_observer_that_is_not_in_a_list_is_rejected() -> None:
    alone: Any = ObserverRecorder()
    with pytest.raises(InvalidInput, match=r"observers is a single ObserverRecorder: pass a list, observers=\[...\]"):
        dynkube.connect(url="http://api.invalid", observers=alone)


async def test_a_method_that_is_not_overridden_is_not_called(server: APIServer) -> None:
    calls = []

    class OnlyStates(Observer):
        def state_changed(self, collection: object, change: object) -> None:
            calls.append("state")

    connected = dynkube.connect(transport=server.transport(), observers=[OnlyStates()])
    async with connected as client, client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)

    assert set(calls) == {"state"}


async def test_the_watch_on_crds_is_reported_too(server: APIServer, client: Client, recorder: ObserverRecorder) -> None:
    async with client.informer(WIDGETS):
        await quiet()

    assert any(line.startswith(f"watch {CRDS}.v1.apiextensions.k8s.io") for line in recorder.reflected)
