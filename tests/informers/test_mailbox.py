"""A mailbox turns the latest visible state of each object into a legal sequence of events."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dynkube.informers._views.mailbox import SYNCED, Mailbox
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key

KEYS = st.sampled_from([("shop", "a"), ("shop", "b"), ("", "node")])


def obj(key: Key, version: int, uid: str = "u1") -> Unstructured:
    namespace, name = key
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": str(version)}
    return Unstructured({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})


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

    assert (len(mailbox), bool(mailbox), mailbox.known_keys()) == (0, False, set())


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
    assert mailbox.known_keys() == set(keys[1:])
    assert len(list(mailbox.release())) > 100
    assert mailbox.known_keys() == set()


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


class MailboxMachine(RuleBasedStateMachine):
    """For any offers taken at any time, applying the events gives the state offered last."""

    def __init__(self) -> None:
        super().__init__()
        self.mailbox = Mailbox()
        self.offered: dict[Key, Unstructured] = {}
        self.applied: dict[Key, Unstructured] = {}
        self.version = 0

    @rule(key=KEYS, uid=st.sampled_from(["u1", "u2"]))
    def offer_new(self, key: Key, uid: str) -> None:
        self.version += 1
        self.offered[key] = obj(key, self.version, uid)
        self.mailbox.offer(key, self.offered[key])

    @rule(key=KEYS)
    def offer_deletion(self, key: Key) -> None:
        self.offered.pop(key, None)
        self.mailbox.offer(key, None)

    @rule(key=KEYS)
    def offer_again(self, key: Key) -> None:
        self.mailbox.offer(key, self.offered.get(key))

    @rule()
    def take(self) -> None:
        events = self.mailbox.take()
        for event in events if isinstance(events, tuple) else ():
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
    def at_most_one_entry_for_a_key(self) -> None:
        assert len(self.mailbox) <= 3

    def teardown(self) -> None:
        while self.mailbox:
            self.take()
        assert self.applied == self.offered


TestMailbox = MailboxMachine.TestCase
TestMailbox.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
