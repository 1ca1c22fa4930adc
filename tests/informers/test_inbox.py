"""The inbox of a cache's owner: messages in order, callers that wait for theirs, and an end that releases them."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable

import trio
import trio.testing

from dynkube.informers._cache.inbox import Inbox


def append_to(done: list[str], what: str) -> Callable[[], Awaitable[None]]:
    async def message() -> None:
        await trio.lowlevel.checkpoint()
        done.append(what)

    return message


async def work(inbox: Inbox) -> None:
    for message in await inbox.take():
        await message()


async def test_messages_are_processed_in_order() -> None:
    inbox, done = Inbox(), list[str]()
    inbox.post(append_to(done, "a"))
    inbox.post(append_to(done, "b"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(inbox.ask, append_to(done, "c"))
        await trio.testing.wait_all_tasks_blocked()
        await work(inbox)

    assert done == ["a", "b", "c"]


async def test_the_owner_waits_until_something_is_posted() -> None:
    inbox, done = Inbox(), list[str]()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, inbox)
        await trio.testing.wait_all_tasks_blocked()
        assert not done
        inbox.post(append_to(done, "a"))

    assert done == ["a"]


async def test_ask_returns_when_the_message_was_processed_and_not_when_it_was_taken() -> None:
    inbox, order = Inbox(), list[str]()

    async def ask() -> None:
        await inbox.ask(append_to(order, "done"))
        order.append("goes on")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        (message,) = await inbox.take()
        await trio.testing.wait_all_tasks_blocked()
        assert order == []
        await message()

    assert order == ["done", "goes on"]


async def test_a_message_is_processed_even_if_its_caller_was_cancelled() -> None:
    inbox, done = Inbox(), list[str]()
    with trio.move_on_after(1):
        await inbox.ask(append_to(done, "a"))

    await work(inbox)

    assert done == ["a"]


async def test_closing_releases_waiting_callers_and_drops_pending_and_later_messages() -> None:
    inbox, done = Inbox(), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inbox.ask, append_to(done, "a"))
        nursery.start_soon(inbox.ask, append_to(done, "b"))
        await trio.testing.wait_all_tasks_blocked()

        inbox.close()

    inbox.post(append_to(done, "c"))
    await inbox.ask(append_to(done, "d"))
    with trio.move_on_after(1) as timeout:
        await work(inbox)
    assert timeout.cancelled_caught
    assert not done


async def test_a_processed_message_leaves_no_event_behind() -> None:
    inbox, done = Inbox(), list[str]()
    before = sum(isinstance(each, trio.Event) for each in gc.get_objects())

    async with trio.open_nursery() as nursery:
        for _ in range(200):
            nursery.start_soon(inbox.ask, append_to(done, "a"))
        await trio.testing.wait_all_tasks_blocked()
        await work(inbox)
    gc.collect()

    assert len(done) == 200
    assert sum(isinstance(each, trio.Event) for each in gc.get_objects()) <= before + 1
