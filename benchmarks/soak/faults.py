"""Random faults: watches that end in every way, error responses, silent connections, invalid data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeAlias, get_args

from dynkube.errors import NoMatch
from dynkube_testing import (
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

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_ENDINGS: tuple[Ending, ...] = get_args(Ending)
# Replacements of an event of a watch. Informers have to recognise all of them.
_INVALID = {
    "an event repeated": rewrites.repeat,
    "an unknown event": rewrites.unknown_type,
    "an ERROR without Status": rewrites.error_without_status,
    "410 in a watch": rewrites.expired,
    "an event that is not JSON": rewrites.garble,
    "an event without metadata": rewrites.remove_metadata,
}

_MAX_FAULTS = 500

InjectFault: TypeAlias = Callable[[], str]


class FaultTarget(Protocol):
    """Injects faults: an embedded API server, or a proxy of a real one."""

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
        """Inject a fault into requests."""

    def end_watches(self, resource: str | None = None, how: Ending = "clean") -> int:
        """End open watches."""


@dataclass(kw_only=True)
class FaultInjector:
    """Injects random faults, and can remove those that have not ended.

    Attributes:
        server: the server or proxy that injects the faults.
        resources: the names of all resources.
        random: selects the faults, and their durations.
        others: further faults of this server, each with its weight.
        injected: how often each kind of fault was injected.
    """

    server: FaultTarget
    resources: Sequence[str]
    random: Random
    others: Sequence[tuple[int, InjectFault]] = ()
    injected: Counter[str] = field(default_factory=Counter)
    _faults: list[Fault] = field(default_factory=list)
    _past: Counter[str] = field(default_factory=Counter)

    def inject(self) -> None:
        """Inject one fault of a random kind."""
        kinds = [
            (20, self._end_any_watches),
            (10, self._return_errors),
            (5, self._return_errors_for_a_while),
            (2, self._return_errors_to_all),
            (3, self._break_discovery),
            (6, self._cut_responses),
            (4, self._delay_responses),
            (6, self._send_invalid_events),
            (2, self._drop_bookmarks),
            *self.others,
        ]
        self.injected[self.random.choices(kinds, [weight for weight, _ in kinds])[0][1]()] += 1
        if len(self._faults) > _MAX_FAULTS:
            self._faults.pop(0).remove()  # it has ended long ago

    def remove_faults(self) -> None:
        """Remove all faults; watches that have been silenced stay silent."""
        for fault in self._faults:
            fault.remove()
        self._faults.clear()

    # ── kinds of faults: each method returns the name ────────────────────────────────────────

    def _end_any_watches(self) -> str:
        how = self.random.choice(_ENDINGS)
        everywhere = self.random.random() < 0.02
        for resource in (None,) if everywhere else {self._any_resource() for _ in range(self.random.randrange(1, 12))}:
            self._end_watches(resource, how)
        return f"watches ended: {how}"

    def _return_errors(self) -> str:
        status = self.random.choice((410, 429, 500, 503, 504))
        retry_after = self.random.choice((None, 1, 3)) if status in (429, 503) else None
        self._inject_few(Refuse(status, retry_after=retry_after))
        return f"{status}, some times"

    def _return_errors_for_a_while(self) -> str:
        status = self.random.choice((401, 403, 500, 503))
        resource = self._any_resource()
        self._inject(Refuse(status), resource=resource, duration=self.random.uniform(0.0, 60.0))
        self._end_watches(resource)
        return f"{status}, for a while"

    def _return_errors_to_all(self) -> str:
        status = self.random.choice((429, 500, 503))
        self._inject(Refuse(status), duration=self.random.uniform(0.0, 10.0))
        self._end_watches(None)
        return f"{status} to everything"

    def _break_discovery(self) -> str:
        """Make discovery fail or return stale data, or return an HTML page instead of JSON."""
        kind = self.random.randrange(3)
        if kind == 0:
            self._inject(Refuse(503), verb="", path_prefix="/apis", duration=self.random.uniform(0.0, 60.0))
            return "no discovery"
        if kind == 1:
            self._inject(Freeze(), verb="", path_prefix="/apis", duration=self.random.uniform(0.0, 60.0))
            return "stale discovery"
        self._inject_few(Refuse(200, body="<html>a proxy's page</html>"))
        return "HTML instead of JSON"

    def _cut_responses(self) -> str:
        how = self.random.choice(_ENDINGS)
        self._inject_few(Cut(how, after_lines=self.random.randrange(4)), verb="watch")
        self._inject_few(Cut(how, after_bytes=self.random.randrange(2000)), verb="list")
        return f"responses cut off: {how}"

    def _delay_responses(self) -> str:
        effects: tuple[Effect, ...] = (
            Delay(self.random.uniform(0.0, 10.0)),
            Hang(),
            Disconnect("clean"),
            Disconnect("reset"),
        )
        effect = self.random.choice(effects)
        self._inject_few(effect)
        self._inject_few(Drip(self.random.choice((500, 5000))), verb="list")
        return f"responses: {type(effect).__name__}"

    def _send_invalid_events(self) -> str:
        name, function = self.random.choice(list(_INVALID.items()))
        self._inject_few(Rewrite(function, skip=self.random.randrange(5), times=1), verb="watch")
        return name

    def _drop_bookmarks(self) -> str:
        function = self.random.choice((rewrites.drop_bookmarks, rewrites.drop_initial_events_end))
        self._inject_few(Rewrite(function), verb="watch")
        return function.__name__

    # ── injection ────────────────────────────────────────────────────────────────────────────

    def _any_resource(self) -> str:
        return CRDS if self.random.random() < 0.05 else self.random.choice(self.resources)

    def _inject_few(self, effect: Effect, verb: str | None = None) -> None:
        """Inject a fault into the next few requests for one resource, and make informers send some at once."""
        resource = self._any_resource()
        verb = verb or self.random.choice(("list", "watch"))
        self._inject(effect, verb=verb, resource=resource, times=self.random.randrange(1, 4))
        if verb == "list":  # informers whose watch gets 410 have to list
            self._inject(Refuse(410), verb="watch", resource=resource, times=1)
        self._end_watches(resource)

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

    def _end_watches(self, resource: str | None, how: Ending = "cut") -> None:
        with suppress(NoMatch):  # its CRD does not exist now
            self.server.end_watches(resource, how)
