"""The checks while writes and faults are paused: informers, indexes and subscribers have the server's content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import trio

from benchmarks.soak.observers import Fold, Observer
from benchmarks.soak.resources import NAMESPACES, TEAMS, JSONObject
from dynkube import ABSENT, LIVE, Unstructured
from dynkube.meta._object import Key

Known: TypeAlias = tuple[str, str]  # UID and resourceVersion
_SHOWN = 5
_OWN = {"", *NAMESPACES}  # a real API server writes to kube-system all the time


@dataclass(frozen=True, slots=True)
class Divergence:
    """A difference between an observer and the server."""

    observer: str
    what: str

    def __str__(self) -> str:
        return f"{self.observer}: {self.what}"


async def catch_up(observer: Observer, mark: Unstructured | None, seconds: float) -> Divergence | None:
    """Wait until an observer has ``mark``, by events alone; for ``None``, until it is absent."""
    with trio.move_on_after(seconds) as deadline:
        if mark is None:
            await observer.informer.wait_state(ABSENT)
        else:
            await observer.informer.wait_state(LIVE)
            await observer.informer.wait_for(mark)
        for fold in observer.folds:
            await fold.wait_until(partial(_has_caught_up, fold, mark))
    if not deadline.cancelled_caught:
        return None
    goal = "become absent" if mark is None else f"receive {mark!r}"
    return Divergence(str(observer), f"did not {goal} within {seconds:g} s; {describe(observer)}")


def _has_caught_up(fold: Fold, mark: Unstructured | None) -> bool:
    """Return whether a subscriber got the mark and has processed all pending events."""
    shown = fold.shown.get(mark.key) if mark is not None else None
    if mark is None or shown is None:
        return mark is None and not fold.shown and fold.idle
    return (shown.uid, shown.resource_version) == (mark.uid, mark.resource_version) and fold.idle


def compare(observer: Observer, listed: Sequence[JSONObject] | None) -> list[Divergence]:
    """Compare an observer with the server's list; ``None`` if the resource is not served."""
    items = [item for item in listed or () if _key(item)[0] in _OWN and observer.choice.shows(item)]
    server = {_key(item): _known(item) for item in items}
    found = []
    has = {obj.key: (obj.uid, obj.resource_version) for obj in observer.informer.list() if obj.namespace in _OWN}
    found += _differences("list()", server, has)
    existing = {_key(item) for item in listed or ()}
    for fold in observer.folds:
        fold.forget_all_but(existing)
        folded = {key: (obj.uid, obj.resource_version) for key, obj in fold.shown.items() if key[0] in _OWN}
        found += _differences(f"the events of {fold.name}", server, folded)
    for team in TEAMS:
        indexed = {
            obj.key: (obj.uid, obj.resource_version)
            for obj in observer.informer.by_index("team", team)
            if obj.namespace in _OWN
        }
        expected = {_key(item): _known(item) for item in items if _team(item) == team}
        found += _differences(f"index 'team' at {team!r}", expected, indexed)
    return [Divergence(str(observer), f"{what}; {describe(observer)}") for what in found]


def describe(observer: Observer) -> str:
    """Return the state and statistics of an informer, for error messages."""
    numbers = observer.informer.statistics()
    backlogs = {handler.name: handler.backlog for handler in numbers.handlers if handler.backlog}
    return (
        f"state {numbers.state}, filter {observer.choice.filter!r}, at version {numbers.resource_version or '-'}, "
        f"{numbers.lists} lists, {numbers.watches} watches, {numbers.failures} failures, "
        f"backlog {backlogs or 'none'}, last error {numbers.last_error or 'none'}"
    )


def _differences(where: str, server: Mapping[Key, Known], has: Mapping[Key, Known]) -> list[str]:
    lacking = [key for key in server if key not in has]
    too_many = [key for key in has if key not in server]
    other = [
        f"{key} as {has[key]} instead of {server[key]}" for key in server if key in has and has[key] != server[key]
    ]
    return [
        f"{where} {problem} {len(keys)}: {keys[:_SHOWN]}"
        for problem, keys in (("lacks", lacking), ("has too many", too_many), ("has old", other))
        if keys
    ]


def _key(item: JSONObject) -> Key:
    return (item["metadata"].get("namespace", ""), item["metadata"]["name"])


def _known(item: JSONObject) -> Known:
    return (item["metadata"]["uid"], item["metadata"]["resourceVersion"])


def _team(item: JSONObject) -> str:
    team: str = item["metadata"].get("labels", {}).get("team", "")
    return team
