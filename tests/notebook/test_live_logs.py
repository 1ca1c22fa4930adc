"""A live log shows the newest lines of a followed log, with at most four updates per second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
import trio

import dynkube
from dynkube.errors import ClosedError, NotFound
from dynkube.notebook._audience import GRACE
from dynkube.notebook._log_follower import PERIOD, LogFollower, LogOpening
from dynkube.notebook._log_tail import LogPicture
from dynkube_testing import APIServer, Refuse, User
from tests.pods.logs.kubelet import Clock, Kubelet, TearingTransport, pod


class Screen:
    """Records snapshots; each is said to have ``size`` bytes."""

    def __init__(self, size: int = 0) -> None:
        self.pictures: list[LogPicture] = []
        self.times: list[float] = []
        self.size = size

    def show(self, picture: LogPicture) -> int:
        """Record a snapshot."""
        self.pictures.append(picture)
        self.times.append(trio.current_time())
        return self.size

    @property
    def lines(self) -> list[str]:
        """The lines that are shown."""
        return list(map(str, self.pictures[-1].lines))

    @property
    def end(self) -> tuple[str, str]:
        """The word and the reason of the end mark."""
        state = self.pictures[-1].state
        assert state.ended
        return state.word, state.reason


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with the pod ``web``; its clock follows virtual time."""
    async with APIServer(now=Clock()) as server:
        server.create(pod())
        yield server


@pytest.fixture
def kubelet(server: APIServer) -> Kubelet:
    """The container of the pod ``web``, which runs."""
    kubelet = Kubelet(server)
    kubelet.start()
    return kubelet


@asynccontextmanager
async def followed(
    opening: LogOpening, *, most: int = 1000, size: int = 0
) -> AsyncIterator[tuple[LogFollower, Screen]]:
    """A live log that the page of cell "a" shows."""
    async with trio.open_nursery() as nursery:
        follower, screen = LogFollower(opening, nursery.start_soon, most=most), Screen(size)
        follower.outlet = screen
        await follower.open()
        follower.displayed("cell a")
        await trio.sleep(1)
        yield follower, screen
        await follower.close()


