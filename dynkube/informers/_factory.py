"""InformerFactory: one shared informer for each key, for as long as somebody uses it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import trio

from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.informers._crd_summary import PrinterColumn, printer_columns
from dynkube.informers._handlers import Registration
from dynkube.informers._reflector import ServerFeatures
from dynkube.informers._serving import Serving
from dynkube.informers._settings import InformerSettings
from dynkube.informers._shared import SharedInformer
from dynkube.informers._sharing import SharingKey
from dynkube.informers._slices import Slices
from dynkube.informers._statistics import InformerStatuses
from dynkube.informers._tracker import AvailabilityTracker
from dynkube.meta import GVR, Unstructured
from dynkube.rest import RESTClient
from dynkube.telemetry import NOBODY, HandlerRun, Observers


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
        self._clock = trio.lowlevel.current_clock()
        # What the client's tasks do belongs to the client, and not to the trace or whatever else surrounds
        # the first user of an informer.
        self._context = contextvars.copy_context()
        self._tracker = AvailabilityTracker(rest, discovery, mapper, settings, self._features, nursery, observers)
        self._shared: dict[SharingKey, SharedInformer] = {}
        self._users: dict[SharedInformer, int] = {}

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
        if informer is None:
            settings = key.lists.applied_to(self._settings)
            informer = SharedInformer(key, self._rest, self._tracker, settings, self._features, self._observers)
            self._shared[key] = informer
            self._users[informer] = 0
            self._context.run(partial(self._nursery.start_soon, informer.run, name=f"informer {key.gvr}"))
        self._users[informer] += 1
        return informer

    def release(self, informer: SharedInformer) -> bool:
        """One user less; the last one's going ends it. Returns whether it ends."""
        self._users[informer] -= 1
        if self._users[informer]:
            return False
        del self._users[informer]
        del self._shared[informer.key]  # whoever asks from now on gets a new one
        informer.stop()
        return True

    def statuses(self) -> InformerStatuses:
        """Every shared informer as it is now. May be called from any thread."""
        now = self.now()
        return InformerStatuses(informer.status(now, users) for informer, users in tuple(self._users.items()))

    def now(self) -> float:
        """The time on trio's clock, which may be asked on any thread."""
        return self._clock.current_time()

    def start_handler(self, handler: Registration, key: SharingKey) -> None:
        """Run a handler's task for as long as the handler lives. Plain."""
        slices = Slices(self._settings.cpu_clock, budget=self._settings.slice)
        self._nursery.start_soon(handler.run, slices, key.collection, self._handler_told(key))

    def _handler_told(self, key: SharingKey) -> Callable[[HandlerRun], None] | None:
        """Whom to tell of each call of a handler; ``None`` if nobody wants to know."""
        hooks, collection = self._observers.handler_ran, key.collection

        def told(run: HandlerRun) -> None:
            for hook in hooks:
                hook(collection, run)

        return told if hooks else None
