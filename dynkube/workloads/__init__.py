"""Layer 7: rollouts of workloads.

:meth:`dynkube.Client.rollout` returns a :class:`Rollout`. What the status of an object says about its rollout is
decided by ``_rollout_status.py``, and which revisions a workload has by ``_revisions.py``; both are pure. Start reading
in ``_rollout.py``.
"""

from dynkube.workloads._revisions import Revision, RolloutHistory
from dynkube.workloads._rollout import Rollout
from dynkube.workloads._rollout_status import RolloutError, RolloutPhase, RolloutStatus

__all__ = ["Revision", "Rollout", "RolloutError", "RolloutHistory", "RolloutPhase", "RolloutStatus"]
