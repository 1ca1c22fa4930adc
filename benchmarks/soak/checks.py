"""What has to be true whenever things are quiet: every informer, index and subscriber says what the server says."""

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
_OURS = {"", *NAMESPACES}  # a real API server writes to kube-system all the time


@dataclass(frozen=True, slots=True)
class Divergence:
    """Something that is not as it should be."""

    observer: str
    what: str

    def __str__(self) -> str:
        return f"{self.observer}: {self.what}"


async def catch_up(observer: Observer, mark: Unstructured | None, seconds: float) -> Divergence | None:
    """Wait until an observer knows of ``mark``, or that there is nothing to know (``None``), by events alone."""
    with trio.move_on_after(seconds) as deadline:
        if mark is None:
            await observer.informer.wait_state(ABSENT)
        else:
            await observer.informer.wait_state(LIVE)
            await observer.informer.wait_for(mark)
        for fold in observer.folds:
            await fold.wait_until(partial(_knows, fold, mark))
    if not deadline.cancelled_caught:
        return None
    waited = "that nothing is there" if mark is None else f"of {mark!r}"
    return Divergence(str(observer), f"did not learn {waited} within {seconds:g} s; {describe(observer)}")


def _knows(fold: Fold, mark: Unstructured | None) -> bool:
    """Whether a subscriber has been shown the mark, and all that came before or with it."""
    shown = fold.shown.get(mark.key) if mark is not None else None
    if mark is None or shown is None:
        return mark is None and not fold.shown and fold.idle
    return (shown.uid, shown.resource_version) == (mark.uid, mark.resource_version) and fold.idle


def compare(observer: Observer, listed: Sequence[JSONObject] | None) -> list[Divergence]:
    """Compare what an observer says with what the server lists, ``None`` where it serves nothing of that."""
    items = [item for item in listed or () if _key(item)[0] in _OURS and observer.choice.shows(item)]
    truth = {_key(item): _known(item) for item in items}
    found = []
    has = {obj.key: (obj.uid, obj.resource_version) for obj in observer.informer.list() if obj.namespace in _OURS}
    found += _differences("list()", truth, has)
    there = {_key(item) for item in listed or ()}
    for fold in observer.folds:
        fold.forget_all_but(there)
        folded = {key: (obj.uid, obj.resource_version) for key, obj in fold.shown.items() if key[0] in _OURS}
        found += _differences(f"what {fold.name} was told", truth, folded)
    for team in TEAMS:
        filed = {
            obj.key: (obj.uid, obj.resource_version)
            for obj in observer.informer.by_index("team", team)
            if obj.namespace in _OURS
        }
        expected = {_key(item): _known(item) for item in items if _team(item) == team}
        found += _differences(f"index 'team' at {team!r}", expected, filed)
    return [Divergence(str(observer), f"{what}; {describe(observer)}") for what in found]


def describe(observer: Observer) -> str:
    """The state of an informer, for whoever has to find out what went wrong."""
    numbers = observer.informer.statistics()
    backlogs = {handler.name: handler.backlog for handler in numbers.handlers if handler.backlog}
    return (
        f"state {numbers.state}, filter {observer.choice.filter!r}, at version {numbers.resource_version or '-'}, "
        f"{numbers.lists} lists, {numbers.watches} watches, {numbers.failures} failures, "
        f"backlog {backlogs or 'none'}, last error {numbers.last_error or 'none'}"
    )


def _differences(where: str, truth: Mapping[Key, Known], has: Mapping[Key, Known]) -> list[str]:
    lacking = [key for key in truth if key not in has]
    too_many = [key for key in has if key not in truth]
    other = [f"{key} as {has[key]} instead of {truth[key]}" for key in truth if key in has and has[key] != truth[key]]
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
