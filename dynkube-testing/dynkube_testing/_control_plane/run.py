"""One run of a server process, which does not outlive this process.

The server is killed at the end of the control plane's block, and when the interpreter exits. On Linux the kernel also
kills it if this process ends in any other way (``PR_SET_PDEATHSIG``). On other systems the server keeps running if this
process is killed by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dynkube.errors import ControlPlaneError

# Python code that is run first in the new process. It requests SIGKILL for the end of the parent process, checks that
# the parent has not ended already, and executes the server. A `preexec_fn` would save the start of an interpreter (some
# 20 ms), but runs Python code between fork and exec in a process with threads, which may deadlock.
_BECOME = (
    "import os, signal, sys\n"
    "try:\n"
    "    import ctypes\n"
    "    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)\n"
    "except (ImportError, AttributeError): pass\n"  # a Python without ctypes, a libc without prctl
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)


class Run:
    """A server process, and the thread that has started it and waits for its end.

    The thread must exist as long as the process, since ``PR_SET_PDEATHSIG`` kills the process when the *thread* that
    has started it ends.

    Args:
        command: The command line, starting with the absolute path of the program.
        log: The file to which output is appended. Its folder is the working directory.
        environment: The environment variables.

    Raises:
        ControlPlaneError: The process cannot be started.

    Attributes:
        ended: Set when the process has ended and its exit code is known.
        expected: Whether the end of the process was requested by :meth:`terminate` or :meth:`kill`.
    """

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.ended = threading.Event()
        self.expected = False
        self._launched = threading.Event()
        self._failure: Exception | None = None
        self._process: subprocess.Popen[bytes] | None = None
        name = f"dynkube: {Path(command[0]).name}"
        threading.Thread(target=self._keep, args=(command, log, environment), name=name, daemon=True).start()
        self._launched.wait()
        if self._failure is not None:
            raise ControlPlaneError(f"{command[0]} cannot be started: {self._failure}") from self._failure

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._started.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; ``None`` while it is running."""
        return self._started.returncode if self.ended.is_set() else None

    @property
    def ending(self) -> str:
        """How the process ended, like ``with exit code 1`` or ``killed by SIGKILL``."""
        code = self.exit_code
        if code is None or code >= 0:
            return f"with exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:  # a real-time signal
            return f"killed by signal {-code}"

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        self._started.send_signal(number)

    def pause(self) -> None:
        """Send SIGSTOP, and wait until the process is stopped."""
        self.send(signal.SIGSTOP)
        if hasattr(os, "waitid"):  # macOS has it since Python 3.13
            with suppress(ChildProcessError):  # it has ended meanwhile
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def terminate(self) -> None:
        """Send SIGTERM, and resume the process if it is paused. Does not wait for its end."""
        self.expected = self.expected or not self.ended.is_set()
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)  # a paused process handles no signal except SIGKILL until it is continued

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process has ended. Blocks briefly."""
        self.expected = self.expected or not self.ended.is_set()
        self.send(signal.SIGKILL)
        self.ended.wait()

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _keep(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        try:
            with log.open("ab") as output:
                self._process = subprocess.Popen(  # noqa: S603 - the user says which program
                    _dying_with_parent(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(environment),
                    cwd=log.parent,
                    process_group=0,  # so that Ctrl-C is sent only to this process, which ends the servers in order
                )
        except (OSError, ValueError) as error:  # ValueError: an argument with a null byte
            self._failure = error
        finally:
            self._launched.set()
        if self._process is not None:
            self._process.wait()
        self.ended.set()


def _dying_with_parent(command: Sequence[str]) -> list[str]:
    if sys.platform != "linux" or not sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _BECOME, str(os.getpid()), *command]