async def test_lines_are_shown_as_they_come(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.write("one")
    async with followed(client.pod("web").logs(follow=True)) as (_, screen):
        first = screen.lines

        kubelet.write("two")
        await trio.sleep(2 * PERIOD)

        assert (first, screen.lines) == (["one"], ["one", "two"])
        assert screen.pictures[-1].state.title == "log of default/web · app"


async def test_there_are_at_most_four_updates_per_second(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (_, screen):
        screen.times.clear()

        for number in range(200):
            kubelet.write(str(number))
            await trio.sleep(0.01)

        assert 7 <= len(screen.times) <= 9
        assert min(after - before for before, after in zip(screen.times, screen.times[1:], strict=False)) >= PERIOD


async def test_large_updates_are_less_frequent(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True), size=400_000) as (_, screen):
        screen.times.clear()

        for number in range(100):
            kubelet.write(str(number))
            await trio.sleep(0.1)

        assert 9 <= len(screen.times) <= 11


async def test_a_quiet_log_is_not_shown_again(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (_, screen):
        screen.pictures.clear()

        await trio.sleep(200)

        assert screen.pictures == []


async def test_old_lines_are_dropped_and_counted(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True), most=3) as (_, screen):
        for start in range(0, 20_000, 1000):
            kubelet.write(*(f"{number} {'x' * 3000}" for number in range(start, start + 1000)))
            await trio.sleep(0.01)
        await trio.sleep(1)

        assert screen.pictures[-1].count == 20_000
        assert [line.split()[0] for line in screen.lines] == ["19997", "19998", "19999"]
        assert {len(line.raw) for line in screen.pictures[-1].lines} == {2000}


async def test_the_end_of_the_log_is_shown_with_its_reason(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (follower, screen):
        kubelet.write("last")
        kubelet.exit(publish=False)
        kubelet.publish("Succeeded")
        await trio.sleep(60)

        assert (screen.lines, screen.end[0]) == (["last"], "ended")
        assert follower.picture.state.title == "log of default/web · app"
        assert follower.picture.state.reason != ""


async def test_an_output_that_comes_after_the_end_has_it(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (follower, screen):
        await follower.close()
        screen.pictures.clear()

        follower.displayed("cell b")

        assert screen.end == ("stopped", "closed")


async def test_an_outage_is_shown_until_lines_come_again(server: APIServer, kubelet: Kubelet) -> None:
    transport = TearingTransport(server.transport(), Random(1))
    async with (
        dynkube.connect(url=server.url, transport=transport) as client,
        followed(client.pod("web").logs(follow=True)) as (_, screen),
    ):
        transport.down = True
        transport.cut()
        await trio.sleep(30)
        outage = screen.pictures[-1].state
        transport.down = False
        kubelet.write("back")
        await trio.sleep(30)

        assert (outage.word, "connection refused" in outage.reason) == ("retrying", True)
        assert (screen.lines, screen.pictures[-1].state.word) == (["back"], "LIVE")


async def test_what_a_container_waits_for_is_shown(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (_, screen):
        kubelet.exit(1)
        kubelet.crash_loop()
        await trio.sleep(30)

        state = screen.pictures[-1].state
        assert (state.word, state.ended) == ("waiting", False)
        assert "CrashLoopBackOff" in state.reason


async def test_a_failure_is_shown_with_its_reason() -> None:
    async with APIServer(rbac=True, now=Clock()) as server:
        server.create(pod())
        Kubelet(server).publish("Pending")
        server.grant("alice", verbs=["get"], resource="pods", namespace="default")
        transport = server.transport(user=User("alice"))
        async with (
            dynkube.connect(url=server.url, transport=transport) as client,
            followed(client.pod("web").logs(follow=True)) as (_, screen),
        ):
            await trio.sleep(1)

            word, reason = screen.end

    assert (word, reason.partition(":")[0]) == ("failed", "403 Forbidden")
    assert 'cannot watch resource "pods"' in reason


async def test_a_log_that_cannot_be_opened_raises(client: dynkube.Client) -> None:
    with pytest.RaisesGroup(NotFound):
        async with followed(client.pod("none").logs(follow=True)):
            pass


async def test_it_stops_a_minute_later_if_no_page_shows_it(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with trio.open_nursery() as nursery:
        follower = LogFollower(client.pod("web").logs(follow=True), nursery.start_soon, most=10)
        await follower.open()
        began = trio.current_time()

        await follower.wait_ended()

        assert GRACE <= trio.current_time() - began <= GRACE + 2
        assert follower.picture.state.word == "stopped"


async def test_it_goes_on_as_long_as_it_is_read(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with trio.open_nursery() as nursery:
        follower = LogFollower(client.pod("web").logs(follow=True), nursery.start_soon, most=10)
        await follower.open()
        picture = await follower.look()
        follower.cell_begins("")
        follower.cell_ends()
        for number in range(5):
            kubelet.write(str(number))
            await trio.sleep(GRACE - 5)
            picture = await follower.look()

        assert (picture.count, follower.ended) == (5, False)
        await follower.close()


async def test_it_stops_when_its_cell_has_run_again(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (follower, screen):
        follower.cell_begins("cell b")
        follower.cell_ends()
        follower.cell_begins("cell a")
        while_it_runs = follower.ended
        follower.cell_ends()
        await follower.wait_ended()

        assert (while_it_runs, screen.end[0]) == (False, "stopped")


async def test_it_goes_on_if_its_cell_displays_it_again(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with followed(client.pod("web").logs(follow=True)) as (follower, screen):
        follower.cell_begins("cell a")
        follower.displayed("cell a")
        follower.cell_ends()
        kubelet.write("more")
        await trio.sleep(1000)

        assert screen.lines == ["more"]


async def test_closing_it_closes_the_requests(client: dynkube.Client, kubelet: Kubelet) -> None:
    opening = client.logs("app=web")
    async with followed(opening) as (follower, screen):
        kubelet.write("one")
        await trio.sleep(1)
        await follower.close()
        kubelet.write("two")
        await trio.sleep(100)

        assert (screen.lines, screen.end) == (["one"], ("stopped", "closed"))


async def test_merged_logs_show_pods_that_come_later(
    client: dynkube.Client, server: APIServer, kubelet: Kubelet
) -> None:
    async with followed(client.logs("app=web")) as (_, screen):
        kubelet.write("one")
        server.create(pod("web-2"))
        second = Kubelet(server, "web-2")
        second.start()
        second.write("two")
        await trio.sleep(2)

        picture = screen.pictures[-1]
        assert [(line.pod, str(line)) for line in picture.lines] == [("web", "one"), ("web-2", "two")]
        assert (picture.named, picture.state.title, picture.state.word) == (True, "logs of 2 containers", "LIVE")


async def test_merged_logs_without_pods_wait(client: dynkube.Client) -> None:
    async with followed(client.logs("app=none")) as (_, screen):
        state = screen.pictures[-1].state

        assert (state.word, state.reason) == ("waiting", "no container of such a pod has started")


async def test_merged_logs_name_a_container_that_is_not_read_until_it_is(
    server: APIServer, client: dynkube.Client, kubelet: Kubelet
) -> None:
    refusal = Refuse(500, message="no kubelet")
    server.inject(refusal, path_prefix="/api/v1/namespaces/default/pods/web/log", duration=30)
    async with followed(client.logs("app=web")) as (_, screen):
        await trio.sleep(5)
        failing = screen.pictures[-1].state
        await trio.sleep(60)
        kubelet.write("one")
        await trio.sleep(1)
        reading = screen.pictures[-1].state

    assert (failing.word, len(failing.notes)) == ("waiting", 1)
    assert failing.notes[0].startswith("default/web app is not read: 500 InternalError: no kubelet")
    assert (reading.word, reading.notes) == ("LIVE", ())


async def test_containers_that_wait_or_cannot_be_read_are_named(
    client: dynkube.Client, server: APIServer, kubelet: Kubelet
) -> None:
    for name in ("web-1", "web-2"):
        server.create(pod(name))
        Kubelet(server, name).start()
    server.inject(Refuse(405), path_prefix="/api/v1/namespaces/default/pods/web-1/log")
    async with followed(client.logs("app=web", max_streams=1)) as (_, screen):
        await trio.sleep(30)
        waiting = screen.pictures[-1].state.notes
        server.delete("pods", "web")
        await trio.sleep(30)
        failed = screen.pictures[-1].state.notes

    assert waiting == ("2 containers will be read when another one has ended: see max_streams",)
    assert failed[0].startswith("default/web-1 app is not read: 405 ")


async def test_the_end_of_the_owner_is_shown(client: dynkube.Client, kubelet: Kubelet) -> None:
    async with trio.open_nursery() as nursery:
        follower, screen = LogFollower(client.logs("app=web"), nursery.start_soon, most=10), Screen()
        follower.outlet = screen
        await follower.open()

        nursery.cancel_scope.cancel()

    assert screen.end == ("stopped", "the client was closed")


async def test_an_owner_that_is_closed_raises(client: dynkube.Client, kubelet: Kubelet) -> None:
    def start(function: object) -> None:
        raise ClosedError("the client is closed")

    follower = LogFollower(client.pod("web").logs(), start, most=10)

    with pytest.raises(ClosedError, match="the client is closed"):
        await follower.open()
