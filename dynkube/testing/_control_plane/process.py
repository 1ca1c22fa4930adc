"""One server of a control plane, as a process: started until it is ready, stopped, killed, paused, its log at hand.

No process outlives the one that started it. Leaving the control plane ends them; so does the end of the interpreter;
and on Linux the kernel kills them when this process is gone in any way (``PR_SET_PDEATHSIG``, `prctl(2)`). Elsewhere a
SIGKILL of this process leaves them behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import trio

from dynkube.errors import ControlPlaneError

_POLL_SECONDS = 0.1
_TAIL_LINES = 20

# Runs in the new process before the server does: asks the kernel for a signal when the parent ends, makes sure that it
# has not ended before, and becomes the server. A `preexec_fn` would do it without an interpreter's start (some 20 ms),
# but runs Python between fork and exec of a process with threads, which may deadlock.
_BECOME = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)


class ServerProcess:
    """``kube-apiserver`` or ``etcd`` of a running :class:`ControlPlane`: ``plane.api_server``, ``plane.etcd``.

    Every method blocks until what it says is true, and may be called from any thread. In a task of trio call them as
    ``await trio.to_thread.run_sync(plane.api_server.restart)``: the loop goes on, and where the task is cancelled
    while the server is starting, the start ends and takes the server with it.

    Attributes:
        name: ``"kube-apiserver"`` or ``"etcd"``.
        command: The command line, program first.
        log: The file with all it has written, of all its starts.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        probe: Callable[[], str],
        start_timeout: float,
        stop_timeout: float,
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._environment = dict(environment)
        self._probe = probe
        self._start_timeout = start_timeout
        self._stop_timeout = stop_timeout
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._log_offset = 0

    @property
    def running(self) -> bool:
        """Whether the process is there; a paused one is."""
        return self._run is not None and not self._run.ended.is_set()

    @property
    def pid(self) -> int | None:
        """The id of its process; ``None`` where it is not running."""
        return self._run.process.pid if self._run is not None and self.running else None

    @property
    def exit_code(self) -> int | None:
        """What it ended with last, ``-9`` for SIGKILL; ``None`` while it runs."""
        return self._run.process.returncode if self._run is not None and not self.running else None

    def start(self) -> None:
        """Start it, on the same ports and data as ever, and wait until it is ready. Does nothing where it runs.

        Raises:
            ControlPlaneError: It ended, or was not ready in time (and was killed). The message has its last lines.
        """
        with self._lock:
            if self.running:
                return
            self._log_offset = self.log.stat().st_size if self.log.exists() else 0
            run = self._run = _Run(self.name, self.command, self.log, self._environment)
        try:
            self._wait_ready(run)
        except BaseException:
            run.kill()
            raise

    def wait_ready(self) -> None:
        """Wait until it says that it is ready: after :meth:`resume`, or for kube-apiserver when etcd has been away.

        Raises:
            ControlPlaneError: It is not running, ended, or was not ready in time (and goes on).
        """
        self._wait_ready(self._running())

    def stop(self) -> None:
        """Ask it to end (SIGTERM) and wait until it has. Does nothing where it does not run.

        kube-apiserver lets requests finish, watches too, so this takes long while clients watch.

        Raises:
            ControlPlaneError: It had not ended in time, and was killed.
        """
        run = self._run
        if run is None or run.ended.is_set():
            return
        run.expected = True
        run.send(signal.SIGTERM)
        run.send(signal.SIGCONT)  # a paused process takes no other signal
        deadline = time.monotonic() + self._stop_timeout
        while not run.ended.wait(_POLL_SECONDS):
            _raise_if_cancelled()
            if time.monotonic() > deadline:
                run.kill()
                late = f"{self._stop_timeout:g} seconds after SIGTERM (stop_timeout=)"
                raise ControlPlaneError(f"{self.name} had not ended {late}, and was killed{self._said()}")

    def kill(self) -> None:
        """End it at once (SIGKILL): connections are cut, nothing is finished. Does nothing where it does not run."""
        if self._run is not None:
            self._run.kill()

    def restart(self) -> None:
        """:meth:`stop` and :meth:`start`."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let it stand still (SIGSTOP): connections stay open, and nobody answers.

        Raises:
            ControlPlaneError: It is not running.
        """
        self._running().send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after :meth:`pause` (SIGCONT).

        Raises:
            ControlPlaneError: It is not running.
        """
        self._running().send(signal.SIGCONT)

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """The last lines of what it has written since it was started last. Blocks on the file system."""
        try:
            with self.log.open("rb") as file:
                file.seek(self._log_offset)
                return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])
        except FileNotFoundError:
            return ""

    @property
    def port_was_taken(self) -> bool:
        """Whether it ended because somebody else listens where it wanted to."""
        return not self.running and "address already in use" in self.tail()

    @property
    def crashed(self) -> bool:
        """Whether it ended by itself, or by somebody else's signal."""
        return self._run is not None and self._run.ended.is_set() and not self._run.expected

    def _running(self) -> _Run:
        if self._run is None or self._run.ended.is_set():
            raise ControlPlaneError(f"{self.name} is not running; start() it first")
        return self._run

    def _wait_ready(self, run: _Run) -> None:
        deadline = time.monotonic() + self._start_timeout
        while not run.ended.is_set():
            _raise_if_cancelled()
            trouble = self._probe()
            if not trouble:
                return
            if time.monotonic() > deadline:
                late = f"{self._start_timeout:g} seconds (start_timeout=)"
                raise ControlPlaneError(f"{self.name} was not ready after {late}: {trouble}{self._said()}")
            run.ended.wait(_POLL_SECONDS)
        raise ControlPlaneError(
            f"{self.name} ended before it was ready, {_ending(run.process.returncode)}{self._said()}"
        )

    def _said(self) -> str:
        said = self.tail()
        return f"; the end of its log, {self.log}:\n{said}" if said else f"; its log, {self.log}, is empty"


class _Run:
    """One life of a process, and a thread that starts it and stays until it has ended.

    The kernel counts the end of the *thread* that started a process as its parent's death, so that thread has to stay.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.ended = threading.Event()
        self.expected = False
        self._started: list[subprocess.Popen[bytes] | OSError] = []
        self._launched = threading.Event()
        keeper = threading.Thread(
            target=self._keep, args=(command, log, environment), name=f"dynkube {name}", daemon=True
        )
        keeper.start()
        self._launched.wait()
        result = self._started[0]
        if isinstance(result, OSError):
            raise ControlPlaneError(f"{name} cannot be started: {result.strerror} ({command[0]})") from result
        self.process = result

    def _keep(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        try:
            with log.open("ab") as output:
                process = subprocess.Popen(  # noqa: S603 - the user says which program
                    _dying_with_parent(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(environment),
                    cwd=log.parent,
                    process_group=0,  # Ctrl-C in a terminal is for this process alone, which ends them in order
                )
        except OSError as error:
            self._started.append(error)
            self.ended.set()
            return
        else:
            self._started.append(process)
        finally:
            self._launched.set()
        process.wait()
        self.ended.set()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        self.process.send_signal(number)

    def kill(self) -> None:
        self.expected = True
        self.send(signal.SIGKILL)
        self.ended.wait()


def _dying_with_parent(command: Sequence[str]) -> list[str]:
    if sys.platform != "linux" or not sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _BECOME, str(os.getpid()), *command]


def _ending(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _raise_if_cancelled() -> None:
    """Raise ``trio.Cancelled`` where this thread works for a task that was cancelled (``trio.to_thread.run_sync``)."""
    try:
        trio.from_thread.check_cancelled()
    except RuntimeError:  # not such a thread
        return
