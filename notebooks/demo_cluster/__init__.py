"""The demo cluster of the notebooks: a small web shop, on an API server in the notebook's kernel.

:func:`start` starts the API server (``dynkube.testing``) and creates the objects. No container runs: what controllers,
the scheduler and kubelets would write is written with dynkube's own client.
"""

from demo_cluster._cluster import DemoCluster, start

__all__ = ["DemoCluster", "start"]
