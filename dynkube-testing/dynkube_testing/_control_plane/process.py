"""A server process of a control plane."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import trio

from dynkube.errors import ClosedError, ControlPlaneError
from dynkube_testing._control_plane.run import Run

_POLL_SECONDS = 0.05
_TAIL_LINES = 20


class ServerProcess:
    """A server of a :class:`ControlPlane`.

    It is available as ``plane.api_server``, ``plane.etcd``, ``plane.controller_manager`` or ``plane.scheduler``. The
    methods block until the operation is complete, and may be called from any thread. In a trio task use ``await
    trio.to_thread.run_sync(plane.api_server.restart)``, which does not block the event loop. If the task is cancelled,
    the method stops waiting, and a server that was started by it and is not ready yet is killed.

    Attributes:
        name: The name of the program, like ``"kube-apiserver"``.
        command: The command line, program first.
        log: The log file; restarts append to it.
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
        """Whether the process exists; also true while it is paused."""
        return self._run is not None and not self._run.ended.is_set()

    @property
    def pid(self) -> int | None:
        """The process ID; ``None`` if it is not running."""
        return self._run.pid if self._run is not None and self.running else None

    @property
    def exit_code(self) -> int | None:
        """The exit code (``-9`` for SIGKILL) of the last run.

        ``None`` while the process is running, and before it was started.
        """
        return None if self._run is None else self._run.exit_code

    @property
    def ending(self) -> str:
        """How the last run ended: ``with exit code 1``, ``killed by SIGKILL``.

        ``""`` while the process is running, and before it was started.
        """
        return "" if self._run is None or self.running else self._run.ending

    @property
    def crashed(self) -> bool:
        """Whether the last run ended by itself, and not by a method of this object."""
        return self._run is not None and self._run.ended.is_set() and not self._run.expected

    def start(self) -> None:
        """Start the server with the same port and data, and wait until it is ready.

        Does nothing if it is running.

        Raises:
            ControlPlaneError: The server exited, or was not ready in time and was killed. The message has its last log
                lines.
            ClosedError: The control plane has ended.
        """
        with self._starting:
            if self._retired:
                raise ClosedError(f"the control plane of this {self.name} has stopped")
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
        """Wait until the server is ready.

        Use this after :meth:`resume`, or for kube-apiserver after an outage of etcd.

        Raises:
            ControlPlaneError: The server is not running, exited, or was not ready in time (then it is not killed).
        """
        self._wait_ready(self._present())

    def stop(self) -> None:
        """Terminate the server (SIGTERM) and wait until it has exited.

        Does nothing if it is not running.

        kube-apiserver finishes running requests. It waits a minute for open watches, then breaks them off; since 1.27
        ``api_server_flags={"shutdown-watch-termination-grace-period": "1s"}`` ends them earlier. While etcd is down,
        kube-apiserver does not exit in time; use :meth:`kill` instead. etcd takes some seconds to exit while a
        kube-apiserver is connected.

        Raises:
            ControlPlaneError: The server did not exit in time, and was killed.
        """
        if self._run is None:
            return
        run = self._run
        run.terminate()
        deadline = time.monotonic() + self._stop_timeout
        while not run.ended.wait(_POLL_SECONDS):
            _raise_if_cancelled()
            if time.monotonic() > deadline:
                run.kill()
                late = f"{self._stop_timeout:g} seconds after SIGTERM (stop_timeout=)"
                raise ControlPlaneError(f"{self.name} had not exited {late}, and was killed{self._last_log_lines()}")

    def kill(self) -> None:
        """Kill the server at once (SIGKILL), which breaks off its connections.

        Does nothing if it is not running.
        """
        if self._run is not None:
            self._run.kill()

    def restart(self) -> None:
        """Stop the server (SIGTERM), start it again and wait until it is ready.

        Raises:
            ControlPlaneError: The server did not exit in time and was killed, exited while starting, or was not ready
                in time.
            ClosedError: The control plane has ended.
        """
        self.stop()
        self.start()

    def pause(self) -> None:
        """Pause the server (SIGSTOP).

        Connections stay open and the kernel accepts new ones, but no request gets a response.

        Raises:
            ControlPlaneError: The server is not running.
        """
        self._present().pause()

    def resume(self) -> None:
        """Resume the server after :meth:`pause` (SIGCONT).

        Raises:
            ControlPlaneError: The server is not running.
        """
        self._present().send(signal.SIGCONT)

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """Return the last log lines since the last start. This is blocking file I/O."""
        return "\n".join(self._output().splitlines()[-lines:])

    def _retire(self) -> None:
        """Kill the server, and make later calls of :meth:`start` raise ClosedError."""
        with self._starting:
            self._retired = True
        self.kill()

    def _found_port_taken(self) -> bool:
        """Return whether the server exited because its port was in use."""
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
                raise ControlPlaneError(f"{self.name} was not ready after {late}: {trouble}{self._last_log_lines()}")
            run.ended.wait(_POLL_SECONDS)
        raise ControlPlaneError(f"{self.name} exited before it was ready, {run.ending}{self._last_log_lines()}")

    def _last_log_lines(self) -> str:
        """Return the last log lines for an error message.

        The usage text of etcd is omitted.
        """
        last_lines = "\n".join(self._output().split("\nUsage:")[0].splitlines()[-_TAIL_LINES:])
        return f"; the end of its log, {self.log}:\n{last_lines}" if last_lines else f"; its log, {self.log}, is empty"

    def _output(self) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(self._log_offset)
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""


def _raise_if_cancelled() -> None:
    """Raise ``trio.Cancelled`` if the task that waits for this thread is cancelled.

    This has an effect only in threads that were started by ``trio.to_thread.run_sync``.
    """
    try:
        trio.from_thread.check_cancelled()
    except RuntimeError:  # not a thread of trio
        return
