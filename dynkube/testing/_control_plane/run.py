"""One life of a server's process, which ends no later than the process that started it.

Leaving the control plane ends it; so does the end of the interpreter. On Linux the kernel ends it too when this process
is gone in any other way (``PR_SET_PDEATHSIG``); elsewhere a SIGKILL of this process leaves it behind.
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

# Runs in the new process before the server does: asks the kernel for a signal when the parent ends, makes sure that it
# has not ended before, and becomes the server. A `preexec_fn` would do it without an interpreter's start (some 20 ms),
# but runs Python between fork and exec in a process with threads, which may deadlock.
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
    """A process that was started just now, and a thread that did so and stays until the process has ended.

    The thread has to stay: what the kernel takes for the parent's death is the end of the *thread* that started it.

    Args:
        command: The command line, an absolute path first.
        log: The file that its output is appended to; it runs in the folder of it.
        environment: Its variables.

    Raises:
        ControlPlaneError: It cannot be started.

    Attributes:
        ended: Set as soon as it has ended and was waited for.
        expected: Whether its end was asked for by :meth:`ask_to_end` or :meth:`kill`.
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
        """The id of the process."""
        return self._started.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with, negative for a signal; ``None`` before."""
        return self._started.returncode if self.ended.is_set() else None

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        code = self.exit_code
        if code is None or code >= 0:
            return f"with exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:  # a real-time signal
            return f"killed by signal {-code}"

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        self._started.send_signal(number)

    def pause(self) -> None:
        """Send SIGSTOP, and wait until it stands still."""
        self.send(signal.SIGSTOP)
        if hasattr(os, "waitid"):  # macOS has it since Python 3.13
            with suppress(ChildProcessError):  # it has ended meanwhile
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def ask_to_end(self) -> None:
        """Send SIGTERM, also to one that is paused."""
        self.expected = self.expected or not self.ended.is_set()
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)  # a paused process takes no other signal, but for SIGKILL

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end. Blocks for a moment."""
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
                    process_group=0,  # Ctrl-C in a terminal is for this process alone, which ends them in order
                )
        except (OSError, ValueError) as error:  # the latter for arguments that no command line can have
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
