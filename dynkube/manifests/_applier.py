"""Apply objects in parallel, and record exactly one entry for each.

An object has an entry even if its apply fails or is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import trio

from dynkube.errors import ApplyConflict, DynkubeError, NoMatch
from dynkube.manifests._apply_one import Item, ObjectSender, missing_namespace
from dynkube.manifests._cancellation import Stop
from dynkube.manifests._readiness import CRDRequired, Readiness
from dynkube.manifests._report import Entry, Outcome


class Applier:
    """Applies one wave after the other.

    Args:
        sender: applies a single object.
        limiter: limits concurrent requests.
        stop: tells whether the run was stopped.
        record: called with each object and its entry.
        namespace: namespace of namespaced objects without a namespace.
        dry_run: whether nothing is written, so that a CRD or a namespace in the source may not exist on the server.
    """

    def __init__(
        self,
        sender: ObjectSender,
        limiter: trio.CapacityLimiter,
        stop: Stop,
        record: Callable[[Item, Entry], None],
        *,
        namespace: str,
        dry_run: bool,
    ) -> None:
        self._sender = sender
        self._limiter = limiter
        self._stop = stop
        self._record = record
        self._namespace = namespace
        self._dry_run = dry_run
        self.missing: Collection[str] = ()
        """Namespaces that a dry run would have created; objects in them cannot be checked."""

    async def apply(self, wave: Sequence[Item], readiness: Readiness | None = None) -> None:
        """Apply all objects of ``wave``, in order.

        An object that waits for its CRD does not block others.

        Args:
            wave: the objects.
            readiness: waits for CRDs; ``None`` if the wave has no custom resources.
        """
        if not self._stop.reason:
            await self._sender.look_ahead((item for item in wave if _may_be_there(item, readiness)), self._limiter)
        async with trio.open_nursery() as nursery:
            for item in wave:
                definition = item.definition
                if (
                    readiness is not None
                    and definition is not None
                    and not readiness.is_ready(definition, item.version)
                ):
                    nursery.start_soon(self._apply_when_ready, item, readiness)
                else:
                    await self._limiter.acquire_on_behalf_of(item)
                    nursery.start_soon(self._apply, item, readiness)

    async def _apply_when_ready(self, item: Item, readiness: Readiness) -> None:
        assert item.definition is not None
        try:
            with self._stop.scope():
                await readiness.wait(item.definition, item.version)
        except CRDRequired as unknown:
            self._record(item, item.entry(Outcome.SKIPPED, reason=str(unknown)))
        except DynkubeError as error:
            self._record(item, self._failure(item, error, readiness))
        else:
            await self._limiter.acquire_on_behalf_of(item)
            await self._apply(item, readiness)

    async def _apply(self, item: Item, readiness: Readiness | None) -> None:
        """Apply one object, and release its token of the limiter."""
        try:
            if self._stop.reason:
                entry = item.entry(Outcome.SKIPPED, reason=self._stop.reason)
            elif readiness is not None and item.definition is not None and readiness.is_new(item.definition):
                entry = await self._sender.send_settled(item, readiness.deadline)
            else:
                entry = await self._sender.send(item)
        except DynkubeError as error:
            entry = self._failure(item, error, readiness)
        except trio.Cancelled:
            if item.sent:
                reason = "sent, but the run ended before the response"
                self._record(item, item.entry(Outcome.INTERRUPTED, reason=reason))
            raise
        finally:
            self._limiter.release_on_behalf_of(item)
        self._record(item, entry)

    def _failure(self, item: Item, error: DynkubeError, readiness: Readiness | None) -> Entry:
        definition = item.definition
        if (
            self._dry_run
            and isinstance(error, NoMatch)
            and definition is not None
            and item.version in definition.versions
            and not (readiness is not None and readiness.is_live(definition, item.version))  # else discovery is wrong
        ):
            reason = f"its CRD {definition.name} does not serve it yet: the server cannot check this"
            return item.entry(Outcome.SKIPPED, reason=reason)
        namespace = item.object.namespace or self._namespace
        if missing_namespace(error, namespace):
            if namespace in self.missing:
                reason = f"its namespace {namespace} would be created, and without it the server cannot check this"
                return item.entry(Outcome.SKIPPED, reason=reason)
            reason = f"namespace {namespace} does not exist: create it, or add a Namespace to the source"
            return item.entry(Outcome.FAILED, error=error, reason=reason)
        outcome = Outcome.CONFLICTED if isinstance(error, ApplyConflict) else Outcome.FAILED
        return item.entry(outcome, error=error)


def _may_be_there(item: Item, readiness: Readiness | None) -> bool:
    """Whether the object's resource was served already before this run."""
    definition = item.definition
    if definition is None:
        return True
    ready = readiness is not None and readiness.is_ready(definition, item.version)
    return ready and readiness is not None and not readiness.is_new(definition)
