"""Controllers of the blocking client: started in the background, or run until an interrupt."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

import dynkube.sync
from dynkube._display import card_of, plain
from dynkube.controllers import (
    BlockingContext,
    Context,
    Controller,
    ControllerPhase,
    LeaderElection,
    LeadershipLost,
    ObjectKey,
)
from dynkube.errors import ClosedError, DeadlineExceeded, InvalidInput
from dynkube_testing import ServerThread, serve_in_thread
from tests.sync.kit import config_map, interrupt

pytestmark = pytest.mark.real_time

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}


class Reconciled:
    """Plain and async reconcile functions that create a Secret, and notify the test's thread."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def plain(self, ctx: BlockingContext, key: ObjectKey) -> None:
        if key.name == "a" and ctx.get() is not None:
            ctx.apply(SECRET)
            self.done.set()

    async def aio(self, ctx: Context, key: ObjectKey) -> None:
        if key.name == "a" and ctx.get() is not None:
            await ctx.apply(SECRET)
            self.done.set()


@pytest.mark.parametrize("form", ["plain", "aio"])
def test_a_controller_runs_in_the_background_until_it_is_stopped(
    cluster: ServerThread, k: dynkube.sync.Client, form: str
) -> None:
    reconciled = Reconciled()
    controller = Controller("configmaps", getattr(reconciled, form))
    with dynkube.sync.start(k, controller) as running:
        cluster.create(config_map("a"))
        assert reconciled.done.wait(30)
        assert [status.phase for status in running.statuses()] == [ControllerPhase.RUNNING]

    assert cluster.get("secrets", "a")
    assert controller.status().phase is ControllerPhase.STOPPED
    assert repr(running) == "<ControllerRun of configmaps, ended>"


def test_an_interrupted_run_ends_cleanly(cluster: ServerThread, k: dynkube.sync.Client) -> None:
    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        if key.name == "a":
            interrupt()
            ctx.apply(SECRET)  # within the shutdown timeout

    cluster.create(config_map("a"))
    dynkube.sync.run(k, Controller("configmaps", reconcile), election=LeaderElection("sites", namespace="default"))

    assert cluster.get("secrets", "a")
    assert cluster.get("leases", "sites")["spec"]["holderIdentity"] == ""


def test_losing_the_lease_ends_the_wait(cluster: ServerThread, k: dynkube.sync.Client) -> None:
    election = LeaderElection(
        "sites", namespace="default", lease_duration=2, renew_deadline=1, retry_period=0.1, identity="this one"
    )
    reconciled = Reconciled()
    cluster.create(config_map("a"))
    running = dynkube.sync.start(k, Controller("configmaps", reconciled.plain), election=election)
    assert reconciled.done.wait(30)
    lease = k.resource("leases").get("sites")
    k.resource("leases").patch("sites", {"spec": {"holderIdentity": "another"}})

    with pytest.raises(LeadershipLost):
        running.wait(timeout=30)
    assert lease["spec"]["holderIdentity"] == "this one"
    running.stop()


def test_waiting_has_a_timeout(k: dynkube.sync.Client) -> None:
    with (
        dynkube.sync.start(k, Controller("configmaps", Reconciled().plain)) as running,
        pytest.raises(DeadlineExceeded, match="the controllers had not ended"),
    ):
        running.wait(timeout=0.01)


def test_closing_the_client_stops_its_controllers(cluster: ServerThread) -> None:
    controller = Controller("configmaps", Reconciled().plain)
    with dynkube.sync.connect(url=cluster.url) as client:
        running = dynkube.sync.start(client, controller)

    running.wait(timeout=30)
    assert controller.status().phase is ControllerPhase.STOPPED


def test_invalid_arguments_raise_at_once(k: dynkube.sync.Client) -> None:
    controller = Controller("configmaps", Reconciled().plain)

    with pytest.raises(InvalidInput, match="has no controllers"):
        dynkube.sync.start(k)
    with pytest.raises(InvalidInput, match="2 controllers are named 'configmaps'"):
        dynkube.sync.run(k, controller, Controller("configmaps", Reconciled().plain))
    with dynkube.sync.start(k, controller), pytest.raises(ClosedError, match="runs already"):
        dynkube.sync.start(k, controller)


