"""Layer 7: rollouts of workloads, and draining of nodes.

:meth:`dynkube.Client.rollout` returns a :class:`Rollout`. What the status of an object says about its rollout is
decided by ``_rollout_status.py``, which revisions a workload has by ``_revisions.py``, and which pods of a node are
evicted by ``_pod_verdicts.py``; these are pure. Start reading in ``_rollout.py`` and ``_drain.py``.
"""

from dynkube.workloads._pod_verdicts import DrainedPod, DrainError, DrainReport, PodOutcome
from dynkube.workloads._revisions import Revision, RolloutHistory
from dynkube.workloads._rollout import Rollout
from dynkube.workloads._rollout_status import RolloutError, RolloutPhase, RolloutStatus

__all__ = [
    "DrainError",
    "DrainReport",
    "DrainedPod",
    "PodOutcome",
    "Revision",
    "Rollout",
    "RolloutError",
    "RolloutHistory",
    "RolloutPhase",
    "RolloutStatus",
]
