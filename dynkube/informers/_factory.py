"""InformerFactory: shares one cache between all informers with the same key."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import trio

from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.informers._availability.crd_summary import PrinterColumn, printer_columns
from dynkube.informers._availability.serving import Serving
from dynkube.informers._availability.tracker import AvailabilityTracker
from dynkube.informers._cache.key import SharingKey
from dynkube.informers._followed_namespaces import follow_names
from dynkube.informers._reflector.reflector import ServerFeatures
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._shared_informer import SharedInformer
from dynkube.informers._statistics import InformerStatuses
from dynkube.informers._views.handlers import HandlerTask
from dynkube.informers._views.turns import Turns
from dynkube.meta import GVR, Unstructured
from dynkube.rest._client import RESTClient
from dynkube.telemetry import HandlerRun, Observers
from dynkube.telemetry._observers import NO_OBSERVERS

_LINGERING: Final = 16  # maximum number of informers without users, as each may hold a large cache


class InformerFactory:
    """Creates, shares and ends the informers of one client, in the client's nursery."""

    def __init__(
        self,
        rest: RESTClient,
        discovery: DiscoveryClient,
        mapper: DeferredRESTMapper,
        nursery: trio.Nursery,
        settings: InjectedSettings,
        *,
        namespace: str = "default",
        observers: Observers = NO_OBSERVERS,
    ) -> None:
        self.mapper = mapper
        self.namespace = namespace
        """The namespace of the context: the default of ``get``."""
        self._nursery = nursery
        self._settings = settings
        self._rest = rest
        self._features = ServerFeatures()
        self._observers = observers
        self._turns = Turns(settings.cpu_clock, settings.slice, nursery.start_soon)
        self._clock = trio.lowlevel.current_clock()
        # Tasks run in the client's contextvars context, not in that of the task that entered an informer first, whose
        # tracing span must not become the parent of requests for all informers that share the cache.
        self._context = contextvars.copy_context()
        self._tracker = AvailabilityTracker(rest, discovery, mapper, settings, self._features, nursery, observers)
        self._shared: dict[SharingKey, SharedInformer] = {}
        self._users: dict[SharedInformer, int] = {}
        self._on_ended = self._forget  # one bound method for all
        self._lingering: dict[SharedInformer, None] = {}  # without users; oldest first

    def users(self, informer: SharedInformer) -> int:
        """Return how many informers use a shared informer."""
        return self._users.get(informer, 0)

    def serving(self, gvr: GVR) -> Serving:
        """Return an object that tracks whether ``gvr`` is served, once it is entered."""
        return Serving(self._tracker, gvr)

    def definition(self, name: str) -> Unstructured | None:
        """Return the CRD of that name, without its schemas, if CRDs are being watched.

        May be called on any thread.
        """
        return self._tracker.definition(name)

    def printer_columns(self, gvr: GVR) -> tuple[PrinterColumn, ...]:
        """Return the printer columns of the CRD of ``gvr``; ``()`` if there is none."""
        crd = self._tracker.crd(gvr)
        return printer_columns(gvr, crd) if crd is not None else ()

    def acquire(self, key: SharingKey) -> SharedInformer:
        """Return the informer for ``key``, started if needed; pair with :meth:`release`."""
        key = replace(key, overrides=key.overrides.differing_from(self._settings))
        informer = self._shared.get(key)
        if informer is None or informer.stopping:
            settings = key.overrides.applied_to(self._settings)
            informer = SharedInformer(
                key,
                self._rest,
                self._tracker,
                settings,
                self._features,
                self._observers,
                self._on_ended,
                None if key.namespaces is None else partial(follow_names, key.namespaces, self),
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
        """Remove one user.

        A shared informer without users ends after ``InformerSettings.linger`` seconds. So cache and watch are reused if
        another user comes soon, for example when a filter is replaced many times a second. At most 16 shared informers
        are kept without users: if there are more, the oldest ends at once.
        """
        if informer not in self._users:
            return  # it has ended already, as the client was closed
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
        """Return whether a shared informer is running: it has users, or lingers."""
        return informer in self._users

    def _end(self, informer: SharedInformer) -> None:
        self._forget(informer)
        informer.stop()

    def _forget(self, informer: SharedInformer) -> None:
        """Remove a shared informer, so that :meth:`acquire` starts another one."""
        self._users.pop(informer, None)
        self._lingering.pop(informer, None)
        if self._shared.get(informer.key) is informer:
            del self._shared[informer.key]

    def statuses(self) -> InformerStatuses:
        """Return the status of each shared informer, also of those that linger.

        May be called from any thread.
        """
        now = self.now()
        return InformerStatuses(informer.status(now, users) for informer, users in tuple(self._users.items()))

    def now(self) -> float:
        """Return the time on trio's clock. May be called from any thread."""
        return self._clock.current_time()

    def start_handler(self, handler: HandlerTask, key: SharingKey) -> None:
        """Start the task of a handler."""
        self._nursery.start_soon(handler.run, self._turns, key.collection, self._after_handler(key))

    def _after_handler(self, key: SharingKey) -> Callable[[HandlerRun], None] | None:
        """Return the callback to invoke after each call of a handler.

        It notifies the observers; ``None`` if no observer wants handler runs.
        """
        hooks, collection = self._observers.handler_ran, key.collection

        def notify(run: HandlerRun) -> None:
            for hook in hooks:
                hook(collection, run)

        return notify if hooks else None
