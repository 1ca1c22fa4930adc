"""Whatever happens to a set of namespaces and to the user's rights, the content is what the user may list.

Random scripts change both, and end watches; the expectation is kept by the script and not read from the server.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final, TypeAlias

import pytest
import trio
import trio.testing

import dynkube
from dynkube import Informer, NamespaceSet, Unstructured
from dynkube.informers._parts.access_reviews import AccessReviews
from dynkube.informers._parts.namespace_parts import NamespaceParts
from dynkube.informers._parts.part import Part
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, namespace, quiet, widget

PLACES: Final = ("n0", "n1", "n2")
ROOM: Final = 2  # of the three may be watched at the same time
Step: TypeAlias = tuple[str, str]
BEGIN: Final[list[Step]] = [("selection", "n0"), ("selection", "n1"), ("right", "n0"), ("right", "n2")]

CHANGES: Final = ("right", "right", "selection", "selection", "put", "delete", "wait", "wait", "cut")
SCRIPTS: Final = range(120)


def script_of(seed: int) -> list[Step]:
    """Return the steps of a random script."""
    random = Random(seed)
    return [(random.choice(CHANGES), random.choice(PLACES)) for _ in range(12)]


@dataclass(slots=True)
class Script:
    """Plays steps on a server, and remembers what should be true."""

    server: APIServer
    chosen: NamespaceSet = field(default_factory=NamespaceSet)
    rights: set[str] = field(default_factory=set)
    objects: set[tuple[str, str]] = field(default_factory=set)
    folded: dict[tuple[str, str], Unstructured] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def listen(self, informer: Informer) -> None:
        """Keep the objects of which a handler got more adds than deletes."""
        informer.add_handler(on_add=self._added, on_delete=self._deleted)

    def _added(self, obj: Unstructured) -> None:
        self.folded[obj.key] = obj

    def _deleted(self, obj: Unstructured) -> None:
        del self.folded[obj.key]

    async def play(self, what: str, place: str) -> None:
        """Play one step."""
        if what == "right" and place not in self.rights:
            self.rights.add(place)
            self.server.grant("alice", verbs=["list", "watch"], resource="widgets.example.com", namespace=place)
        elif what == "right":
            self.rights.discard(place)
            self.server.revoke("alice", namespace=place)
        elif what == "selection":
            self.chosen.replace(self.chosen.names ^ {place})
        elif what == "put":
            name = f"w{next(self._numbers)}"
            self.server.create(widget(name, namespace=place))
            self.objects.add((place, name))
        elif what == "delete":
            for key in [key for key in self.objects if key[0] == place]:
                self.server.delete("widgets", key[1], place)
                self.objects.discard(key)
        elif what == "cut":
            self.server.end_watches("widgets", "cut")
        else:
            await trio.sleep(31)

    def check(self, informer: Informer) -> None:
        """Check that content, events and states are those of the namespaces that may be listed."""
        allowed = self.rights & self.chosen.names
        shown = {obj.key for obj in informer.list()}
        assert shown == self.folded.keys(), "the events disagree with the content"
        watched = {watch.namespace for watch in self.server.open_watches if watch.resource.resource == "widgets"}
        assert informer.namespaces.keys() == self.chosen.names
        assert watched <= allowed, f"{watched - allowed} watched, and not allowed"
        assert len(watched) == min(len(allowed), ROOM), f"only {watched} watched of {allowed}"
        assert shown == {key for key in self.objects if key[0] in watched}, f"shows {shown}"
        assert informer.has_synced or len(allowed) > ROOM


async def play(steps: list[Step]) -> None:
    """Play steps, wait until rights must have been reviewed, and check."""
    settings = dynkube.InformerSettings(random=Random(7), max_namespaces=ROOM)
    async with APIServer(rbac=True) as server:
        server.create(crd())
        for place in PLACES:
            server.create(namespace(place))
        script = Script(server)
        for what, place in [*(("put", place) for place in PLACES), *BEGIN]:
            await script.play(what, place)
        client = dynkube.connect(transport=server.transport(user="alice"), settings=settings)
        async with client, client.informer(WIDGETS, namespaces=script.chosen) as informer:
            script.listen(informer)
            for step in steps:
                await script.play(*step)
                await quiet()
                strays = {obj.namespace for obj in informer.list()} - script.chosen.names
                assert not strays, f"shows objects of {strays}, which are not selected"
            await trio.sleep(130)  # two rounds of reviews, the confirmation, and the longest pause of a reflector
            await quiet()
            script.check(informer)


def run(steps: list[Step]) -> None:
    trio.run(partial(play, steps), clock=trio.testing.MockClock(autojump_threshold=0))


def play_all(seeds: range) -> None:
    for seed in seeds:
        run(script_of(seed))


@pytest.mark.parametrize("seeds", [SCRIPTS[start::4] for start in range(4)], ids=str)
def test_the_content_is_always_what_the_user_may_list(seeds: range) -> None:
    play_all(seeds)


# ── bugs that the scripts must find ──────────────────────────────────────────────────────────


def objects_of_a_namespace_that_left_stay(patch: pytest.MonkeyPatch) -> None:
    async def empty(self: Part) -> None:
        parts = getattr(self._owner, "namespaces")  # noqa: B009  # not part of the protocol
        if self.namespace in parts._names:
            await emptied(self)

    emptied = Part.empty
    patch.setattr(Part, "empty", empty)


def a_right_that_is_lost_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    async def allowed(self: AccessReviews, place: str, verb: str) -> bool | None:
        return await review(self, place, verb) or None

    review = AccessReviews._allowed
    patch.setattr(AccessReviews, "_allowed", allowed)


def a_right_that_is_granted_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    def reviewed(self: NamespaceParts, name: str, asked: float, *, allowed: bool) -> None:
        if not allowed:
            denied(self, name, asked, allowed=False)

    denied = NamespaceParts.reviewed
    patch.setattr(NamespaceParts, "reviewed", reviewed)


def a_place_that_becomes_free_is_not_used(patch: pytest.MonkeyPatch) -> None:
    def admit(self: NamespaceParts) -> None:
        self._most = ROOM - len(self._forbidden)
        admitted(self)

    admitted = NamespaceParts._admit
    patch.setattr(NamespaceParts, "_admit", admit)


def late_messages_of_a_namespace_that_left(patch: pytest.MonkeyPatch) -> None:
    def stop(self: Part) -> None:
        self.known = False
        self._scope = None

    patch.setattr(Part, "stop", stop)


def the_right_in_one_namespace_taken_for_all(patch: pytest.MonkeyPatch) -> None:
    async def allowed(self: AccessReviews, place: str, verb: str) -> bool | None:
        return await review(self, place or PLACES[0], verb)

    review = AccessReviews._allowed
    patch.setattr(AccessReviews, "_allowed", allowed)


BUGS: Final[tuple[Callable[[pytest.MonkeyPatch], None], ...]] = (
    objects_of_a_namespace_that_left_stay,
    a_right_that_is_lost_is_not_noticed,
    a_right_that_is_granted_is_not_noticed,
    a_place_that_becomes_free_is_not_used,
    late_messages_of_a_namespace_that_left,
    the_right_in_one_namespace_taken_for_all,
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_scripts_find_each_bug(bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)

    with pytest.raises(AssertionError):
        play_all(SCRIPTS)
