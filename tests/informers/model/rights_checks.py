"""What sets of namespaces have to show once rights have not changed for a while."""

from __future__ import annotations

from typing import Final

import trio

from dynkube import ABSENT
from tests.informers.kit import quiet
from tests.informers.model.checks import QUIET, check_always, facts, known
from tests.informers.model.rights import HALF, HARMLESS, Rights
from tests.informers.model.watched import Watched
from tests.informers.model.world import World

NOTICED: Final = 400.0
"""Seconds within which a change of rights has to be noticed, at the latest when a watch ends."""
NOTICED_BY_REVIEWS: Final = 200.0
"""The same if half of the reviews fail: some rounds, and confirmation, and before the first watches end."""


async def check_rights(world: World) -> None:
    """Check sets of namespaces after a long quiet time without faults."""
    assert world.rights is not None
    world.rights.recover()
    world.rights.lagging = False
    await trio.sleep(QUIET)
    await quiet()
    await check_always(world)
    for watched in world.open:
        _check_set(world, world.rights, watched)
        if not watched.exists(world.expected_state):
            assert watched.informer.state.phase is ABSENT, f"{watched} is {watched.informer.state}"
    for joined in world.joins:
        joined.check()
    world.moves_at_rest = world.moves
    world.disturbed = False


async def check_noticed(world: World, seconds: float = NOTICED) -> None:
    """Wait, and check that changed rights were noticed, if nothing but harmless faults is in force."""
    rights = world.rights
    assert rights is not None
    await trio.sleep(seconds)
    await quiet()
    if rights.denial not in HARMLESS:
        return
    for watched in world.open:
        if rights.denial in ("", HALF):
            _check_set(world, rights, watched)
        else:  # rights that were lost or granted meanwhile cannot be noticed
            live, names = watched.live_namespaces, rights.ledger.present(watched)
            allowed = {name for name in names if not rights.ledger.loss_since(name, rights.denied_since)}
            served = watched.exists(world.expected_state)
            assert not served or len(live) >= min(len(allowed), world.options.most), f"{watched}: {live} of {allowed}"


def _check_set(world: World, rights: Rights, watched: Watched) -> None:
    """Check that a set shows the objects of the namespaces that may be read, as many as may be watched."""
    names = rights.ledger.present(watched)
    allowed, live = set(rights.allowed(names)), watched.live_namespaces
    objects = watched.expected(world.expected_state, world.filters)
    if watched.exists(world.expected_state):
        assert watched.informer.namespaces.keys() == names, f"{watched} has {watched.informer.namespaces.keys()}"
        assert live <= allowed, f"{watched}: {live - allowed} are watched, and not allowed"
        assert len(live) == min(len(allowed), world.options.most), f"{watched}: only {live} of {allowed}"
        assert watched.informer.has_synced or len(allowed) > world.options.most, f"{watched} never synced"
    shown = {obj.key: facts(watched, obj) for obj in watched.informer.list()}
    expected = {key: known(watched, stored) for key, stored in objects.items() if key[0] in live}
    assert shown == expected, f"{watched} shows {shown}, not {expected}"
    listed = {obj.key: obj for obj in watched.informer.list()}
    for listener in watched.listeners:
        slow = listener.kind in ("slow", "stuck")
        assert listener.removed or slow or listener.folded == listed, f"{listener} got {listener.folded}"
