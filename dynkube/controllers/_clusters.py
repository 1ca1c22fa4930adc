"""The clusters that controllers run on: their clients by name, and the one that has the Lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dynkube._client import Client
from dynkube.controllers._controller_ring import ControllerRing
from dynkube.controllers._status import ControllerStatus
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type

ALONE = ""
"""The name of the cluster if there is only one client, without a name."""


def clients_by_cluster(given: object) -> dict[str, Client]:
    """Return the clients by the names of their clusters; :data:`ALONE` for a client that was given without a name.

    Raises:
        InvalidInput: it is neither a client nor a mapping of names to different clients.
        ClosedError: a client is not open.
    """
    named = given if isinstance(given, Mapping) else {ALONE: given}
    if not named:
        raise InvalidInput("the mapping of clusters is empty: pass {'name of the cluster': client}")
    found: dict[str, Client] = {}
    for name, client in named.items():
        if not isinstance(client, Client):
            raise InvalidInput(
                f"client{f' {name!r}' if named is given else ''} is {a_type(client)}: pass a client of "
                "dynkube.connect(), or {'name of the cluster': client}; dynkube.aio.run takes those of "
                "dynkube.aio.connect(), dynkube.sync.run those of dynkube.sync.connect()"
            )
        if named is given and (not isinstance(name, str) or not name):
            raise InvalidInput(f"{name!r} cannot be the name of a cluster: pass a string that is not empty")
        for other, theirs in found.items():
            if theirs is client:
                raise InvalidInput(f"clusters {other!r} and {name!r} have the same client: pass one for each")
        client._layers()  # raises ClosedError here rather than in a task
        found[name] = client
    return found


def lease_cluster_of(clients: Mapping[str, Client], given: str | None, election: object, sharding: object) -> str:
    """Return the name of the cluster that has the Lease.

    Args:
        clients: by cluster.
        given: the name that was passed; ``None`` for none.
        election: the leader election; ``None`` for none.
        sharding: a ring has Leases, too.

    Raises:
        InvalidInput: it is not clear which cluster is meant, or none can be.
    """
    names = ", ".join(clients) or "none"
    if given is not None and given not in clients:
        raise InvalidInput(f"lease_cluster={given!r} is not one of the clusters ({names}): pass one of these")
    if len(clients) == 1:
        return next(iter(clients))
    if isinstance(sharding, ControllerRing):
        raise InvalidInput(
            f"a ControllerRing has one cluster, whose sharder assigns its objects, and there are several ({names}): "
            "call run() for each cluster with a ring of its own, or pass HashShard(index, count)"
        )
    if election is None:
        if given is not None:
            raise InvalidInput(f"lease_cluster={given!r} without election=: there is no Lease; leave it out")
        return next(iter(clients))
    if given is None:
        raise InvalidInput(f"election with several clusters ({names}): pass lease_cluster=, the one with the Lease")
    return given


class _Runs(Protocol):
    """All controllers of a call of ``run``."""

    def statuses(self) -> list[ControllerStatus]: ...
    def leadership(self) -> tuple[str, bool] | None: ...


class RunsInCluster:
    """What the observers of one cluster's client see: the controllers in that cluster.

    So observers that several clients share count nothing twice.

    Args:
        runs: the controllers in all clusters.
        cluster: the name of the cluster.
        has_lease: whether it has the Lease.
    """

    def __init__(self, runs: _Runs, cluster: str, *, has_lease: bool) -> None:
        self._runs = runs
        self._cluster = cluster
        self._has_lease = has_lease

    def statuses(self) -> list[ControllerStatus]:
        """Return the status of each controller; on any thread."""
        return [status for status in self._runs.statuses() if status.cluster == self._cluster]

    def leadership(self) -> tuple[str, bool] | None:
        """Return the name of the Lease, and whether this process leads; on any thread."""
        return self._runs.leadership() if self._has_lease else None
