"""The Lease of the operator's processes."""

from __future__ import annotations

from typing import Final

from dynkube.controllers import LeaderElection

NAME: Final = "websites"
NAMESPACE: Final = "default"
LOST: Final = 3
"""The exit code of a process that has lost the leadership."""


def election(identity: str, lease_duration: float) -> LeaderElection:
    """The settings of one process; the other durations are in proportion to the lease's, as by default."""
    return LeaderElection(
        NAME,
        namespace=NAMESPACE,
        identity=identity,
        lease_duration=lease_duration,
        renew_deadline=lease_duration * 10 / 15,
        retry_period=lease_duration * 2 / 15,
    )
