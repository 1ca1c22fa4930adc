"""Health and readiness of running controllers, and the ASGI app that reports them with the metrics.

The paths and the texts are those of the API server's health endpoints, which controller-runtime has as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias
from urllib.parse import parse_qs

from dynkube._guard import attempt, text_of
from dynkube._logs import get_logger
from dynkube.controllers._status import ControllerPhase, ControllerStatus
from dynkube.informers import Phase

Message: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

LIVENESS: Final = frozenset({"/healthz", "/livez"})
READINESS: Final = "/readyz"
METRICS: Final = "/metrics"

_SYNCED: Final = frozenset({ControllerPhase.STANDBY, ControllerPhase.RUNNING})
_SHOWN: Final = 5  # informers in the reason of a failed check
_TEXT: Final = "text/plain; charset=utf-8"

_log: Final = get_logger("dynkube.controllers")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check.

    Attributes:
        name: its name, as in ``?exclude=NAME``.
        problem: why it failed; ``""`` if it passed.
    """

    name: str
    problem: str = ""


class Checked(Protocol):
    """Running controllers."""

    def statuses(self) -> Iterable[ControllerStatus]:
        """Return the status of each controller, in each cluster."""
        ...

    def healthy(self) -> bool:
        """Return whether the process may continue to run."""
        ...


def liveness(controllers: Checked) -> list[Check]:
    """Return the checks of ``/livez``: if one fails, the process has to be killed."""
    stuck = "" if controllers.healthy() else "the lease has expired, and reconciles are still running"
    return [Check("ping"), Check("leader-election", stuck)]


def readiness(controllers: Checked, checks: Mapping[str, Callable[[], object]]) -> list[Check]:
    """Return the checks of ``/readyz``: that informers are synced, and those of the user.

    Args:
        controllers: the running controllers.
        checks: the user's, by name: they fail if they return ``False`` or raise.
    """
    return [
        *(Check(_name_of(status), _not_ready(status)) for status in controllers.statuses()),
        *(Check(name, _problem(name, check)) for name, check in checks.items()),
    ]


def _name_of(status: ControllerStatus) -> str:
    return f"{status.name}/{status.cluster}" if status.cluster else status.name


def _not_ready(status: ControllerStatus) -> str:
    if status.phase in _SYNCED:
        return ""
    if status.phase is not ControllerPhase.SYNCING:
        return f"the controller is {status.phase.lower()}"
    waiting = [
        f"{resource} is {state.phase} ({state.reason})"
        for resource, state in status.informers
        if state.phase not in {Phase.LIVE, Phase.ABSENT}
    ]
    if status.problem:
        waiting.insert(0, "the log has the reason")  # its text is not meant for everyone who can connect
    return "; ".join(waiting[:_SHOWN]) or "informers are not synced"


def _problem(name: str, check: Callable[[], object]) -> str:
    problems: list[str] = []

    def failed(exc: Exception) -> None:
        _log.warning("the readiness check %s failed: %s", name, text_of(exc))
        problems.append(type(exc).__name__)  # its text may have what is not meant for everyone who can connect

    if attempt(check, None, failed) is False:
        problems.append("returned False")
    return "".join(problems)


class ProbeApp:
    """An ASGI app with ``/livez``, ``/healthz``, ``/readyz`` and ``/metrics``.

    Args:
        controllers: the running controllers.
        checks: the user's readiness checks.
        metrics: returns the content type and the content of ``/metrics``; ``None`` for 404.
    """

    def __init__(
        self,
        controllers: Checked,
        checks: Mapping[str, Callable[[], object]],
        metrics: Callable[[], Awaitable[tuple[str, bytes]]] | None,
    ) -> None:
        self._controllers = controllers
        self._checks = checks
        self._metrics = metrics

    async def __call__(self, scope: Mapping[str, object], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            status, kind, content = await self._answer(scope)
            headers = [(b"content-type", kind.encode()), (b"content-length", str(len(content)).encode())]
            headers += [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})
        else:
            await send({"type": "websocket.close"})

    async def _answer(self, scope: Mapping[str, object]) -> tuple[int, str, bytes]:
        path, query = str(scope["path"]), scope["query_string"]
        if scope["method"] not in {"GET", "HEAD"}:
            return 405, _TEXT, b"only GET and HEAD are allowed\n"
        asked = parse_qs(query.decode("latin-1") if isinstance(query, bytes) else "", keep_blank_values=True)
        where, _, name = path[1:].partition("/")
        if f"/{where}" in LIVENESS:
            return _report(where, liveness(self._controllers), name, asked)
        if f"/{where}" == READINESS:
            return _report(where, readiness(self._controllers, self._checks), name, asked)
        if path == METRICS and self._metrics is not None:
            kind, content = await self._metrics()
            return 200, kind, content
        return 404, _TEXT, b"not found: the paths are /livez, /readyz, /healthz and, with metrics=, /metrics\n"


def _report(
    endpoint: str, checks: Iterable[Check], name: str, asked: Mapping[str, list[str]]
) -> tuple[int, str, bytes]:
    """Return the response for some checks: ``ok``, or the list of them if one failed or with ``?verbose``."""
    if name:
        checks = [check for check in checks if check.name == name]
        if not checks:
            return 404, _TEXT, b"there is no check of this name\n"
    excluded = set(asked.get("exclude", ()))
    lines, failed = [], False
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok\n")
        elif not check.problem:
            lines.append(f"[+]{check.name} ok\n")
        else:
            failed = True
            lines.append(f"[-]{check.name} failed: {check.problem}\n")
    if failed:
        return 500, _TEXT, f"{''.join(lines)}{endpoint} check failed\n".encode()
    if "verbose" in asked:
        return 200, _TEXT, f"{''.join(lines)}{endpoint} check passed\n".encode()
    return 200, _TEXT, b"ok"


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
