"""A small web shop on Kubernetes that runs in the notebook's own kernel: what the notebooks look at.

:func:`start` starts an API server (``dynkube.testing``) and fills it. No container runs: the parts of controllers,
scheduler and kubelets are played, by way of dynkube's own client.
"""

from demo_cluster._cluster import DemoCluster, start

__all__ = ["DemoCluster", "start"]
