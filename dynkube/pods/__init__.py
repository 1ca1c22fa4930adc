"""Pods: what the API server passes on to the containers of one pod.

``Client.pod`` returns a handle; nothing is sent before one of its methods is called. Start reading in ``_pod.py``.
"""

from dynkube.pods._pod import Pod

__all__ = ["Pod"]
