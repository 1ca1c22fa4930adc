"""Settings of informers; the defaults are client-go's where it has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from inspect import iscoroutinefunction
from random import Random
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias, get_args

from dynkube.errors import InvalidInput
from dynkube.meta import Unstructured
from dynkube.meta._arguments import is_number
from dynkube.meta._compact import Compactor, check_available
from dynkube.rest._suspension import seconds_suspended

Consistency: TypeAlias = Literal["any", "most_recent"]
"""How recent a list must be, like kube-rs's ``ListSemantic``."""

_CONSISTENCIES: Final = get_args(Consistency)


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerSettings:
    """Timing and paging of all informers of a client. Durations are in seconds.

    Attributes:
        watch_timeout: range of the random ``timeoutSeconds`` of watch requests, after which the server ends them.
            Random, so that the watches of many clients do not end together (client-go: 5 to 10 minutes).
        watch_margin: how long the client waits beyond ``timeoutSeconds`` before it closes a watch itself.
        reconnect_spread: a watch that the server ends early is reopened after a random pause of up to this many
            seconds. In such a case mostly all watches end together, because a CRD was edited or a server shuts down. No
            event is lost.
        watch_idle_timeout: a watch without an event or bookmark for this long is considered dead. Servers send
            bookmarks about once a minute. For a resource without bookmarks the time doubles with each silent watch, up
            to ``watch_timeout``.
        page_size: objects per list request, if the server pages. kube-apiserver ignores it for lists from its watch
            cache, so set ``consistency="most_recent"`` as well.
        consistency: ``"any"`` lists from the API server's cache, not older than the last resourceVersion received.
            ``"most_recent"`` lists from etcd: always up to date, in pages, at a higher cost for the server.
            Streaming lists are always most recent.
        list_timeout: deadline for one list request, that is one page. ``Limits.max_list_seconds`` limits all pages.
        streaming_lists: whether to get the initial objects over the watch (KEP-3157). ``None`` tries it, and falls
            back to lists for good if the server rejects it or never marks the end of the initial objects.
        streaming_idle_timeout: how long a streaming list may receive nothing before it is given up.
        streaming_timeout: how long a streaming list may take in total.
        discovery_poll: interval between discovery requests while CRDs cannot be watched.
        crd_filter: called with each CRD (without its schemas) initially and when it changes; returns whether the CRD
            counts as installed. If not, its resource is ABSENT. Use it for example to require a minimum bundle version,
            or to exclude API groups. If it raises, its last answer about that CRD stands (the resource is UNKNOWN if it
            never answered), and it is called again with backoff.
        linger: how long a cache and its watch are kept after their last informer was closed. An informer of the same
            collection that is entered within that time reuses them, and so does a filter by namespace labels. 0 ends
            them at once; they end with the client in any case.
        decoded_bodies: number of decoded object bodies that each cache keeps alive.
        compact: whether caches store bodies compressed (zstd, with dictionaries made from the objects): a third of the
            memory for objects of 2 KB, and less for larger ones, for 3 to 5 us when an object arrives and 0.5 to 2.5 us
            for each read of its body. Names, labels and the like are not compressed. Requires the package
            ``zstandard``: the extra ``dynkube[compact]``.
        max_namespaces: how many namespaces of a set (``client.informer(..., namespaces=...)``) are listed and watched
            at the same time, each with a connection. If a set has more that the user may list, the informer is
            DEGRADED with reason ``TooManyNamespaces``.
        access_interval: pause between two rounds of reviews of the user's rights in the namespaces of a set: one
            request if the user may list everywhere, else one for each namespace, of which at most 10 are sent per
            second.
        slice: how long a cache may run without yielding to the event loop.
        random: source of jitter.
        cpu_clock: clock that measures slices.
        suspended: returns the total time for which the machine was suspended; when it grows, watches are reopened.

    Raises:
        InvalidInput: a number is out of range, ``consistency`` is unknown, ``compact`` is not a bool, or ``crd_filter``
            is async.
        ConfigError: ``compact`` is set, and ``zstandard`` is not installed.
    """

    watch_timeout: tuple[float, float] = (300.0, 600.0)
    watch_margin: float = 15.0
    reconnect_spread: float = 1.0
    watch_idle_timeout: float = 90.0
    page_size: int = 500
    consistency: Consistency = "any"
    list_timeout: float = 75.0
    streaming_lists: bool | None = None
    streaming_idle_timeout: float = 15.0
    streaming_timeout: float = 300.0
    discovery_poll: float = 30.0
    crd_filter: Callable[[Unstructured], bool] | None = None
    linger: float = 3.0
    decoded_bodies: int = 256
    compact: bool = False
    max_namespaces: int = 250
    access_interval: float = 30.0
    slice: float = 0.003
    random: Random = field(default_factory=Random, repr=False)

    def __post_init__(self) -> None:
        if iscoroutinefunction(self.crd_filter):  # the coroutine it returns would count as true
            raise InvalidInput(f"crd_filter {self.crd_filter!r} must be a synchronous function: it is not awaited")
        if self.consistency not in _CONSISTENCIES:
            raise InvalidInput(f"consistency must be one of {', '.join(_CONSISTENCIES)}, not {self.consistency!r}")
        if not isinstance(self.compact, bool):
            raise InvalidInput(f"compact must be True or False, not {self.compact!r}")
        if self.compact:
            check_available()
        low, high = self.watch_timeout
        if not 1 <= low <= high:  # the server counts whole seconds
            raise InvalidInput(f"watch_timeout {self.watch_timeout} must be a range (low, high) of at least 1 second")
        for name in ("watch_margin", "reconnect_spread", "linger", "decoded_bodies", "slice"):
            if not (is_number(given := getattr(self, name)) and given >= 0):
                raise InvalidInput(f"{name} must be a number >= 0, not {given!r}")
        most: object = self.max_namespaces  # callers are not always type-checked
        if not (isinstance(most, int) and most >= 1):
            raise InvalidInput(f"max_namespaces must be an int >= 1, not {most!r}")
        for name in (
            "watch_idle_timeout",
            "page_size",
            "list_timeout",
            "streaming_idle_timeout",
            "streaming_timeout",
            "discovery_poll",
            "access_interval",
        ):
            if not (is_number(given := getattr(self, name)) and given > 0):
                raise InvalidInput(f"{name} must be a positive number, not {given!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedSettings(InformerSettings):
    """Settings with what informers take from outside besides trio's clock; tests inject their own.

    Attributes:
        compactor: creates what compresses the objects of one cache.
        cpu_clock: clock that measures slices.
        suspended: returns for how long the machine has been suspended in total; when that grows, watches are reopened.
    """

    compactor: Callable[[], Compactor] = field(default=Compactor, repr=False)
    cpu_clock: Callable[[], float] = field(default=perf_counter, repr=False)
    suspended: Callable[[], float] = field(default=seconds_suspended, repr=False)

    @classmethod
    def of(cls, settings: InformerSettings) -> InjectedSettings:
        """Return ``settings`` with the clocks of this machine, unless they are injected already."""
        if isinstance(settings, cls):
            return settings
        return cls(**{each.name: getattr(settings, each.name) for each in fields(settings)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Settings of one informer; ``None`` means the client's setting.

    Raises:
        InvalidInput: a value is not valid in :class:`InformerSettings`.
    """

    page_size: int | None = None
    consistency: Consistency | None = None
    streaming_lists: bool | None = None
    compact: bool | None = None

    def __post_init__(self) -> None:
        InformerSettings(**self._given())

    def applied_to(self, settings: InjectedSettings) -> InjectedSettings:
        """Return ``settings`` with these values replaced."""
        given = self._given()
        return replace(settings, **given) if given else settings

    def differing_from(self, settings: InformerSettings) -> Overrides:
        """Return a copy without the values that equal those of ``settings``.

        Then informers with the same settings have equal overrides, and share a cache.
        """
        return Overrides(**{name: value for name, value in self._given().items() if value != getattr(settings, name)})

    def _given(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}
