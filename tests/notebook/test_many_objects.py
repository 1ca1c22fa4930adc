"""50,000 objects in a live table: only changes of displayed rows are sent."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import trio

import dynkube
from dynkube.notebook._follower import PERIOD
from dynkube.notebook._messages import Message
from dynkube_testing import APIServer, Snapshot
from tests.notebook.kit import attach, follow, now

MANY = 50_000
ROWS = 200


def name(number: int) -> str:
    """Return the name of an object; names sort by number."""
    return f"c{number:05}"


def filled(server: APIServer, folder: Path) -> None:
    """Add the ConfigMaps through a snapshot, as writing them one by one takes 15 seconds."""
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}})
    path = server.snapshot().save(folder / "state")
    state = json.loads(path.read_text())
    objects = next(each["objects"] for each in state["resources"] if each["name"] == "configmaps")
    one = objects.pop()
    objects += [{**one, "metadata": {**one["metadata"], "name": name(n), "uid": f"u{n}"}} for n in range(MANY)]
    path.write_text(json.dumps(state))
    server.restore(Snapshot.read(path))


def touch(server: APIServer, number: int, value: str) -> None:
    """Change one object."""
    stored = server.get("configmaps", name(number), "default")
    server.update({**stored, "data": {"v": value}})


def rows_in(messages: list[Message]) -> int:
    """Return how many rows, or parts of rows, were sent."""
    return sum(len(message.get(part, ())) for message in messages for part in ("rows", "add", "put", "drop"))


async def test_only_changes_of_displayed_rows_are_sent(
    server: APIServer, client: dynkube.Client, tmp_path: Path
) -> None:
    filled(server, tmp_path)
    async with client.informer("configmaps.v1") as maps, trio.open_nursery() as nursery:
        follower = follow(maps, nursery, limit=ROWS, now=now)
        page = attach(follower)
        await follower.wait_settled()
        await trio.sleep(4 * PERIOD)
        at_first, counts = page.messages[:], page.head["counts"]
        page.drain()

        for number in range(2_000):  # changes for four seconds, of objects that are not displayed
            touch(server, MANY - 1 - number, "x")
            await trio.sleep(0.002)
        await trio.sleep(2)
        beyond = page.messages[:]
        page.drain()
        touch(server, 7, "y")
        server.delete("configmaps", name(3), "default")
        await trio.sleep(2)

        assert (counts, len(page.rows)) == ("200 of 50,000 shown", ROWS)
        assert rows_in(at_first) <= 5 * ROWS  # at most a picture per quarter of the first second
        assert (len(beyond) <= 6 / PERIOD, rows_in(beyond)) == (True, 0)
        assert (rows_in(page.messages), page.head["counts"]) == (3, "200 of 49,999 shown")
        await follower.close()


async def test_the_counts_are_preliminary_until_all_objects_were_read(
    server: APIServer, client: dynkube.Client, tmp_path: Path
) -> None:
    filled(server, tmp_path)
    async with client.informer("configmaps.v1") as maps, trio.open_nursery() as nursery:
        await maps.wait_synced()
        follower = follow(maps, nursery, limit=ROWS, now=now, cpu_clock=count(1).__next__)
        page = attach(follower)
        while not (picture := await follower.look()).head.matching:
            await trio.lowlevel.checkpoint()

        assert picture.head.counts == f"{picture.head.matching:,} of 50,000 objects so far"
        await follower.wait_settled()
        await trio.sleep(4 * PERIOD)

        assert page.head["counts"] == "200 of 50,000 shown"
        await follower.close()


async def test_a_filter_is_applied_to_all_objects(server: APIServer, client: dynkube.Client, tmp_path: Path) -> None:
    filled(server, tmp_path)
    async with client.informer("configmaps.v1") as maps, trio.open_nursery() as nursery:
        follower = follow(maps, nursery, limit=2_000, now=now)
        page = attach(follower)
        await follower.wait_settled()
        await trio.sleep(4 * PERIOD)
        every = (page.head["counts"], len(page.rows))

        maps.set_filter(lambda obj: obj.name.endswith("0000"))
        await trio.sleep(4 * PERIOD)

        assert every == ("2,000 of 50,000 shown", 2_000)
        assert page.texts("Name") == [[name(number)] for number in range(0, MANY, 10_000)]
        assert page.head["counts"] == "5 of 50,000 objects"
        await follower.close()


async def test_rows_move_up_when_all_that_are_shown_are_deleted(
    server: APIServer, client: dynkube.Client, tmp_path: Path
) -> None:
    filled(server, tmp_path)
    async with client.informer("configmaps.v1") as maps, trio.open_nursery() as nursery:
        follower = follow(maps, nursery, limit=5, now=now)
        page = attach(follower)
        await follower.wait_settled()

        for number in range(20):
            server.delete("configmaps", name(number), "default")
        await trio.sleep(8 * PERIOD)

        assert page.texts("Name") == [[name(number)] for number in range(20, 25)]
        assert page.head["counts"] == "5 of 49,980 shown"
        await follower.close()
