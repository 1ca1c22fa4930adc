"""``Controller``: the declaration of a control loop, and its status while it runs."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dynkube._bound import Bound
from dynkube._displayable import Displayable
from dynkube._guard import repr_of
from dynkube.controllers._blocking_context import BlockingContext
from dynkube.controllers._rate_limits import RateLimiter, default_rate_limiter
from dynkube.controllers._results import Result
from dynkube.controllers._running_threads import RunningThreads
from dynkube.controllers._source import Source
from dynkube.controllers._status import ControllerStatus
from dynkube.controllers._watches import ChangePredicate, ObjectKey, Watch, index_of
from dynkube.errors import InvalidInput
from dynkube.informers import IndexFunc, Selector
from dynkube.meta import GVK, GVR
from dynkube.meta._arguments import a_type, brief

Reconcile: TypeAlias = Callable[[Any, ObjectKey], Awaitable[Result]] | Callable[[BlockingContext, ObjectKey], Result]
"""An async function, or a plain one, which is called in a thread.

The context of an async function is a :class:`Context`, or a ``dynkube.aio.Context`` if ``dynkube.aio`` runs it.
"""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?\Z")
_FINALIZER: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")


class Controller(Bound, Displayable):
    """A control loop: calls a function for each object of a resource, and again whenever it may have to act.

    Does nothing by itself: pass it to :func:`run`. The function is called with a :class:`Context` and the
    :class:`ObjectKey` of an object that has changed, or whose dependents have, or that failed before. It reads what is
    there, compares it with what should be, and writes the difference. It must not rely on being called for each change:
    several changes may be one call (level-driven, as in controller-runtime).

    - A key is reconciled by one call at a time. While it waits, further changes of it add nothing.
    - No call starts before all informers of the controller have their initial objects, and their handlers have seen
      them. A resource that is not served counts as empty: it is waited for, and its objects are reconciled when it
      comes. While it is listed then, no call starts. When its CRD is deleted, its objects are reconciled as deleted
      ones. If it disappears for another reason, such as a version that is not served any more, its keys wait until it
      returns, as their objects may still exist.
    - A key is not reconciled before the caches show all that it has written (read your own writes).
    - A call that raises is repeated after 5 ms, and twice that for each further failure, up to 1,000 s.

    Args:
        resource: what to reconcile; as for :meth:`Client.informer`: preferably RESOURCE.GROUP or
            RESOURCE.VERSION.GROUP, which need not be served yet.
        reconcile: ``async def reconcile(ctx, key)``, or a plain function, which is called in a thread with a
            :class:`BlockingContext`. Returns ``None`` or :class:`Requeue`.
        name: for logs, metrics and as field manager; by default the name of the resource.
        owns: resources whose objects the reconciled ones own: a change reconciles the owner.
        watches: other resources, and how their objects map to keys.
        namespace: the namespaces to watch: one, several, or ``None`` for all. Cluster-scoped resources are watched as a
            whole.
        label_selector: objects to reconcile, by labels; evaluated by the server.
        field_selector: the same, by fields.
        predicate: which changes of the reconciled objects count; ``None`` for all.
        sources: keys that come from outside of the cluster.
        indexes: of the reconciled objects: name to function or JSONPath, for ``ctx.by_index`` and :func:`to_index`.
        finalizer: ``(name, clean_up)``: the name is added to each object before its first reconcile. When the object is
            deleted, ``clean_up(ctx, key)`` is called in place of the reconcile, until it returns ``None``; then the
            name is removed.
        concurrency: how many keys may be reconciled at a time.
        timeout: seconds for one call; ``None`` for no limit. An async function is cancelled then. A thread cannot be:
            its context refuses all calls, and the key is reconciled again after the function has returned.
        resync: seconds after which all objects are reconciled again, for state outside of the cluster.
        debounce: seconds for which a changed key waits for further changes before it is reconciled, counted from the
            first one since its last call began: further changes do not prolong that. For objects that change many times
            in a row. Keys of sources wait as well; initial objects, resyncs, retries and ``Requeue`` do not, and what
            they reconcile earlier covers the changes so far. ``None`` for no wait.
        rate_limiter: returns the delay of a key that failed; by default 5 ms to 1,000 s, and 10 a second in all. Called
            once for each run.

    Raises:
        InvalidInput: an argument is invalid; the message names it and the fix.
    """

    def __init__(
        self,
        resource: str | GVR | GVK,
        reconcile: Reconcile,
        *,
        name: str | None = None,
        owns: Iterable[str | GVR | GVK] = (),
        watches: Iterable[Watch] = (),
        namespace: str | Iterable[str] | None = None,
        label_selector: Selector = None,
        field_selector: Selector = None,
        predicate: ChangePredicate | None = None,
        sources: Iterable[Source] = (),
        indexes: Mapping[str, str | IndexFunc] = MappingProxyType({}),
        finalizer: tuple[str, Reconcile] | None = None,
        concurrency: int = 1,
        timeout: float | None = None,
        resync: float | None = None,
        debounce: float | None = None,
        rate_limiter: Callable[[], RateLimiter[Hashable]] = default_rate_limiter,
    ) -> None:
        self.name: str = _checked_name(name, resource)
        self._watch = Watch(
            resource,
            label_selector=label_selector,
            field_selector=field_selector,
            predicate=predicate,
            indexes=indexes,
        )
        self._others = (*(Watch(owned) for owned in _listed("owns", owns)), *_checked_watches(watches, indexes))
        self._sources = _checked_sources(sources)
        self._namespaces = _checked_namespaces(namespace)
        self._reconcile = checked_function("reconcile", reconcile)
        self._finalizer = _checked_finalizer(finalizer)
        self._concurrency = positive_int("concurrency", concurrency)
        self._timeout = optional_seconds("timeout", timeout)
        self._resync = optional_seconds("resync", resync)
        self._debounce = optional_seconds("debounce", debounce)
        if not callable(rate_limiter):
            raise InvalidInput(f"rate_limiter is {a_type(rate_limiter)}: pass a function that returns a RateLimiter")
        self._rate_limiter = rate_limiter
        self._stop_timeout: float | None = None  # of a Daemon
        self._threads: dict[str, RunningThreads] = {}  # by cluster
        self._status: Callable[[], ControllerStatus] | None = None  # while it runs

    @property
    def resource(self) -> str | GVR | GVK:
        """The reconciled resource, as it was given."""
        return self._watch.resource

    def status(self) -> ControllerStatus:
        """Return the current status. Does not block; on any thread."""
        return ControllerStatus(self.name, str(self.resource)) if self._status is None else self._status()

    def __repr__(self) -> str:
        return f"<Controller {self.name} of {self.resource}, {self.status().phase}>"


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def _checked_name(name: object, resource: str | GVR | GVK) -> str:
    if name is None:
        return re.sub(r"[^a-z0-9.-]+", "-", str(resource).lower()).strip("-.")[:63].strip("-.") or "controller"
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidInput(f"name={name!r}: pass lower-case letters, digits, '-' and '.', at most 63")
    return name


def _listed(argument: str, given: object) -> Iterable[str | GVR | GVK]:
    if isinstance(given, str | GVR | GVK) or not isinstance(given, Iterable):
        raise InvalidInput(f"{argument} is {brief(given)}: pass a list of resources, like ['deployments.apps']")
    return given


def _checked_watches(watches: object, indexes: Mapping[str, object]) -> tuple[Watch, ...]:
    found = tuple(watches) if isinstance(watches, Iterable) else (None,)
    if not all(isinstance(each, Watch) for each in found):
        raise InvalidInput(f"watches is {brief(watches)}: pass a list of Watch(resource, to=...)")
    for watch in found:
        index = index_of(watch.to)
        if index is not None and index not in indexes:  # else each change would fail, and nothing be reconciled
            raise InvalidInput(
                f"the watch of {watch.resource} reads the index {index!r}, which the controller does not have: "
                f"pass indexes={{{index!r}: ...}} to the Controller"
            )
    return found


def _checked_sources(sources: object) -> tuple[Source, ...]:
    found = tuple(dict.fromkeys(sources)) if isinstance(sources, Iterable) else (None,)
    if not all(isinstance(each, Source) for each in found):
        raise InvalidInput(f"sources is {brief(sources)}: pass a list of Source(stream)")
    return found


def _checked_namespaces(namespace: object) -> tuple[str | None, ...]:
    if namespace is None or namespace == "":
        return (None,)
    if isinstance(namespace, str):
        return (namespace,)
    found = tuple(dict.fromkeys(namespace)) if isinstance(namespace, Iterable) else ()
    if not found or not all(isinstance(each, str) and each for each in found):
        raise InvalidInput(f"namespace={namespace!r}: pass a name, a list of names, or None for all namespaces")
    return found


def checked_function(argument: str, function: Reconcile) -> Reconcile:
    given: object = function
    if not callable(given):
        raise InvalidInput(f"{argument} is {a_type(given)}: pass a function of a context and a key")
    try:
        inspect.signature(given).bind(None, None)
    except TypeError:
        raise InvalidInput(f"{argument} {repr_of(given)} does not take two arguments: pass f(ctx, key)") from None
    except ValueError:  # a function without a signature, written in C
        pass
    return function


def _checked_finalizer(finalizer: object) -> tuple[str, Reconcile] | None:
    if finalizer is None:
        return None
    if not isinstance(finalizer, tuple) or len(finalizer) != 2 or not isinstance(finalizer[0], str):
        raise InvalidInput(f"finalizer is {brief(finalizer)}: pass (name, clean_up)")
    name, clean_up = finalizer
    if not _FINALIZER.match(name):
        raise InvalidInput(f"finalizer {name!r}: pass a domain and a name, like 'example.com/clean-up'")
    return name, checked_function(f"the clean_up of finalizer {name}", clean_up)


def positive_int(argument: str, given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InvalidInput(f"{argument}={given!r}: pass an integer of 1 or more")
    return given


def optional_seconds(argument: str, given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
        raise InvalidInput(f"{argument}={given!r}: pass a positive number of seconds, or None")
    return given
