"""Name and settings of the Lease of the operator's processes."""

from __future__ import annotations

from typing import Final

from dynkube.controllers import LeaderElection

NAME: Final = "websites"
NAMESPACE: Final = "default"
LOST: Final = 3
"""The exit code of a process that has lost the leadership."""


def election(identity: str, lease_duration: float) -> LeaderElection:
    """Return the settings of one process; the other durations are in the default proportion to the lease's."""
    return LeaderElection(
        NAME,
        namespace=NAMESPACE,
        identity=identity,
        lease_duration=lease_duration,
        renew_deadline=lease_duration * 10 / 15,
        retry_period=lease_duration * 2 / 15,
    )