# ── the live status ──────────────────────────────────────────────────────────────────────────


class Output:
    """The output of a notebook cell, which can be replaced."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.updated = threading.Event()

    def update(self, bundle: dict[str, str], **options: Any) -> None:
        self.texts.append(bundle["text/plain"])
        self.updated.set()


class Broken(Output):
    def update(self, bundle: dict[str, str], **options: Any) -> None:
        raise OSError("the kernel's socket is closed")


def test_a_live_status_is_updated_while_controllers_run_and_when_they_end(k: dynkube.sync.Client) -> None:
    running = dynkube.sync.start(k, Controller("configmaps", Reconciled().plain))
    live, output = running.live(), Output()
    live._show_on(output)
    assert output.updated.wait(30)
    running.stop()

    assert "Stopped" in output.texts[-1]
    assert "Stopped" not in output.texts[0]


def test_a_closed_live_status_is_not_updated(k: dynkube.sync.Client) -> None:
    running = dynkube.sync.start(k, Controller("configmaps", Reconciled().plain))
    live, output = running.live(), Output()
    live._show_on(output)
    live.close()
    running.stop()

    assert output.texts == []


def test_an_output_that_cannot_be_updated_does_not_affect_the_others(
    k: dynkube.sync.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "dynkube.thread")
    running = dynkube.sync.start(k, Controller("configmaps", Reconciled().plain))
    live, output = running.live(), Output()
    for each in (Broken(), output):
        live._show_on(each)
    running.stop()

    assert output.texts
    assert "a live status cannot be updated" in caplog.text


def test_several_controllers_are_displayed_as_cards(k: dynkube.sync.Client) -> None:
    controllers = [Controller(name, Reconciled().plain) for name in ("configmaps", "secrets")]
    with dynkube.sync.start(k, *controllers) as running:
        text = plain(card_of(running.live(), datetime.now(UTC)))

    assert text.startswith("2 controllers")
    assert all(f"controller · {name}" in text for name in ("configmaps", "secrets"))


def test_controllers_run_on_several_clusters(cluster: ServerThread, k: dynkube.sync.Client) -> None:
    both = threading.Barrier(3, timeout=20)
    cluster.create(config_map("a"))
    with serve_in_thread() as other, dynkube.sync.connect(url=other.url) as west:
        other.create(config_map("a"))

        def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
            both.wait()

        controller = Controller("configmaps", reconcile, namespace="default", field_selector="metadata.name=a")
        with dynkube.sync.start({"east": k, "west": west}, controller) as started:
            both.wait()
            assert [status.cluster for status in started.statuses()] == ["east", "west"]

    assert controller.status().phase is ControllerPhase.STOPPED


def test_an_event_recorder_is_entered_once(k: dynkube.sync.Client) -> None:
    recorder = dynkube.sync.EventRecorder(k, controller="example.com/tests", instance="a")
    with recorder as events:
        assert events.statistics().recorded == 0
    with pytest.raises(ClosedError, match="this event recorder was entered before; create another one"):
        recorder.__enter__()


def test_a_lifespan_gets_the_blocking_client_and_ends_after_the_last_call(
    cluster: ServerThread, k: dynkube.sync.Client
) -> None:
    states, done = list[str](), threading.Event()

    @contextmanager
    def lifespan(client: dynkube.sync.Client) -> Iterator[str]:
        yield client.resource("configmaps").get("a").name
        states.append("exited")

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        if key.name == "a":
            states.append(ctx.state)
            done.set()

    cluster.create(config_map("a"))
    with dynkube.sync.start(k, Controller("configmaps", reconcile), lifespan=lifespan):
        assert done.wait(30)

    assert states == ["a", "exited"]
