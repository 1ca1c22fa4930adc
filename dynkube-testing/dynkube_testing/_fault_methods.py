"""Failures of the embedded server: ended watches, outages, restarts, compaction."""

from __future__ import annotations

import trio

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube_testing._engine import Engine
from dynkube_testing._faults.effects import check_seconds
from dynkube_testing._faults.endings import Ending, check_how
from dynkube_testing._faults.injection import Injection
from dynkube_testing._faults.outages import Outage
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._wire.connection_points import ConnectionPoints
from dynkube_testing._wire.listener import Drop, Refusal


class FaultMethods(Injection):
    """Methods that make the server fail, for tests."""

    _engine: Engine
    _connection_points: ConnectionPoints

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        """End open watches from the server's side, and return their number.

        Args:
            resource: Only watches of this resource, in any of its versions; default: all.
            how: How the responses end. ``"clean"``: complete, after the events so far. ``"cut"``: incomplete, the
                connection is closed (FIN) at once. ``"reset"``: the connection is reset (RST). ``"mid-line"``: half an
                event is sent before the connection is closed. ``"mid-chunk"``: the connection is closed inside an HTTP
                chunk. ``"silent"``: the connection stays open and nothing is sent any more, not even bookmarks; such a
                watch can be ended again in another way.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: An argument is malformed.
        """
        check_how(how)
        served = None if resource is None else _gvrs(self._engine.registry, resource)
        ended = self._engine.end_watches(resource) if how == "clean" else 0
        # The engine ends watches cleanly, because the end must come after all events so far. Watches that were ended
        # with "silent" are no longer known to the engine, so the faults end them.
        return ended + self._faults.end_watches(
            how, lambda request: served is None or request.resource in served, silent=how == "clean"
        )

    def refuse_connections(self, how: Refusal = "refuse") -> Outage:
        """Refuse new connections, in-process and over TCP, until the outage is removed.

        Open connections are not affected. If several outages of this method are active, the ``how`` of the oldest one
        applies. In-process, each request counts as a new connection.

        Args:
            how: ``"refuse"``: connecting fails (connection refused). ``"reset"``: connecting succeeds, and the
                connection is reset at once. ``"silent"``: connecting succeeds, and no request gets a response.

        Raises:
            InvalidInput: ``how`` is invalid.
        """
        return self._connection_points.refuse(how)

    def drop_connections(self, how: Drop = "reset") -> int:
        """Close every open connection and return their number.

        Requests in flight on them fail.

        Args:
            how: ``"reset"`` resets the connections (RST), ``"cut"`` closes them (FIN).

        Raises:
            InvalidInput: ``how`` is invalid.
        """
        return self._connection_points.drop(how)

    async def restart(self, seconds: float = 5.0) -> None:
        """Simulate a restart of the server.

        All connections are reset, and new ones are refused until this method returns or is cancelled. The stored
        objects stay. As with a real server, whose watch cache is empty after a restart, watches from earlier
        resourceVersions get 410.

        Args:
            seconds: Duration of the downtime on trio's clock.

        Raises:
            InvalidInput: ``seconds`` is negative.
        """
        check_seconds("seconds", seconds)
        with self.refuse_connections():
            self.drop_connections()
            self._engine.storage.forget_watches()
            await trio.sleep(seconds)

    def hold_definition(self, name: str) -> Outage:
        """Keep a CRD from becoming Established until the outage is removed.

        Args:
            name: Name of the CRD (``"widgets.acme.example"``), which need not exist yet. A CRD that is already
                Established is not affected.

        Raises:
            InvalidInput: ``name`` is not of the form PLURAL.GROUP.
        """
        if not all(name.partition(".")):
            raise InvalidInput(f"{name!r} is not the name of a CustomResourceDefinition: pass PLURAL.GROUP")
        self._engine.definitions.hold(name)
        return Outage(f"hold_definition({name!r})", lambda _: self._engine.definitions.release(name))

    def compact(self, revision: int | None = None) -> None:
        """Discard all revisions up to ``revision`` (default: the latest).

        As after a compaction of etcd, watches and continue tokens from older resourceVersions get 410. Open watches
        continue, except those that have not delivered their events up to ``revision`` yet: they end.
        """
        self._engine.storage.compact(revision)


def _gvrs(registry: Registry, resource: str | GVR) -> set[GVR]:
    """Return all GVRs under which the objects of a resource are served: its versions, and for Events another group."""
    groups = {kind.storage_group for kind in registry.named(resource)}
    return {kind.gvr for kind in registry if kind.storage_group in groups}
