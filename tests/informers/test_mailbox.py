"""A mailbox turns the latest visible state of each object into a legal sequence of events."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dynkube.informers._views.mailbox import SYNCED, Mailbox
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key

KEYS = st.sampled_from([("shop", "a"), ("shop", "b"), ("shop", "c"), ("stage", "a"), ("test", "a"), ("", "a")])


def obj(key: Key, version: int, uid: str = "u1") -> Unstructured:
    namespace, name = key
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": str(version)}
    return Unstructured({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})


@pytest.fixture
def traced_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def known(mailbox: Mailbox) -> set[Key]:
    return set(chain.from_iterable(mailbox.known_keys()))


A = ("shop", "a")


def test_an_object_that_was_not_shown_is_added() -> None:
    mailbox = Mailbox()

    mailbox.offer(A, obj(A, 1))

    assert mailbox.take() == (Added(obj(A, 1), initial=True),)
    assert mailbox.take() is None


@pytest.mark.scenario("F27", "P9")
def test_late_changes_coalesce_into_one_event() -> None:
    mailbox = Mailbox()
    mailbox.offer(A, obj(A, 1))
    mailbox.take()

    for version in range(2, 100):
        mailbox.offer(A, obj(A, version))

    assert len(mailbox) == 1
    assert mailbox.take() == (Updated(obj(A, 1), obj(A, 99)),)


def test_an_object_created_and_deleted_before_it_was_shown_is_no_event() -> None:
    mailbox = Mailbox()

    mailbox.offer(A, obj(A, 1))
    mailbox.offer(A, None)

    assert mailbox.take() is None


@pytest.mark.scenario("F27", "P9")
def test_an_object_created_and_deleted_before_it_was_shown_keeps_no_entry() -> None:
    mailbox = Mailbox()

    for number in range(100):
        mailbox.offer(("shop", f"job-{number}"), obj(("shop", f"job-{number}"), number))
        mailbox.offer(("shop", f"job-{number}"), None)

    assert (len(mailbox), bool(mailbox), known(mailbox)) == (0, False, set())


@pytest.mark.scenario("P2")
def test_an_object_that_was_hidden_and_shown_again_unchanged_is_no_event() -> None:
    mailbox = Mailbox()
    mailbox.offer(A, obj(A, 1))
    mailbox.take()

    mailbox.offer(A, None)
    mailbox.offer(A, obj(A, 1))

    assert (len(mailbox), mailbox.take()) == (0, None)


def test_many_delivered_objects_are_kept_and_freed_in_parts() -> None:
    mailbox, keys = Mailbox(), [("shop", f"n{number}") for number in range(20_000)]
    objects = [obj(key, 1) for key in keys]
    for key, each in zip(keys, objects, strict=True):
        mailbox.offer(key, each)
        mailbox.take()

    mailbox.offer(keys[-1], obj(keys[-1], 2))
    mailbox.offer(keys[0], None)

    assert (mailbox.take(), mailbox.take()) == ((Updated(objects[-1], obj(keys[-1], 2)),), (Deleted(objects[0]),))
    assert known(mailbox) == set(keys[1:])
    assert len(list(mailbox.release())) > 100
    assert known(mailbox) == set()


def test_many_pending_objects_are_taken_in_order_and_freed_in_steps() -> None:
    mailbox, keys = Mailbox(), [("shop", f"n{number}") for number in range(20_000)]
    for key in keys:
        mailbox.offer(key, obj(key, 1))

    for key in keys[::2]:
        mailbox.offer(key, None)
    taken = [mailbox.take() for _ in range(100)]

    assert taken == [(Added(obj(key, 1), initial=True),) for key in keys[1:200:2]]
    assert (len(mailbox), known(mailbox)) == (9_900, set(keys[1::2]))
    assert len(list(mailbox.release())) > 100
    assert (len(mailbox), bool(mailbox), mailbox.take(), known(mailbox)) == (0, False, None, set())


@pytest.mark.scenario("F27", "P9")
def test_objects_that_come_and_go_leave_little_in_the_queue_of_others(traced_memory: None) -> None:
    mailbox = Mailbox()
    for number in range(100):
        mailbox.offer(("shop", f"n{number}"), obj(A, 1))

    before = tracemalloc.get_traced_memory()[0]
    for number in range(20_000):
        mailbox.offer(("shop", f"job-{number}"), obj(A, 1))
        mailbox.offer(("shop", f"job-{number}"), None)
    peak = tracemalloc.get_traced_memory()[1] - before

    assert (len(mailbox), peak < 500_000) == (100, True)  # bytes; 3 MB if all entries stay


def test_objects_of_the_same_name_in_many_namespaces_are_told_apart_and_freed_in_few_steps() -> None:
    mailbox, keys = Mailbox(), [(f"n{number}", "root-ca") for number in range(3_000)]
    for key in keys:
        mailbox.offer(key, obj(key, 1))
        mailbox.take()

    mailbox.offer(keys[0], None)

    assert mailbox.take() == (Deleted(obj(keys[0], 1)),)
    assert known(mailbox) == set(keys[1:])
    assert len(list(mailbox.release())) < 10


def test_delivered_states_are_those_before_pending_changes() -> None:
    mailbox = Mailbox()
    for name in ("a", "b"):
        mailbox.offer(("shop", name), obj(("shop", name), 1))
        mailbox.take()

    mailbox.offer(A, obj(A, 2))
    mailbox.offer(("shop", "c"), obj(("shop", "c"), 1))

    delivered = {key: mailbox.get(key) for key in known(mailbox)}
    versions = {key: each.resource_version for key, each in delivered.items() if each is not None}
    assert versions == {A: "1", ("shop", "b"): "1"}


@pytest.mark.scenario("F39", "P2")
def test_a_deleted_has_the_object_as_shown_last() -> None:
    mailbox = Mailbox()
    mailbox.offer(A, obj(A, 1))
    mailbox.take()

    mailbox.offer(A, obj(A, 2))
    mailbox.offer(A, None)

    assert mailbox.take() == (Deleted(obj(A, 1)),)


@pytest.mark.scenario("F33", "P2")
def test_another_object_with_the_same_name_is_deleted_then_added() -> None:
    mailbox = Mailbox()
    mailbox.offer(A, obj(A, 1, "first"))
    mailbox.take()

    mailbox.offer(A, obj(A, 2, "second"))

    assert mailbox.take() == (Deleted(obj(A, 1, "first")), Added(obj(A, 2, "second"), initial=True))


def test_synced_comes_after_the_initial_objects_and_before_later_ones() -> None:
    mailbox = Mailbox()
    mailbox.offer(A, obj(A, 1))
    mailbox.mark_synced()
    mailbox.offer(("shop", "b"), obj(("shop", "b"), 2))

    assert [mailbox.take(), mailbox.take(), mailbox.take()] == [
        (Added(obj(A, 1), initial=True),),
        SYNCED,
        (Added(obj(("shop", "b"), 2)),),
    ]


def event_key(event: InformerEvent) -> Key:
    return event.new.key if isinstance(event, Updated) else event.object.key


class MailboxMachine(RuleBasedStateMachine):
    """For any offers taken at any time, applying the events gives the state offered last, in order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.mailbox = Mailbox()
        self.offered: dict[Key, Unstructured] = {}
        self.applied: dict[Key, Unstructured] = {}
        self.arrived: dict[Key, None] = {}  # the pending keys
        self.version = 0

    def offer(self, key: Key) -> None:
        state = self.offered.get(key)
        self.mailbox.offer(key, state)
        if state is self.applied.get(key):
            self.arrived.pop(key, None)
        else:
            self.arrived.setdefault(key)

    @rule(key=KEYS, uid=st.sampled_from(["u1", "u2"]))
    def offer_new(self, key: Key, uid: str) -> None:
        self.version += 1
        self.offered[key] = obj(key, self.version, uid)
        self.offer(key)

    @rule(key=KEYS)
    def offer_deletion(self, key: Key) -> None:
        self.offered.pop(key, None)
        self.offer(key)

    @rule(key=KEYS)
    def offer_again(self, key: Key) -> None:
        self.offer(key)

    @rule()
    def take(self) -> None:
        events = self.mailbox.take()
        assert bool(events) == bool(self.arrived)
        if isinstance(events, tuple):
            first = next(iter(self.arrived))
            del self.arrived[first]
            assert {event_key(event) for event in events} == {first}
            for event in events:
                self.apply(event)

    def apply(self, event: InformerEvent) -> None:
        if isinstance(event, Added):
            assert event.object.key not in self.applied
            self.applied[event.object.key] = event.object
        elif isinstance(event, Updated):
            assert self.applied[event.new.key] is event.old
            assert (event.old.uid, event.old is event.new) == (event.new.uid, False)
            self.applied[event.new.key] = event.new
        else:
            assert self.applied.pop(event.object.key) is event.object

    @invariant()
    def a_key_is_pending_at_most_once(self) -> None:
        assert len(self.mailbox) == len(self.arrived)
        assert known(self.mailbox) == self.applied.keys() | self.arrived.keys()
        assert {key: each for key in known(self.mailbox) if (each := self.mailbox.get(key))} == self.applied

    def teardown(self) -> None:
        while self.mailbox:
            self.take()
        assert self.applied == self.offered


TestMailbox = MailboxMachine.TestCase
TestMailbox.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
