"""The invariants: after every step, and once the world is quiet."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

import trio

from dynkube import ABSENT, GVR, LIVE, InformerSettings, Unstructured
from tests.informers.kit import quiet
from tests.informers.model.expected_state import GROUP, METRICS, StoredObject
from tests.informers.model.listener import Listener
from tests.informers.model.watched import Selection, Watched
from tests.informers.model.world import World

CRDS: Final = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
APISERVICES: Final = GVR("apiregistration.k8s.io", "v1", "apiservices")
NOT_OF_CRDS: Final = "kube-aggregator.kubernetes.io/automanaged!=true"
QUIET: Final = 700.0
"""Seconds; longer than the idle timeout, any backoff and any watch."""
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_REQUESTS_WHILE_QUIET: Final = 12
"""For each followed collection: its watches end once or twice, and about six requests may repair earlier failures."""


async def check_always(world: World) -> None:
    """Check the invariants that hold at every moment."""
    for watched in world.watched:
        wrong = list(watched.contradictions())
        assert not wrong, wrong
        has_synced = watched.informer.has_synced
        assert has_synced or not watched.synced, "has_synced became false again"  # P6
        if has_synced and not watched.synced and not watched.closed:
            _check_just_synced(world, watched)
        watched.synced = has_synced
        _check_objects_known(world, watched)
        if has_synced:
            late = [each for each in watched.early if not (each.removed or each.handle.has_synced)]
            assert not late, f"has_synced before {late}"
        for listener in watched.listeners:
            _check_listener(world, listener)
        if world.oracle is not None:
            wrong = list(world.oracle.guesses(watched))
            assert not wrong, wrong
    assert not world.wrong, world.wrong
    world.ledger.advance()
    assert world.oracle is None or not world.oracle.wrong, world.oracle.wrong


def _check_just_synced(world: World, watched: Watched) -> None:
    """P6: what an informer of a set has synced with has all objects of the namespaces that the user may read."""
    if world.oracle is None or world.rights is None or world.rights.lagging:
        return
    begin = min(other.entered for other in world.watched if other.key == watched.key)
    if world.rights.ledger.unanimous_since(begin):
        return
    wrong = list(world.oracle.synced(watched, begin))
    assert not wrong, wrong


def _check_objects_known(world: World, watched: Watched) -> None:
    """A resource that is absent as its CRD was deleted has no object that was shown before."""
    if listed := watched.informer.list():
        watched.last_shown = world.ledger.moment, listed
    elif watched.informer.state.phase is ABSENT and _objects_known(watched):
        moment, known = watched.last_shown
        remaining = [obj for obj in known if None not in world.ledger.states_since(watched.gvr, obj, moment)]
        assert not remaining, f"{watched}: {remaining} existed all the time, and count as deleted with their CRD"


def _objects_known(watched: Watched) -> bool:
    """Return whether an absent resource is known to have no objects, on which waits for writes depend."""
    shared = watched.informer._shared
    return shared is not None and not shared.served and shared.objects_known


def _check_listener(world: World, listener: Listener) -> None:
    assert listener.wrong == [], f"{listener}: {listener.wrong}"
    if listener.is_handler and not listener.removed:
        known = len(listener.ever_seen)
        backlog = listener.handle.backlog
        assert backlog <= known, f"{backlog} wait for {listener}, and there never were more than {known} objects"  # P9


def check_bounds(world: World) -> None:
    """P9: the events that wait for a handler are about objects that it was shown or that exist now."""
    for watched in world.open:
        listed = {obj.key for obj in watched.informer.list()}
        for listener in watched.listeners:
            if listener.is_handler and not listener.removed:
                known = listed | listener.folded.keys() | ({listener.in_hand} if listener.in_hand else set())
                bound, backlog = len(known), listener.handle.backlog
                assert backlog <= bound, f"{backlog} events wait for {listener}, and {bound} objects can have any"


async def check_quiet(world: World) -> None:
    """Check the invariants that hold after a long quiet time without faults."""
    await trio.sleep(QUIET)  # recovery may take this long
    world.server.forget_requests()
    await trio.sleep(QUIET)
    await quiet()
    await check_always(world)
    check_shown(world)
    for watched in world.open:
        phase = LIVE if watched.exists(world.expected_state) else ABSENT
        assert watched.informer.state.phase is phase, f"{watched.gvr} is {watched.informer.state}"
        assert watched.informer.has_synced, f"{watched.gvr} never synced"
    _check_watches(world)
    requests = Counter(request.path for request in world.server.audit)
    watches = sum(len(selection.params) for _, selection, _ in _collections(world))
    sets = sum(selection.namespaces is not None for _, selection, _ in _collections(world))
    assert requests.pop(_REVIEWS, 0) <= sets * (QUIET / InformerSettings().access_interval + 1)
    assert requests.total() <= _REQUESTS_WHILE_QUIET * (watches + 3), f"requests while nothing happened: {requests}"
    world.moves_at_rest = world.moves
    world.disturbed = False


def check_shown(world: World) -> None:
    """P2: reads and the events of every listener agree with the cluster."""
    for watched in world.watched:
        _check_shown(world, watched)
        _check_events(watched)


def _check_shown(world: World, watched: Watched) -> None:
    """P2, P7: reads show the objects that the machine has written."""
    expected = watched.expected(world.expected_state, world.filters)
    listed = {obj.key: obj for obj in watched.informer.list()}
    shown = {key: facts(watched, obj) for key, obj in listed.items()}
    assert shown == {key: known(watched, stored) for key, stored in expected.items()}, f"{watched.gvr} shows otherwise"
    versions = {obj.api_version.rpartition("/")[2] for obj in listed.values()}
    assert versions <= {world.expected_state.version_of(watched.gvr)}, f"{watched.gvr} shows objects in {versions}"


def facts(watched: Watched, obj: Unstructured) -> tuple[object, ...]:
    """Return what an informer shows of an object, to be compared with :func:`known`."""
    content = None if watched.transform == "slim" else obj.get("spec", obj.get("data", {})).get("content")
    return obj.uid, obj.resource_version, dict(obj.labels), content


def known(watched: Watched, stored: StoredObject) -> tuple[object, ...]:
    """Return what is known of an object on the server."""
    content = None if watched.transform == "slim" or stored.content is None else str(stored.content)
    return stored.uid, stored.version, dict(stored.labels), content


def _check_events(watched: Watched) -> None:
    """P2: the events of every listener add up to the objects that reads show."""
    listed = {obj.key: obj for obj in watched.informer.list()}
    for listener in watched.listeners:
        if listener.removed:
            continue
        assert listener.folded == listed, f"{listener} got the events of {listener.folded}, and reads show {listed}"
        if listener.is_handler:
            assert listener.handle.has_synced
            assert listener.handle.statistics().errors == listener.raised  # P10


def _collections(world: World) -> set[tuple[GVR, Selection, str]]:
    """Return the collections that have to be followed: each key once, and namespaces if a filter uses them."""
    keys = {watched.key for watched in world.open if watched.exists(world.expected_state)}
    if any("chosen" in watched.shown for watched in world.open):
        keys.add((GVR("", "v1", "namespaces"), Selection(), "usual"))
    return keys


def _has_no_crd(watched: Watched, world: World) -> bool:
    gvr, expected_state = watched.gvr, world.expected_state
    if gvr.group == METRICS:
        return not expected_state.is_served(gvr)
    return gvr.group == GROUP and gvr.resource not in expected_state.crds


def _check_watches(world: World) -> None:
    """P12, P7: the server has exactly one watch for each key, and none for resources that are absent."""
    expected = Counter(
        (replace(gvr, version=world.expected_state.version_of(gvr)), params)
        for gvr, selection, _ in _collections(world)
        for params in selection.params
    )
    watches = Counter(
        (w.resource, (w.namespace, w.params.get("labelSelector", ""), w.params.get("fieldSelector", "")))
        for w in world.server.open_watches
    )
    # The watch on CRDs starts with the first custom resource that is followed, and stays until none is.
    crds = watches.pop((CRDS, ("", "", "")), 0)
    assert crds == 1 or (crds == 0 and all(w.gvr.group not in (GROUP, METRICS) for w in world.open))
    # The watch on APIServices is open while any followed resource has no CRD.
    missing = any(_has_no_crd(watched, world) for watched in world.open)
    assert watches.pop((APISERVICES, ("", NOT_OF_CRDS, "")), 0) == missing
    assert watches == expected, f"open watches are {watches}, expected {expected}"
