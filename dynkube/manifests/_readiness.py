"""Wait until CRDs of a source are served, so that their objects can be applied.

If the source has no objects of a CRD, the run waits for the CRD at its end, so that the next run finds it.
"""

from __future__ import annotations

from collections.abc import Mapping

import trio

from dynkube.client._client import APIClient
from dynkube.errors import InvalidObject, NoMatch
from dynkube.informers._availability.serving import crd_serves
from dynkube.informers._factory import InformerFactory
from dynkube.manifests._order import Definition
from dynkube.manifests._report import DONE, Entry, Outcome
from dynkube.meta import GVR
from dynkube.rest._backoff import Backoff


class CRDRequired(Exception):
    """A dry run cannot check an object; the message has the reason."""


class Readiness:
    """Delays objects until their CRD is served.

    Args:
        api: sends the requests.
        informers: has a watch on CRDs, which reports when a CRD is served.
        definitions: entries of the CRDs of the source, by name.
        timeout: seconds from now to wait for all CRDs.
        dry_run: whether this is a dry run, so that the CRDs were not persisted.
    """

    def __init__(
        self,
        api: APIClient,
        informers: InformerFactory,
        definitions: Mapping[str, Entry],
        *,
        timeout: float,
        dry_run: bool,
    ) -> None:
        self._api = api
        self._informers = informers
        self._definitions = definitions
        self._timeout = timeout
        self._dry_run = dry_run
        self.deadline = trio.current_time() + timeout
        """End of the timeout, on trio's clock."""
        self._reading = trio.Lock()  # only one waiting task reads discovery, and the others use the result

    def is_new(self, definition: Definition) -> bool:
        """Whether this run has written the CRD.

        Parts of the server may not know it yet.
        """
        written = {Outcome.CREATED, Outcome.CHANGED, Outcome.APPLIED}
        return not self._dry_run and self._definitions[definition.name].outcome in written

    def is_ready(self, definition: Definition, version: str) -> bool:
        """Whether ``version`` is served according to the response to the apply of the CRD."""
        entry = self._definitions[definition.name]
        if self._dry_run and entry.outcome is Outcome.CREATED:
            return False
        return entry.outcome in DONE and entry.object is not None and crd_serves(entry.object, definition.gvr(version))

    def is_live(self, definition: Definition, version: str) -> bool:
        """Whether the CRD on the server serves ``version``, and applying the source does not change the CRD."""
        return self._definitions[definition.name].outcome is Outcome.UNCHANGED and self.is_ready(definition, version)

    async def wait(self, definition: Definition, version: str) -> None:
        """Wait until objects of ``definition`` in ``version`` can be applied.

        Not needed if :meth:`is_ready`.

        Raises:
            InvalidObject: the CRD in the source does not serve this version.
            NoMatch: the version is not served by the deadline, or its CRD could not be applied and does not exist.
            CRDRequired: this is a dry run, and the CRD is not installed.
        """
        entry, gvr = self._definitions[definition.name], definition.gvr(version)
        applied = entry.outcome in DONE
        if applied and version not in definition.versions:
            only = f", only {', '.join(sorted(definition.versions))}" if definition.versions else ""
            raise InvalidObject(f"its CRD {definition.name} ({entry.source}) does not serve {version}{only}")
        if self._dry_run and entry.outcome is Outcome.CREATED:
            raise CRDRequired(
                f"its CRD {definition.name} would be created, and without it the server cannot check this"
            )
        with self._informers.serving(gvr) as serving:
            with trio.CancelScope(deadline=self.deadline):
                # If the CRD could not be applied, only an existing one can serve it.
                await (serving.wait_served() if applied else serving.wait_known())
            if serving.served:
                return
            why = f"{serving.reason}: {serving.message}"
        if not applied:
            raise NoMatch(f"the CRD of this kind, {definition.name} ({entry.source}), was not applied; {why}")
        raise NoMatch(f"{gvr} was not served within {self._timeout:g} s after its CRD was applied; {why}")

    def is_awaited(self, definition: Definition) -> bool:
        """Whether this run has applied the CRD and must wait until it is served.

        False if all its versions are known to be served.
        """
        entry = self._definitions[definition.name]
        if self._dry_run or entry.outcome not in DONE or entry.terminating:
            return False
        return self.is_new(definition) or not all(self.is_ready(definition, each) for each in definition.versions)

    async def wait_found(self, definition: Definition) -> None:
        """Wait until discovery has all versions of ``definition``, for all clients.

        Raises:
            NoMatch: a version is not served by the deadline.
            DynkubeError: discovery failed.
        """
        for version in sorted(definition.versions):
            if not self.is_ready(definition, version):
                await self.wait(definition, version)
            await self._until_found(definition.gvr(version))

    async def _until_found(self, gvr: GVR) -> None:
        """Poll discovery until it has ``gvr``, shortly after the CRD is established."""
        backoff = Backoff(initial=0.05, cap=1.0)
        async with self._reading:
            while True:
                try:
                    await self._api.resource(gvr).resolve()
                except NoMatch:
                    if (now := trio.current_time()) >= self.deadline:
                        raise
                    self._api.mapper.invalidate(gvr.group)
                    await trio.sleep(backoff.next(now))
                else:
                    return
