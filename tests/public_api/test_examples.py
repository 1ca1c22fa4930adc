"""The programs in examples/."""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trio
import trio.testing

import dynkube
from dynkube.controllers import run
from dynkube_testing import APIServer, Lag
from examples import lazy_informer, my_controller, watch_and_patch
from tests.testing.engine.cluster import crd, widget


def pod(name: str, app: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default", "labels": {"app": app}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }


def labels(server: APIServer, name: str) -> dict[str, str]:
    return dict(dynkube.Unstructured(server.get("pods", name, "default")).labels)


async def test_watch_and_patch_labels_the_pods_of_an_app(server: APIServer, client: dynkube.Client) -> None:
    server.create(pod("web-1", "web"))
    server.create(pod("db-1", "db"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_and_patch.label_pods, client, "web", "default")
        await trio.testing.wait_all_tasks_blocked()
        labelled = labels(server, "web-1")
        stored = dynkube.Unstructured(server.get("pods", "web-1", "default"))
        server.update(stored.transform(["metadata", "labels", "app"], "old").to_dict())
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert labelled == {"app": "web", watch_and_patch.LABEL: "true"}
    assert labels(server, "web-1") == {"app": "old"}
    assert labels(server, "db-1") == {"app": "db"}


# ── the controller ───────────────────────────────────────────────────────────────────────────

MINUTE = {"apiVersion": "example.com/v1", "kind": "Session", "metadata": {"name": "minute", "namespace": "default"}}


def virtual_now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=trio.current_time())


class Sessions:
    """A cluster with a running controller, and at first the sessions ``hour`` and ``minute``."""

    def __init__(self, server: APIServer) -> None:
        self.server = server

    def names(self) -> list[str]:
        return [session["metadata"]["name"] for session in self.server.list("sessions")]


@pytest.fixture
async def sessions() -> AsyncIterator[Sessions]:
    async with (
        APIServer(now=virtual_now) as server,
        dynkube.connect(transport=server.transport()) as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(run, client, my_controller.session_expiry(virtual_now))
        server.load(Path(my_controller.__file__).with_name("sessions.yaml"))
        yield Sessions(server)
        nursery.cancel_scope.cancel()


async def test_a_session_created_again_with_the_same_name_has_a_new_expiry(sessions: Sessions) -> None:
    await trio.sleep(50)
    sessions.server.delete("sessions", "minute")
    sessions.server.create({**MINUTE, "spec": {"seconds": 60}})
    await trio.sleep(50)
    assert sessions.names() == ["hour", "minute"]
    await trio.sleep(11)
    assert sessions.names() == ["hour"]


@pytest.mark.parametrize("seconds", [30, 120])
async def test_a_changed_time_counts_from_the_creation_of_the_session(sessions: Sessions, seconds: int) -> None:
    await trio.sleep(10)
    sessions.server.update({**sessions.server.get("sessions", "minute"), "spec": {"seconds": seconds}})
    await trio.sleep(seconds - 11)
    assert sessions.names() == ["hour", "minute"]
    await trio.sleep(2)
    assert sessions.names() == ["hour"]


async def test_a_session_that_is_extended_while_it_expires_is_not_deleted(sessions: Sessions) -> None:
    await trio.sleep(1)
    sessions.server.inject(Lag(10), verb="watch")
    sessions.server.end_watches("sessions")  # the next watch lags behind
    await trio.sleep(54)
    sessions.server.update({**sessions.server.get("sessions", "minute"), "spec": {"seconds": 120}})
    await trio.sleep(10)
    assert sessions.names() == ["hour", "minute"]
    await trio.sleep(60)
    assert sessions.names() == ["hour"]


async def test_a_failed_deletion_of_a_session_is_retried(sessions: Sessions) -> None:
    fault = sessions.server.fail(verb="delete", resource="sessions", status=403, times=1)
    await trio.sleep(61)
    assert (fault.hits, sessions.names()) == (1, ["hour"])


# ── the informer ─────────────────────────────────────────────────────────────────────────────


class Screen(io.StringIO):
    """Standard output on which tests can wait for a string."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = trio.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        self._changed.set()
        return written

    async def shows(self, text: str) -> None:
        while text not in self.getvalue():
            self._changed = trio.Event()
            await self._changed.wait()


@pytest.mark.real_time
async def test_the_lazy_informer_prints_states_and_objects(
    server: APIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)

    async with server.serve() as endpoint, trio.open_nursery() as nursery:
        endpoint.write_kubeconfig(tmp_path / "config")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        nursery.start_soon(lazy_informer.main, "widgets.v1.example.com")
        with trio.fail_after(30):
            await screen.shows("ABSENT (CRDNotFound: no CRD widgets.example.com is installed)")
            server.create(crd())
            server.create(widget("w"))
            await screen.shows("+ <Widget example.com/v1 default/w")
            server.delete("customresourcedefinitions", "widgets.example.com")
            await screen.shows("- <Widget example.com/v1 default/w")
        nursery.cancel_scope.cancel()

    assert "LIVE (Watching)" in screen.getvalue()
