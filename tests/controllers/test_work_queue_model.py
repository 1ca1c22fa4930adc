"""Random calls of a work queue, compared with a simple model that searches lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from dynkube.controllers import FastSlow, WorkQueue

RETRY = 0.25
Step: TypeAlias = tuple[str, Any, Any, Any]

keys = st.sampled_from("abc")
delays = st.sampled_from([0.0, 0.0, 1.0, 5.0])
adds = st.tuples(st.just("add"), keys, st.sampled_from([-100, 0, 5]), st.sampled_from([0.0, 0.0, 1.0, 30.0]))
takes = st.tuples(st.just("take"), st.none(), st.none(), st.none())
steps = st.lists(
    st.one_of(
        adds,
        adds,
        adds,
        takes,
        takes,
        st.tuples(st.just("done"), st.integers(0, 2), st.none(), st.none()),
        st.tuples(st.just("retry"), keys, st.sampled_from([-100, 0, 5]), st.none()),
        st.tuples(st.just("discard"), keys, st.none(), st.none()),
        st.tuples(st.just("sleep"), st.sampled_from([0.5, 2.0, 61.0, 61.0]), st.none(), st.none()),
        st.tuples(st.just("close"), st.none(), st.none(), st.none()),
    ),
    min_size=3,
    max_size=30,
)


@dataclass
class Model:
    """The expected state of a queue. Entries are ``[key, priority, at]``."""

    debounce: float = 0.0
    now: float = 0.0
    ready: list[list[Any]] = field(default_factory=list)
    delayed: list[list[Any]] = field(default_factory=list)
    again: list[list[Any]] = field(default_factory=list)
    processing: list[str] = field(default_factory=list)
    closed: bool = False

    def pass_time(self, now: float) -> None:
        self.now = now
        due = sorted((entry for entry in self.delayed if entry[2] <= now), key=lambda entry: entry[2])
        self.ready += due
        self.delayed = [entry for entry in self.delayed if entry not in due]

    def add(self, key: str, priority: int, after: float) -> None:
        self._add(key, priority, max(after, self.debounce))

    def retry(self, key: str, priority: int) -> None:
        self._add(key, priority, RETRY)

    def _add(self, key: str, priority: int, after: float) -> None:
        if self.closed:
            return
        at = self.now + after
        if key in self.processing:
            self._merge(self.again, key, priority, at)
            return
        for entry in self.ready:
            if entry[0] == key:
                entry[1] = max(entry[1], priority)
                return
        self._merge(self.delayed, key, priority, at)
        self.pass_time(self.now)

    def _merge(self, entries: list[list[Any]], key: str, priority: int, at: float) -> None:
        for entry in [entry for entry in entries if entry[0] == key]:
            entries.remove(entry)
            priority, at = max(priority, entry[1]), min(at, entry[2])
        entries.append([key, priority, at])

    def candidates(self) -> set[str]:
        """The keys that may be taken next: after a change of priority, the order of equal keys is not defined."""
        if not self.ready:
            return set()
        if self.now - self.ready[0][2] >= 60:
            return {entry[0] for entry in self.ready if entry[2] == self.ready[0][2]}
        highest = max(entry[1] for entry in self.ready)
        return {entry[0] for entry in self.ready if entry[1] == highest}

    def take(self, key: str) -> None:
        self.ready = [entry for entry in self.ready if entry[0] != key]
        self.processing.append(key)

    def done(self, key: str) -> None:
        self.processing.remove(key)
        for entry in [entry for entry in self.again if entry[0] == key]:
            self.again.remove(entry)
            if entry[2] <= self.now:
                self.ready.append([key, entry[1], self.now])
            elif not self.closed:
                self.delayed.append(entry)

    def discard(self, key: str) -> None:
        for entries in (self.ready, self.delayed, self.again):
            entries[:] = [entry for entry in entries if entry[0] != key]

    def close(self) -> None:
        self.closed, self.delayed = True, []


async def _play(script: list[Step], debounce: float) -> str:
    """Run calls; return the first difference."""
    queue: WorkQueue[str] = WorkQueue(rate_limiter=FastSlow(RETRY, RETRY, 0), debounce=debounce)
    model = Model(debounce)
    began = trio.current_time()
    for name, first, priority, after in script:
        if name == "sleep":
            await trio.sleep(first)
        model.pass_time(trio.current_time() - began)
        if name == "add":
            queue.add(first, priority=priority, after=after)
            model.add(first, priority, after)
        elif name == "retry":
            queue.add_rate_limited(first, priority=priority)
            model.retry(first, priority)
        elif name == "take" and len(queue):
            key, allowed = await queue.get(), model.candidates()
            if key not in allowed:
                return f"took {key}, not one of {allowed}"
            model.take(key)
        elif name == "done" and model.processing:
            key = model.processing[first % len(model.processing)]
            queue.done(key)
            model.done(key)
        elif name == "discard":
            queue.discard(first)
            model.discard(first)
        elif name == "close":
            queue.close()
            model.close()
        numbers = queue.statistics()
        counted = (len(queue), numbers.delayed, numbers.processing)
        expected = (len(model.ready), len(model.delayed), len(model.processing))
        if counted != expected:
            return f"counted {counted}, expected {expected}"
    return ""


def play(script: list[Step], debounce: float = 0.0) -> str:
    try:
        return trio.run(_play, script, debounce, clock=trio.testing.MockClock(autojump_threshold=0))
    except Exception as exc:  # a bug may raise anything
        return repr(exc)


@settings(deadline=None, max_examples=300)
@given(steps, delays)
def test_a_queue_behaves_like_the_model(script: list[Step], debounce: float) -> None:
    assert play(script, debounce) == ""


def test_a_queue_behaves_like_the_model_in_long_scripts() -> None:
    assert [wrong for seed in range(300) if (wrong := play(_random_script(Random(seed)), seed % 3))] == []


def _forgets_what_is_added_while_processed(queue: Any) -> None:
    queue._again = {}


def _lets_low_priorities_starve(queue: Any) -> None:
    queue._max_overtaking = math.inf


def _never_releases(queue: Any) -> None:
    queue._release = lambda now: None


def _keeps_the_first_priority(queue: Any) -> None:
    queue._raise = lambda entry, priority: None


def _keeps_the_first_time(queue: Any) -> None:
    add = queue.add

    def added(key: str, *, priority: int = 0, after: float = 0.0) -> None:
        later = key in queue._delayed
        add(key, priority=priority, after=1000.0 if later else after)

    queue.add = added


def _prolongs_the_debounce(queue: Any) -> None:
    add = queue.add

    def added(key: str, *, priority: int = 0, after: float = 0.0) -> None:
        if (entry := queue._delayed.get(key)) is not None and after == 0:
            entry.at = math.inf
        add(key, priority=priority, after=after)

    queue.add = added


def _does_not_debounce(queue: Any) -> None:
    queue._debounce = 0.0


def _debounces_retries(queue: Any) -> None:
    queue.add_rate_limited = lambda key, *, priority: queue.add(key, priority=priority, after=RETRY)


def _keeps_delayed_keys_when_it_is_closed(queue: Any) -> None:
    def close() -> None:
        queue._closed = True

    queue.close = close


BUGS: list[Callable[[Any], None]] = [
    _forgets_what_is_added_while_processed,
    _lets_low_priorities_starve,
    _never_releases,
    _keeps_the_first_priority,
    _keeps_the_first_time,
    _prolongs_the_debounce,
    _does_not_debounce,
    _debounces_retries,
    _keeps_delayed_keys_when_it_is_closed,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__.strip("_"))
def test_the_model_detects_a_wrong_queue(bug: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(WorkQueue[str]):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            bug(self)

        def done(self, key: str) -> None:
            if bug is _forgets_what_is_added_while_processed:
                bug(self)
            super().done(key)

    monkeypatch.setattr(f"{__name__}.WorkQueue", Wrong)

    assert any(play(_random_script(Random(seed)), seed % 3) for seed in range(1_000))


def _random_script(random: Random) -> list[Step]:
    script: list[Step] = []
    for _ in range(60):
        name = random.choice(["add"] * 4 + ["take"] * 2 + ["done", "sleep", "retry"])
        match name:
            case "add":
                script.append(
                    (name, random.choice("abc"), random.choice([-100, 0, 5]), random.choice([0.0, 1.0, 30.0]))
                )
            case "retry":
                script.append((name, random.choice("abc"), random.choice([-100, 0, 5]), None))
            case "done":
                script.append((name, random.randrange(3), None, None))
            case "sleep":
                script.append((name, random.choice([0.5, 2.0, 61.0]), None, None))
            case _:
                script.append((name, None, None, None))
    return [*script[:40], ("close", None, None, None), *script[40:]]
