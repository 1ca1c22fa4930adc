"""When the objects of a custom resource may be sent: once the CRD that the same source brings is served.

A CRD without objects in its source is waited for at the end of the run, so that the next run finds it.
"""

from __future__ import annotations

from collections.abc import Mapping

import trio

from dynkube.client import APIClient
from dynkube.errors import InvalidObject, NoMatch
from dynkube.informers import InformerFactory, crd_serves
from dynkube.manifests._order import Definition
from dynkube.manifests._report import DONE, Entry, Outcome
from dynkube.meta import GVR
from dynkube.rest import Backoff


class CannotTell(Exception):
    """A dry run cannot say more of an object; the message says why."""


class Readiness:
    """Holds objects back until their CRD is served.

    Args:
        api: where requests go.
        informers: whose watch on CRDs tells of it.
        definitions: what became of the CRDs of the source, by name.
        timeout: for how many seconds, from now on, they are waited for.
        dry_run: the CRDs were not really applied.
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
        """Until when it is waited for, in trio's time."""
        self._reading = trio.Lock()  # of discovery: what one has read answers the others

    def is_new(self, definition: Definition) -> bool:
        """Whether this run has written the CRD, so that the server may not have taken it in everywhere yet."""
        written = {Outcome.CREATED, Outcome.CHANGED, Outcome.APPLIED}
        return not self._dry_run and self._definitions[definition.name].outcome in written

    def is_ready(self, definition: Definition, version: str) -> bool:
        """Whether the answer to the apply of the CRD says already that ``version`` is served."""
        entry = self._definitions[definition.name]
        if self._dry_run and entry.outcome is Outcome.CREATED:
            return False
        return entry.outcome in DONE and entry.object is not None and crd_serves(entry.object, definition.gvr(version))

    async def wait(self, definition: Definition, version: str) -> None:
        """Wait until objects of ``definition`` in ``version`` can be sent. Not asked of what :meth:`is_ready`.

        Raises:
            InvalidObject: the CRD of the source does not serve this version.
            NoMatch: it is not served at the deadline, or its CRD could not be applied and is not there either.
            CannotTell: in a dry run, its CRD is not installed.
        """
        entry, gvr = self._definitions[definition.name], definition.gvr(version)
        applied = entry.outcome in DONE
        if applied and version not in definition.versions:
            served = ", ".join(sorted(definition.versions)) or "none"
            raise InvalidObject(f"its CRD {definition.name} ({entry.source}) does not serve {version}, but {served}")
        if self._dry_run and entry.outcome is Outcome.CREATED:
            raise CannotTell(f"its CRD {definition.name} would be created, and without it the server cannot check this")
        with self._informers.serving(gvr) as serving:
            with trio.CancelScope(deadline=self.deadline):
                # Where the CRD could not be applied only one that was there before can serve it.
                await (serving.wait_served() if applied else serving.wait_known())
            if serving.served:
                return
            why = f"{serving.reason}: {serving.message}"
        if not applied:
            raise NoMatch(f"its CRD {definition.name} ({entry.source}) was not applied; {why}")
        raise NoMatch(f"{gvr} was not served within {self._timeout:g} s after its CRD was applied; {why}")

    def is_awaited(self, definition: Definition) -> bool:
        """Whether this run has applied the CRD, and the server does not say yet that it serves all of its versions."""
        entry = self._definitions[definition.name]
        if self._dry_run or entry.outcome not in DONE or entry.terminating:
            return False
        return self.is_new(definition) or not all(self.is_ready(definition, each) for each in definition.versions)

    async def wait_found(self, definition: Definition) -> None:
        """Wait until discovery has all versions of ``definition``, so that any client finds them.

        Raises:
            NoMatch: one is not served at the deadline.
            DynkubeError: discovery cannot be read.
        """
        for version in sorted(definition.versions):
            if not self.is_ready(definition, version):
                await self.wait(definition, version)
            await self._until_found(definition.gvr(version))

    async def _until_found(self, gvr: GVR) -> None:
        """A server establishes a CRD some moments before its discovery has it, and tells of the first alone."""
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
