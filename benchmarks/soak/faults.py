"""What goes wrong meanwhile, at random: streams that end in every way, refusals, silence, nonsense."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeAlias, get_args

from dynkube.errors import NoMatch
from dynkube.testing import (
    Cut,
    Delay,
    Disconnect,
    Drip,
    Effect,
    Ending,
    Fault,
    Freeze,
    Hang,
    Refuse,
    Rewrite,
    rewrites,
)

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_ENDINGS: tuple[Ending, ...] = get_args(Ending)
# What arrives instead of an event of a watch. All of it can be recognised, and has to be.
_NONSENSE = {
    "an event repeated": rewrites.repeat,
    "an unknown event": rewrites.unknown_type,
    "an ERROR without Status": rewrites.error_without_status,
    "410 in a watch": rewrites.expired,
    "an event that is no JSON": rewrites.garble,
    "an event without metadata": rewrites.remove_metadata,
}

_REMEMBERED = 500

Strike: TypeAlias = Callable[[], str]


class Troubled(Protocol):
    """What can be put into trouble: an embedded API server, or a proxy before a real one."""

    def inject(
        self,
        effect: Effect,
        *,
        verb: str | None = None,
        resource: str | None = None,
        path_prefix: str = "",
        times: int | None = None,
        duration: float = ...,
    ) -> Fault:
        """Let it happen to requests."""

    def end_watches(self, resource: str | None = None, how: Ending = "clean") -> int:
        """End open watches."""


@dataclass(kw_only=True)
class Weather:
    """Strikes at random, and remembers what of it still lasts.

    Attributes:
        server: What is struck.
        resources: Names of the resources there are.
        random: Decides what, when, and for how long.
        others: What else can be done to this server, each with its weight.
        struck: How often each kind of fault was brought about.
    """

    server: Troubled
    resources: Sequence[str]
    random: Random
    others: Sequence[tuple[int, Strike]] = ()
    struck: Counter[str] = field(default_factory=Counter)
    _faults: list[Fault] = field(default_factory=list)
    _past: Counter[str] = field(default_factory=Counter)

    def strike(self) -> None:
        """One fault, of any kind."""
        kinds = [
            (20, self._end),
            (10, self._refuse),
            (5, self._refuse_for_a_while),
            (2, self._refuse_everything),
            (3, self._mislead),
            (6, self._break_off),
            (4, self._leave_waiting),
            (6, self._talk_nonsense),
            (2, self._spare_bookmarks),
            *self.others,
        ]
        self.struck[self.random.choices(kinds, [weight for weight, _ in kinds])[0][1]()] += 1
        if len(self._faults) > _REMEMBERED:
            self._faults.pop(0).remove()  # it is over long since

    def calm(self) -> None:
        """Nothing goes wrong from now on; what has been silenced already stays silent."""
        for fault in self._faults:
            fault.remove()
        self._faults.clear()

    # ── kinds of faults; each returns its name ───────────────────────────────────────────────

    def _end(self) -> str:
        how = self.random.choice(_ENDINGS)
        everywhere = self.random.random() < 0.02
        for resource in (None,) if everywhere else {self._some() for _ in range(self.random.randrange(1, 12))}:
            self._cut(resource, how)
        return f"watches ended: {how}"

    def _refuse(self) -> str:
        status = self.random.choice((410, 429, 500, 503, 504))
        retry_after = self.random.choice((None, 1, 3)) if status in (429, 503) else None
        self._some_times(Refuse(status, retry_after=retry_after))
        return f"{status}, some times"

    def _refuse_for_a_while(self) -> str:
        status = self.random.choice((401, 403, 500, 503))
        resource = self._some()
        self._inject(Refuse(status), resource=resource, duration=self.random.uniform(0.0, 60.0))
        self._cut(resource)
        return f"{status}, for a while"

    def _refuse_everything(self) -> str:
        status = self.random.choice((429, 500, 503))
        self._inject(Refuse(status), duration=self.random.uniform(0.0, 10.0))
        self._cut(None)
        return f"{status} to everything"

    def _mislead(self) -> str:
        """Discovery fails, or is stale; answers come from a proxy's page of errors."""
        what = self.random.randrange(3)
        if what == 0:
            self._inject(Refuse(503), verb="", path_prefix="/apis", duration=self.random.uniform(0.0, 60.0))
            return "no discovery"
        if what == 1:
            self._inject(Freeze(), verb="", path_prefix="/apis", duration=self.random.uniform(0.0, 60.0))
            return "stale discovery"
        self._some_times(Refuse(200, body="<html>a proxy's page</html>"))
        return "HTML instead of JSON"

    def _break_off(self) -> str:
        how = self.random.choice(_ENDINGS)
        self._some_times(Cut(how, after_lines=self.random.randrange(4)), verb="watch")
        self._some_times(Cut(how, after_bytes=self.random.randrange(2000)), verb="list")
        return f"answers broken off: {how}"

    def _leave_waiting(self) -> str:
        effects: tuple[Effect, ...] = (
            Delay(self.random.uniform(0.0, 10.0)),
            Hang(),
            Disconnect("clean"),
            Disconnect("reset"),
        )
        effect = self.random.choice(effects)
        self._some_times(effect)
        self._some_times(Drip(self.random.choice((500, 5000))), verb="list")
        return f"answers: {type(effect).__name__}"

    def _talk_nonsense(self) -> str:
        name, function = self.random.choice(list(_NONSENSE.items()))
        self._some_times(Rewrite(function, skip=self.random.randrange(5), times=1), verb="watch")
        return name

    def _spare_bookmarks(self) -> str:
        function = self.random.choice((rewrites.drop_bookmarks, rewrites.drop_initial_events_end))
        self._some_times(Rewrite(function), verb="watch")
        return function.__name__

    # ── how they are brought about ───────────────────────────────────────────────────────────

    def _some(self) -> str:
        return DEFINITIONS if self.random.random() < 0.05 else self.random.choice(self.resources)

    def _some_times(self, effect: Effect, verb: str | None = None) -> None:
        """Let it happen to the next requests for one resource, of which there are some at once."""
        resource = self._some()
        verb = verb or self.random.choice(("list", "watch"))
        self._inject(effect, verb=verb, resource=resource, times=self.random.randrange(1, 4))
        if verb == "list":  # who has lost its history has to list
            self._inject(Refuse(410), verb="watch", resource=resource, times=1)
        self._cut(resource)

    def _inject(
        self,
        effect: Effect,
        *,
        verb: str | None = None,
        resource: str | None = None,
        path_prefix: str = "",
        times: int | None = None,
        duration: float = 120.0,
    ) -> None:
        fault = self.server.inject(
            effect, verb=verb, resource=resource, path_prefix=path_prefix, times=times, duration=duration
        )
        self._faults.append(fault)

    def _cut(self, resource: str | None, how: Ending = "cut") -> None:
        with suppress(NoMatch):  # its definition is not there now
            self.server.end_watches(resource, how)
