"""One server of a control plane: started until it is ready, stopped, killed, paused, its log at hand."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import trio

from dynkube.errors import ClosedError, ControlPlaneError
from dynkube.testing._control_plane.run import Run

_POLL_SECONDS = 0.05
_TAIL_LINES = 20


class ServerProcess:
    """``kube-apiserver`` or ``etcd`` of a :class:`ControlPlane`: ``plane.api_server``, ``plane.etcd``.

    A method returns once what it says is done, and may be called from any thread. In a task of trio say
    ``await trio.to_thread.run_sync(plane.api_server.restart)``: the loop goes on meanwhile, and where the task is
    cancelled, what is waited for is given up, and a server that was not ready yet is killed.

    Attributes:
        name: ``"kube-apiserver"`` or ``"etcd"``.
        command: The command line, program first.
        log: The file with all that it has written, in all its lives.
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
        self.command: tuple[str, ...] = tuple(command)
        self.log = log
        self._environment = dict(environment)
        self._probe = probe
        self._start_timeout = start_timeout
        self._stop_timeout = stop_timeout
        self._starting = threading.Lock()
        self._retired = False
        self._run: Run | None = None
        self._log_offset = 0

    def __repr__(self) -> str:
        ended = f"ended {self.ending}" if self.ending else "not started"
        state = f"pid {self.pid}" if self.running else ended
        return f"<ServerProcess {self.name}: {state}; log {self.log}>"

    @property
    def running(self) -> bool:
        """Whether the process is there; a paused one is."""
        return self._run is not None and not self._run.ended.is_set()

    @property
    def pid(self) -> int | None:
        """The id of its process; ``None`` where it is not running."""
        return self._run.pid if self._run is not None and self.running else None

    @property
    def exit_code(self) -> int | None:
        """What it ended with last, ``-9`` for SIGKILL; ``None`` while it runs, and before."""
        return None if self._run is None else self._run.exit_code

    @property
    def ending(self) -> str:
        """How it ended last, in words: ``with exit code 1``, ``killed by SIGKILL``; empty while it runs, and before."""
        return "" if self._run is None or self.running else self._run.ending

    @property
    def crashed(self) -> bool:
        """Whether it has ended, and nobody here asked it to."""
        return self._run is not None and self._run.ended.is_set() and not self._run.expected

    def start(self) -> None:
        """Start it, on the same port and data as ever, and wait until it is ready. Does nothing where it runs.

        Raises:
            ControlPlaneError: It ended, or was not ready in time and was killed. The message has its last lines.
            ClosedError: Its control plane has ended.
        """
        with self._starting:
            if self._retired:
                raise ClosedError(f"the control plane of this {self.name} has ended")
            if self.running:
                return
            self._log_offset = self.log.stat().st_size if self.log.exists() else 0
            run = self._run = Run(self.command, self.log, self._environment)
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
        self._wait_ready(self._present())

    def stop(self) -> None:
        """Ask it to end (SIGTERM), and wait until it has. Does nothing where it does not run.

        kube-apiserver lets requests finish. While clients watch it takes a minute, then cuts the watches; from 1.27 on
        it ends them early with ``api_server_flags={"shutdown-watch-termination-grace-period": "1s"}``. While etcd is
        away it does not end in time: :meth:`kill` it. etcd takes some seconds to let go of a kube-apiserver.

        Raises:
            ControlPlaneError: It had not ended in time, and was killed.
        """
        if self._run is None:
            return
        run = self._run
        run.ask_to_end()
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
        """:meth:`stop` it and :meth:`start` it, with what they raise."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Make it stand still (SIGSTOP): connections stay open, new ones are taken, and nobody answers.

        Raises:
            ControlPlaneError: It is not running.
        """
        self._present().pause()

    def resume(self) -> None:
        """Let it go on after :meth:`pause` (SIGCONT).

        Raises:
            ControlPlaneError: It is not running.
        """
        self._present().send(signal.SIGCONT)

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """The last lines of what it has written since it was started last. Blocks on the file system."""
        return "\n".join(self._output().splitlines()[-lines:])

    def _retire(self) -> None:
        """Kill it, and let nobody start it again: its control plane has ended."""
        with self._starting:
            self._retired = True
        self.kill()

    def _found_port_taken(self) -> bool:
        """Whether it ended because somebody else listened where it was to listen."""
        return not self.running and "address already in use" in self._output()

    def _present(self) -> Run:
        if self._run is None or self._run.ended.is_set():
            raise ControlPlaneError(f"{self.name} is not running; start() it first")
        return self._run

    def _wait_ready(self, run: Run) -> None:
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
        raise ControlPlaneError(f"{self.name} ended before it was ready, {run.ending}{self._said()}")

    def _said(self) -> str:
        """Its last lines for a message, without the manual that etcd prints below a complaint."""
        said = "\n".join(self._output().split("\nUsage:")[0].splitlines()[-_TAIL_LINES:])
        return f"; the end of its log, {self.log}:\n{said}" if said else f"; its log, {self.log}, is empty"

    def _output(self) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(self._log_offset)
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""


def _raise_if_cancelled() -> None:
    """Raise ``trio.Cancelled`` where this thread works for a task that was cancelled (``trio.to_thread.run_sync``)."""
    try:
        trio.from_thread.check_cancelled()
    except RuntimeError:  # not such a thread
        return
