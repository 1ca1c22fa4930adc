"""Trouble on demand: an embedded server that fails, drops watches, forgets."""

from __future__ import annotations

import trio

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.testing._engine import Engine
from dynkube.testing._faults.effects import check_seconds
from dynkube.testing._faults.endings import Ending, check_ending
from dynkube.testing._faults.injection import Injection
from dynkube.testing._faults.outages import Outage
from dynkube.testing._wire.door import Drop, Refusal
from dynkube.testing._wire.entrances import Entrances


class Trouble(Injection):
    """What a test does to ``_engine`` that no client could."""

    _engine: Engine
    _entrances: Entrances

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

    def refuse_connections(self, how: Refusal = "refuse") -> Outage:
        """Keep new connections out until the outage is removed, in the process and by TCP; those that are open go on.

        Of several at once the oldest decides. In the process each request is a connection of its own.

        Args:
            how: ``"refuse"``: nobody listens, so connecting fails; ``"reset"``: connecting works, and the connection is
                reset at once; ``"silent"``: connecting works, and nobody ever answers.

        Raises:
            InvalidInput: ``how`` is none of these.
        """
        return self._entrances.refuse(how)

    def drop_connections(self, how: Drop = "reset") -> int:
        """End every open connection, whatever happens on it; how many there were.

        Args:
            how: ``"reset"`` resets them (RST), ``"cut"`` ends them (FIN).

        Raises:
            InvalidInput: ``how`` is neither.
        """
        return self._entrances.drop(how)

    async def restart(self, seconds: float = 5.0) -> None:
        """Be down for a while: all connections are reset, and new ones refused until this returns.

        What is stored stays. As in a real server, whose watch cache is a new one then, watches cannot be taken up from
        resourceVersions of before (410).

        Args:
            seconds: For how long, on trio's clock.

        Raises:
            InvalidInput: ``seconds`` is negative.
        """
        check_seconds("seconds", seconds)
        with self.refuse_connections():
            self.drop_connections()
            self._engine.forget_watches()
            await trio.sleep(seconds)

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
