"""Trouble on demand: an embedded server that fails, drops watches, forgets."""

from __future__ import annotations

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.testing._engine import Engine
from dynkube.testing._faults.endings import Ending, check_ending
from dynkube.testing._faults.injection import Injection
from dynkube.testing._faults.outages import Outage


class Trouble(Injection):
    """What a test does to ``_engine`` that no client could."""

    _engine: Engine

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        """End open watches from the server's side; how many there were.

        Args:
            resource: Only those of this resource (any version of it); all by default.
            how: ``"clean"`` ends the answer properly, after the events so far; ``"cut"`` ends the connection (FIN) at
                once, and not the answer; ``"reset"`` resets it (RST); ``"mid-line"`` sends half an event before the
                cut; ``"mid-chunk"`` cuts inside of a chunk of HTTP; ``"silent"`` leaves it open and never sends
                anything again, bookmarks included. What was silenced can be ended once more.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: An argument is malformed.
        """
        check_ending(how)
        served = None if resource is None else self._engine.served_as(resource)
        ended = self._engine.end_watches(resource) if how == "clean" else 0
        # Only the engine knows what the events so far are; a silenced watch has left it.
        return ended + self._faults.end_watches(
            how, lambda request: served is None or request.resource in served, silent=how == "clean"
        )

    def hold_definition(self, name: str) -> Outage:
        """Keep a CustomResourceDefinition from being Established until the outage is removed.

        Args:
            name: Of the definition (``"widgets.acme.example"``), which need not exist yet. An established one stays so.

        Raises:
            InvalidInput: It is no name of a definition, PLURAL.GROUP.
        """
        if not all(name.partition(".")):
            raise InvalidInput(f"{name!r} is no name of a CustomResourceDefinition; give PLURAL.GROUP")
        self._engine.hold_definition(name)
        return Outage(f"hold_definition({name!r})", lambda _: self._engine.release_definition(name))

    def compact(self, revision: int | None = None) -> None:
        """Forget history up to ``revision`` (all by default): older watches and continue tokens get 410."""
        self._engine.compact(revision)
