"""Errors of what runs in a pod's containers."""

from __future__ import annotations

from dynkube.errors._base import ConnectionLost, DynkubeError


class PodError(DynkubeError):
    """What was requested of a pod's container did not succeed, although the server accepted the request."""


class CommandNotStarted(PodError):
    """A command could not be started in the container.

    It is not in the image, may not be executed, or the container does not run.
    """


class CommandFailed(PodError):
    """A command ended with an exit code other than 0.

    Attributes:
        exit_code: the exit code; 128 and the number of the signal for a command that was killed.
        stdout: the command's output.
        stderr: its errors; the message has the last lines of them.
    """

    def __init__(self, message: str, *, exit_code: int = 0, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


class OutputTooLong(PodError):
    """A command wrote more than was allowed for; it was not waited for.

    Attributes:
        stdout: the output so far.
        stderr: the errors so far.
    """

    def __init__(self, message: str, *, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr


class CommandLost(ConnectionLost):
    """The connection to a command ended before the command did; whether it still runs is not known.

    Attributes:
        stdout: the output that was received.
        stderr: the errors that were received.
    """

    def __init__(self, message: str, *, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr


class PortUnavailable(PodError):
    """The pod does not accept connections on a port: nothing listens there, or the pod does not run."""


class CopyFailed(PodError):
    """Files were not copied, or not completely. The message says which, and what is left of them."""


class UnsafeArchive(CopyFailed):
    """An archive from a pod has a member that would be written outside of its folder, or is no file or folder.

    Such members are links, devices, and names with ``..``. Nothing was written for it or for what follows it.
    """
