"""How informers behave on the wire: client-go's numbers where it has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction
from random import Random
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias, get_args

from dynkube.errors import InvalidInput
from dynkube.meta import Unstructured, is_number
from dynkube.rest import seconds_suspended

Consistency: TypeAlias = Literal["any", "most_recent"]
"""How recent a list must be: kube-rs's ``ListSemantic``."""

_CONSISTENCIES: Final = get_args(Consistency)


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerSettings:
    """Timing and paging of all informers of a client; seconds and counts.

    Attributes:
        watch_timeout: the server is asked to end each watch after a random time in this range, so that
            the watches of many clients do not end together (client-go: 5 to 10 minutes).
        watch_margin: how much longer than that a watch may live on this side.
        reconnect_spread: a watch that the server ends before that time is opened again after a random
            pause of up to so long: mostly all watches end together then, because a CRD was edited or a
            server stops, and need not come back together. Nothing is lost meanwhile.
        silence: a stream on which neither an event nor a bookmark arrives for so long is taken for
            dead. Servers send bookmarks about once a minute; where a resource turns out to have none,
            the time doubles, up to ``watch_timeout``.
        page_size: objects per list request, where the server pages at all: kube-apiserver ignores it where the list may
            come from its watch cache, so it takes ``consistency="most_recent"`` too.
        consistency: ``"any"`` lists what the API server has at hand, at least as recent as what was seen before.
            ``"most_recent"`` lists what etcd has: always up to date, in pages, and at a higher cost for the
            server. Streamed initial objects are always the most recent ones.
        list_timeout: deadline for one list request, which is one page. ``Limits.max_list_seconds`` is for all of them.
        streaming_lists: receive the initial objects over the watch (KEP-3157). ``None`` tries it, and
            falls back for good when the server refuses or never marks their end.
        streaming_silence: how long a streaming list may be silent before its end is given up on.
        streaming_timeout: how long a streaming list may take in all.
        discovery_poll: where CRDs may not be watched, how often discovery is asked instead.
        crd_filter: which CRDs count as installed, asked with each CRD (without its schemas) as it is and
            whenever it changes; resources of the others are ABSENT. For tools that need a minimum bundle
            version, say, or are told to leave some groups alone.
        linger: for how long a cache and its watch go on after their last user left: whoever enters an equal informer,
            or sets a filter that follows namespaces, within that time finds all of it there. 0 ends them at once. They
            end with the client in any case.
        decoded_bodies: how many decoded bodies of one cache are kept alive.
        slice: how long a cache may hold the event loop at a stretch.
        random: where jitter comes from.
        cpu_clock: measures slices.
        suspended: tells for how long the machine has been suspended; when that jumps, watches begin anew.

    Raises:
        InvalidInput: a number out of its range, an unknown ``consistency``, or an async ``crd_filter``.
    """

    watch_timeout: tuple[float, float] = (300.0, 600.0)
    watch_margin: float = 15.0
    reconnect_spread: float = 1.0
    silence: float = 90.0
    page_size: int = 500
    consistency: Consistency = "any"
    list_timeout: float = 75.0
    streaming_lists: bool | None = None
    streaming_silence: float = 15.0
    streaming_timeout: float = 300.0
    discovery_poll: float = 30.0
    crd_filter: Callable[[Unstructured], bool] | None = None
    linger: float = 3.0
    decoded_bodies: int = 256
    slice: float = 0.003
    random: Random = field(default_factory=Random, repr=False)
    cpu_clock: Callable[[], float] = field(default=perf_counter, repr=False)
    suspended: Callable[[], float] = field(default=seconds_suspended, repr=False)

    def __post_init__(self) -> None:
        if iscoroutinefunction(self.crd_filter):  # what it returns would count as true
            raise InvalidInput(f"crd_filter {self.crd_filter!r} must be a plain function: nobody would await it")
        if self.consistency not in _CONSISTENCIES:
            raise InvalidInput(f"consistency must be one of {', '.join(_CONSISTENCIES)}, not {self.consistency!r}")
        low, high = self.watch_timeout
        if not 1 <= low <= high:  # the server counts whole seconds
            raise InvalidInput(f"watch_timeout {self.watch_timeout} is not a range (low, high) of at least one second")
        for name in ("watch_margin", "reconnect_spread", "linger", "decoded_bodies", "slice"):
            if not (is_number(given := getattr(self, name)) and given >= 0):
                raise InvalidInput(f"{name} must be a number that is not negative, not {given!r}")
        for name in (
            "silence",
            "page_size",
            "list_timeout",
            "streaming_silence",
            "streaming_timeout",
            "discovery_poll",
        ):
            if not (is_number(given := getattr(self, name)) and given > 0):
                raise InvalidInput(f"{name} must be a positive number, not {given!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSettings:
    """How one informer gets its initial objects; ``None`` is what the client's :class:`InformerSettings` say.

    Raises:
        InvalidInput: a value that those do not take.
    """

    page_size: int | None = None
    consistency: Consistency | None = None
    streaming_lists: bool | None = None

    def __post_init__(self) -> None:
        InformerSettings(**self._given())

    def applied_to(self, settings: InformerSettings) -> InformerSettings:
        """The settings of the informer."""
        given = self._given()
        return replace(settings, **given) if given else settings

    def differing_from(self, settings: InformerSettings) -> ListSettings:
        """The same without what ``settings`` say anyway, so that informers that list in the same way are equal."""
        return ListSettings(
            **{name: value for name, value in self._given().items() if value != getattr(settings, name)}
        )

    def _given(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in ("page_size", "consistency", "streaming_lists")}
        return {name: value for name, value in values.items() if value is not None}
