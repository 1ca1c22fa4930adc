"""Sources of availability that fail, by error responses or dead servers: known objects stay, and the state shows it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, Client, Unstructured
from dynkube.telemetry import Collection, Observer, StateChange
from dynkube_testing import APIServer, Disconnect, Drip, Hang, Refuse
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget

pytestmark = pytest.mark.scenario("P7", "P8")

PROXY = "<html>nginx 404</html>"
LOSSES: dict[str, Any] = {
    "expired credentials": Refuse(401),
    "revoked permissions": Refuse(403),
    "a server that is starting": Refuse(404),
    "a proxy's 404": Refuse(404, body=PROXY),
    "internal errors": Refuse(500),
    "a dead server": Disconnect("reset"),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seconds", [3, 600])
async def test_crds_that_cannot_be_read_remove_no_object(
    server: APIServer, client: Client, loss: str, seconds: float
) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(ABSENT)  # discovery was read before the CRD existed
        server.create(crd())
        server.create(widget("a"))
        await widgets.wait_state(LIVE)
        await trio.sleep(30)

        with server.inject(LOSSES[loss], resource=CRDS):
            server.end_watches(CRDS)
            await trio.sleep(seconds)
            assert (names(widgets.list()), widgets.state.phase) == (["a"], LIVE)
        await trio.sleep(120)

        assert (await recorder.drain(), widgets.state.phase) == (["add/a"], LIVE)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("late", [True, False])
async def test_an_outage_of_all_requests_removes_no_object(
    server: APIServer, client: Client, loss: str, late: bool
) -> None:
    recorder = Recorder()
    if not late:
        server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        if late:
            server.create(crd())
        server.create(widget("a"))
        await widgets.wait_state(LIVE)
        await quiet()

        with server.inject(LOSSES[loss]):
            server.end_watches(how="reset")
            await trio.sleep(600)
            assert (names(widgets.list()), widgets.state.phase) == (["a"], DEGRADED)
        await trio.sleep(120)

        assert (await recorder.drain(), widgets.state.phase) == (["add/a"], LIVE)


@pytest.mark.parametrize("loss", LOSSES)
async def test_an_absent_resource_is_degraded_while_no_source_can_confirm_it(
    server: APIServer, client: Client, loss: str
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)

        with server.inject(LOSSES[loss]):
            server.end_watches(how="reset")
            state = await widgets.wait_state(DEGRADED)
            assert "no CRD widgets.example.com is installed, according to the last known state" in state.message
            assert (widgets.list(), widgets.has_synced) == ([], True)
        await widgets.wait_state(ABSENT)


async def test_a_wrong_scope_is_degraded_while_no_source_can_confirm_it(server: APIServer, client: Client) -> None:
    server.create(crd(scope="Cluster"))
    async with client.informer(WIDGETS, namespace="default") as widgets:
        await widgets.wait_state(ABSENT)
        assert widgets.state.reason == "WrongScope"
        server.inject(Refuse(403))
        server.end_watches(how="reset")

        await widgets.wait_state(DEGRADED)

        assert (widgets.state.reason, list(widgets)) == ("Forbidden", [])


async def test_two_discovery_responses_make_a_resource_absent_while_crds_cannot_be_read(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        server.inject(Refuse(403), resource=CRDS)
        server.end_watches(CRDS)
        await trio.sleep(10)

        server.delete(CRDS, "widgets.example.com")
        await trio.sleep(25)
        assert widgets.state.phase is DEGRADED
        with trio.fail_after(40):
            await widgets.wait_state(ABSENT)

        assert await recorder.drain() == ["add/a", "delete/a"]


@pytest.mark.parametrize("fault", [Refuse(500), Hang()], ids=["errors", "hanging"])
async def test_discovery_replaces_crds_that_cannot_be_listed(
    server: APIServer, client: Client, fault: Refuse | Hang
) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.inject(fault, resource=CRDS)
    async with client.informer(WIDGETS) as widgets:
        with trio.fail_after(30):
            await widgets.wait_synced()

        assert names(widgets.list()) == ["a"]


async def test_discovery_replaces_crds_whose_list_times_out(server: APIServer) -> None:
    settings = dynkube.InformerSettings(streaming_idle_timeout=10.0)
    server.create(crd())
    server.inject(Hang(), resource=CRDS)
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        begun = trio.current_time()

        await widgets.wait_state(LIVE)

        assert trio.current_time() - begun == 15


async def test_many_absent_groups_cost_one_discovery_poll_while_discovery_is_down(
    server: APIServer, client: Client
) -> None:
    server.inject(Refuse(503), when=lambda r: r.path.startswith("/apis/g") or r.path in {"/apis", "/api"})
    async with AsyncExitStack() as stack:
        for number in range(50):
            await stack.enter_async_context(client.informer(f"widgets.v1.g{number}.com"))
        await trio.sleep(600)
        server.forget_requests()
        await trio.sleep(3600)

        assert len(server.requests) <= 300, "two documents, every 30 to 60 s"


async def test_crds_that_can_be_listed_but_not_watched_are_followed(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.inject(Refuse(403), resource=CRDS, verb="watch")
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(ABSENT)
        server.create(crd())
        server.create(widget("a"))
        with trio.fail_after(61):
            await widgets.wait_state(LIVE)
        caplog.clear()
        await trio.sleep(3600)

        assert (await recorder.drain(), widgets.state.phase, caplog.records) == (["add/a"], LIVE, [])


async def test_a_crd_replaced_while_crds_cannot_be_read_deletes_only_the_old_objects(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("old"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        fault = server.inject(Refuse(500), resource=CRDS)
        server.end_watches(CRDS)
        await trio.sleep(1)

        server.delete(CRDS, "widgets.example.com")
        server.create(crd())
        server.create(widget("new"))
        await trio.sleep(600)
        assert await recorder.drain() == ["add/old", "delete/old", "add/new"]
        fault.remove()
        await trio.sleep(120)

        assert (await recorder.drain(), widgets.state.phase) == ([], LIVE)


async def test_a_late_event_of_a_crds_deletion_removes_no_object_of_the_next_crd(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("old"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        server.inject(Drip(20), resource=CRDS, verb="watch")
        server.end_watches(CRDS)
        await trio.sleep(5)

        server.delete(CRDS, "widgets.example.com")
        server.create(crd())
        server.create(widget("new"))
        await trio.sleep(600)

        assert await recorder.drain() == ["add/old", "delete/old", "add/new"]


async def test_a_404_that_contradicts_the_list_of_group_versions_does_not_make_absent(
    server: APIServer, client: Client
) -> None:
    server.inject(Refuse(403), resource=CRDS)
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        server.inject(Refuse(404), when=lambda r: r.path == "/apis/example.com/v1", duration=200)
        await trio.sleep(300)

        assert (await recorder.drain(), widgets.state.phase) == (["add/a"], LIVE)


@pytest.mark.parametrize(
    ("verb", "warning"),
    [("watch", "CRDs can be listed but not watched"), (None, "CRDs cannot be read")],
)
async def test_the_warning_says_whether_crds_can_still_be_listed(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture, verb: str | None, warning: str
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.inject(Refuse(403), resource=CRDS, verb=verb)
        server.end_watches(CRDS)
        await trio.sleep(600)

    logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [message.startswith(warning) for message in logged] == [True]


async def test_a_list_of_crds_that_expires_at_first_is_no_loss(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="dynkube")
    server.create(crd())
    server.inject(Refuse(410), resource=CRDS, times=1)

    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

    assert [record.getMessage() for record in caplog.records if "CRDs can" in record.getMessage()] == []


async def test_discovery_is_read_as_soon_as_crds_cannot_be(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        server.inject(Refuse(403), resource=CRDS)
        server.forget_requests()
        server.end_watches(CRDS)
        await widgets.wait_state(DEGRADED)
        lost = trio.current_time()
        await trio.sleep(10)

        read = [request.time for request in server.requests if request.path.endswith("/example.com/v1")]
        assert read[:1] == [lost]


async def test_an_object_that_was_returned_makes_an_absence_uncertain_while_crds_cannot_be_read(
    server: APIServer, client: Client
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        server.create(crd())
        obj = Unstructured(server.create(widget("a")))
        await widgets.wait_state(LIVE)
        server.delete(CRDS, "widgets.example.com")
        server.inject(Refuse(403), resource=CRDS)
        await widgets.wait_state(ABSENT)
        server.end_watches(CRDS)
        await trio.sleep(120)  # discovery has confirmed it
        assert widgets.state.phase is ABSENT

        with trio.move_on_after(10):  # its version may be that of a restored backup
            await widgets.wait_for(obj)

        assert widgets.state.phase is DEGRADED


class StateChanges(Observer, trio.abc.Instrument):
    """Records the most state changes in one iteration of the event loop."""

    def __init__(self) -> None:
        self.total = self.most = self.here = 0

    def state_changed(self, collection: Collection, change: StateChange) -> None:
        self.total += 1
        self.here += 1

    def before_io_wait(self, timeout: float) -> None:
        self.most, self.here = max(self.most, self.here), 0


async def test_many_informers_learn_of_a_lost_source_a_few_at_a_time(server: APIServer) -> None:
    changes = StateChanges()
    async with (
        dynkube.connect(transport=server.transport(), observers=[changes]) as client,
        AsyncExitStack() as stack,
    ):
        informers = [client.informer(f"things.v1.g{number}.example.com") for number in range(300)]
        for informer in informers:
            await stack.enter_async_context(informer)
        await informers[-1].wait_state(ABSENT)
        await quiet()
        changes.total = changes.here = 0
        trio.lowlevel.add_instrument(changes)

        with server.inject(Refuse(403)):
            server.end_watches(CRDS)
            await informers[-1].wait_state(DEGRADED)
            await quiet()
        await informers[-1].wait_state(ABSENT)
        await quiet()
        trio.lowlevel.remove_instrument(changes)

        assert changes.total == 2 * 300
        assert changes.most <= 2 * 64
