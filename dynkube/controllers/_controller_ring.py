"""``ControllerRing``: a process as a shard of kubernetes-controller-sharding. Settings and labels. Pure.

The client side of https://github.com/timebertt/kubernetes-controller-sharding v1.0 (``pkg/shard``,
``docs/implement-sharding.md``): a central *sharder* assigns objects to shards by a label. A shard has three duties: it
holds a Lease of its own, it reconciles only what has its label, and it gives objects up when the sharder wants them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Final

from dynkube.controllers._lease_record import LeaderElection
from dynkube.errors import InvalidInput
from dynkube.meta import GVK, GVR
from dynkube.meta._arguments import brief
from dynkube.meta._names import MAX_LABEL

RING_LABEL: Final = "alpha.sharding.timebertt.dev/controllerring"
"""On the Lease of a shard: the name of its ring (``LabelControllerRing``)."""
STATE_LABEL: Final = "alpha.sharding.timebertt.dev/state"
"""On the Lease of a shard: its state as the sharder sees it (``LabelState``)."""
_SHARD_PREFIX: Final = "shard.alpha.sharding.timebertt.dev/"
_DRAIN_PREFIX: Final = "drain.alpha.sharding.timebertt.dev/"

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class ControllerRing:
    """Membership in a ring of kubernetes-controller-sharding: this process reconciles the objects assigned to it.

    Requires the sharder in the cluster, a ``ControllerRing`` object of this name that lists the reconciled resources,
    and the permissions ``get``, ``create`` and ``update`` for Leases and ``patch`` for the reconciled resources.

    Attributes:
        name: of the ControllerRing object.
        namespace: of the shard's Lease; ``None`` means the context's namespace, in a pod that of the pod.
        shard: name of this shard and of its Lease; must be unique in the namespace: two processes with the same name
            both reconcile the same objects. ``None`` means the host name, in a pod the pod's name.
        controlled: owned resources that the ControllerRing object lists as ``controlledResources``, as they are named
            in ``owns``: only those of this shard are cached. The sharder labels them separately from their owner, so a
            reconcile soon after a hand-over may not see them yet. Others are cached whole.
        lease_duration: seconds without a renewal after which the sharder may give the objects to other shards. Rounded
            up to whole seconds in the Lease. The sharder compares the Lease with its own clock.
        renew_deadline: seconds after the start of the last successful renewal at which all reconciles are cancelled.
        retry_period: seconds between renewals.

    Raises:
        InvalidInput: a name is invalid, or not ``lease_duration > renew_deadline > 1.2 * retry_period > 0``.
    """

    name: str
    _: KW_ONLY
    namespace: str | None = None
    shard: str | None = None
    controlled: Iterable[str | GVR | GVK] = ()
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        _check_name("name", self.name, "the name of the ControllerRing object")
        if self.shard is not None:
            _check_name("shard", self.shard, "a name that is unique among the replicas, or None for the host name")
        controlled: object = self.controlled
        if isinstance(controlled, str | GVR | GVK) or not isinstance(controlled, Iterable):
            raise InvalidInput(
                f"controlled is {brief(controlled)}: pass a list of resources, like ['deployments.apps']"
            )
        object.__setattr__(self, "controlled", tuple(controlled))
        shard_election(self, self.shard or "shard")  # raises for the namespace and the durations

    @property
    def shard_label(self) -> str:
        """The label whose value is the shard of an object."""
        return _SHARD_PREFIX + self.name

    @property
    def drain_label(self) -> str:
        """The label by which the sharder requests that the shard of an object gives it up."""
        return _DRAIN_PREFIX + self.name


def _check_name(argument: str, name: object, wanted: str) -> None:
    """Check a name that is part of a label: a Lease's, or that of a ControllerRing object."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_LABEL:
        raise InvalidInput(
            f"{argument}={brief(name)}: pass {wanted}, a lowercase DNS name of at most {MAX_LABEL} characters"
        )


def shard_election(ring: ControllerRing, shard: str) -> LeaderElection:
    """Return the settings of a shard's Lease: it has the shard's name, which is also that of its only holder.

    Raises:
        InvalidInput: the name of the shard or another setting is invalid.
    """
    _check_name("shard", shard, "a name that is unique among the replicas")
    return LeaderElection(
        shard,
        namespace=ring.namespace,
        identity=shard,
        lease_duration=ring.lease_duration,
        renew_deadline=ring.renew_deadline,
        retry_period=ring.retry_period,
        labels={RING_LABEL: ring.name},
    )
