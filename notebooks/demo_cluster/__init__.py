"""The clusters of the notebooks.

:func:`start` starts a demo cluster: a small web shop, on an API server (``dynkube_testing``) in the notebook's kernel.
No container runs: what controllers, the scheduler and kubelets would write is written with dynkube's own client.
:func:`many` starts a server with a million objects.
"""

from demo_cluster._cluster import DemoCluster, start
from demo_cluster._many import ManyObjects, Meter, many

__all__ = ["DemoCluster", "ManyObjects", "Meter", "many", "start"]
