"""InformerFactory: one shared informer for each key, for as long as somebody uses it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import trio

from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.informers._crd_summary import PrinterColumn, printer_columns
from dynkube.informers._handlers import Registration
from dynkube.informers._reflector import ServerFeatures
from dynkube.informers._serving import Serving
from dynkube.informers._settings import InformerSettings
from dynkube.informers._shared import SharedInformer
from dynkube.informers._sharing import SharingKey
from dynkube.informers._statistics import InformerStatuses
from dynkube.informers._tracker import AvailabilityTracker
from dynkube.informers._turns import Turns
from dynkube.meta import GVR, Unstructured
from dynkube.rest import RESTClient
from dynkube.telemetry import NOBODY, HandlerRun, Observers

_LINGERING: Final = 16  # informers without users: each may hold a large cache


class InformerFactory:
    """Makes, shares and ends the informers of one client; everything runs in the client's nursery."""

    def __init__(
        self,
        rest: RESTClient,
        discovery: DiscoveryClient,
        mapper: DeferredRESTMapper,
        nursery: trio.Nursery,
        settings: InformerSettings,
        *,
        namespace: str = "default",
        observers: Observers = NOBODY,
    ) -> None:
        self.mapper = mapper
        self.namespace = namespace
        """The context's namespace, where single objects are looked for if a call names none."""
        self._nursery = nursery
        self._settings = settings
        self._rest = rest
        self._features = ServerFeatures()
        self._observers = observers
        self._turns = Turns(settings.cpu_clock, settings.slice, nursery.start_soon)
        self._clock = trio.lowlevel.current_clock()
        # What the client's tasks do belongs to the client, and not to the trace or whatever else surrounds
        # the first user of an informer.
        self._context = contextvars.copy_context()
        self._tracker = AvailabilityTracker(rest, discovery, mapper, settings, self._features, nursery, observers)
        self._shared: dict[SharingKey, SharedInformer] = {}
        self._users: dict[SharedInformer, int] = {}
        self._on_ended = self._forget  # one for all of them
        self._lingering: dict[SharedInformer, None] = {}  # without users; the one that waits longest first

    def users(self, informer: SharedInformer) -> int:
        """How many use it."""
        return self._users.get(informer, 0)

    def serving(self, gvr: GVR) -> Serving:
        """Follows whether ``gvr`` is served, once it is entered. Plain."""
        return Serving(self._tracker, gvr)

    def definition(self, name: str) -> Unstructured | None:
        """The CRD of that name, without its schemas, if an informer has CRDs watched and it was seen. Any thread."""
        return self._tracker.definition(name)

    def printer_columns(self, gvr: GVR) -> tuple[PrinterColumn, ...]:
        """What its CRD says that tables of ``gvr`` should show; nothing where no CRD was seen. Plain."""
        crd = self._tracker.crd(gvr)
        return printer_columns(gvr, crd) if crd is not None else ()

    def acquire(self, key: SharingKey) -> SharedInformer:
        """The informer for ``key``, started if nobody uses it yet. Plain; pair it with :meth:`release`."""
        key = replace(key, lists=key.lists.differing_from(self._settings))
        informer = self._shared.get(key)
        if informer is None or informer.stopping:
            settings = key.lists.applied_to(self._settings)
            informer = SharedInformer(
                key, self._rest, self._tracker, settings, self._features, self._observers, self._on_ended
            )
            self._shared[key] = informer
            self._users[informer] = 0
            self._context.run(partial(self._nursery.start_soon, informer.run, name=f"informer {key.gvr}"))
        elif informer in self._lingering:
            del self._lingering[informer]
            informer.keep()
        self._users[informer] += 1
        return informer

    def release(self, informer: SharedInformer) -> None:
        """One user less. Without users it goes on for ``InformerSettings.linger`` seconds, and ends.

        So cache and watch are there still for whoever comes back, as with a filter that is replaced many times a
        second. A limited number linger: the oldest ends at once where there are more.
        """
        if informer not in self._users:
            return  # it has ended: the client was closed
        self._users[informer] -= 1
        if self._users[informer]:
            return
        if not self._settings.linger:
            self._end(informer)
            return
        self._lingering[informer] = None
        informer.end_in(self._settings.linger)
        if len(self._lingering) > _LINGERING:
            self._end(next(iter(self._lingering)))

    def runs(self, informer: SharedInformer) -> bool:
        """Whether it goes on: it has users, or had some a moment ago."""
        return informer in self._users

    def _end(self, informer: SharedInformer) -> None:
        self._forget(informer)
        informer.stop()

    def _forget(self, informer: SharedInformer) -> None:
        """Whoever asks from now on gets another one."""
        self._users.pop(informer, None)
        self._lingering.pop(informer, None)
        if self._shared.get(informer.key) is informer:
            del self._shared[informer.key]

    def statuses(self) -> InformerStatuses:
        """Every shared informer as it is now, also one that lingers without users. May be called from any thread."""
        now = self.now()
        return InformerStatuses(informer.status(now, users) for informer, users in tuple(self._users.items()))

    def now(self) -> float:
        """The time on trio's clock, which may be asked on any thread."""
        return self._clock.current_time()

    def start_handler(self, handler: Registration, key: SharingKey) -> None:
        """Run a handler's task for as long as the handler lives. Plain."""
        self._nursery.start_soon(handler.run, self._turns, key.collection, self._handler_told(key))

    def _handler_told(self, key: SharingKey) -> Callable[[HandlerRun], None] | None:
        """Whom to tell of each call of a handler; ``None`` if nobody wants to know."""
        hooks, collection = self._observers.handler_ran, key.collection

        def told(run: HandlerRun) -> None:
            for hook in hooks:
                hook(collection, run)

        return told if hooks else None
