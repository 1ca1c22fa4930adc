"""Pods: what the API server passes on to the containers of one pod.

``Client.pod`` returns a handle; nothing is sent before one of its methods is called. ``_process.py`` is a command with
its streams, in the protocol of ``_channels.py``; ``_target.py`` opens connections, and explains by the pod's object
(``_view.py``) why one was refused. Start reading in ``_pod.py``.
"""

from dynkube.pods._copying import Progress
from dynkube.pods._exec import ExecResult, Stdin
from dynkube.pods._logs.followed import ContainerLog
from dynkube.pods._logs.lines import LogLine
from dynkube.pods._logs.log import Log
from dynkube.pods._logs.merged import MergedLogs
from dynkube.pods._logs.stream import LogStream
from dynkube.pods._pod import Pod
from dynkube.pods._port_forward import PortForward
from dynkube.pods._ports import PortStream
from dynkube.pods._process import Process
from dynkube.pods._streams import ProcessInput, ProcessOutput
from dynkube.pods._unpack import Copied

__all__ = [
    "ContainerLog",
    "Copied",
    "ExecResult",
    "Log",
    "LogLine",
    "LogStream",
    "MergedLogs",
    "Pod",
    "PortForward",
    "PortStream",
    "Process",
    "ProcessInput",
    "ProcessOutput",
    "Progress",
    "Stdin",
]
