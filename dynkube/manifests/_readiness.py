"""When the objects of a custom resource may be sent: once the CRD that the same source brings is served."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from dynkube.errors import InvalidObject, NoMatch
from dynkube.informers import InformerFactory, crd_serves
from dynkube.manifests._order import Definition
from dynkube.manifests._report import DONE, Entry, Outcome


class CannotTell(Exception):
    """A dry run cannot say more of an object; the message says why."""


class Readiness:
    """Holds objects back until their CRD is served.

    Args:
        informers: whose watch on CRDs tells of it.
        definitions: what became of the CRDs of the source, by name.
        timeout: for how many seconds, from now on, they are waited for.
        dry_run: the CRDs were not really applied.
    """

    def __init__(
        self, informers: InformerFactory, definitions: Mapping[str, Entry], *, timeout: float, dry_run: bool
    ) -> None:
        self._informers = informers
        self._definitions = definitions
        self._timeout = timeout
        self._dry_run = dry_run
        self.deadline = trio.current_time() + timeout
        """Until when it is waited for, in trio's time."""

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
