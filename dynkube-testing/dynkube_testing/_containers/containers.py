"""The containers of pods as a test plays them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from dynkube.errors import InvalidInput
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._containers.logs import Log
from dynkube_testing._containers.played import PODS, PlayedPods, Runs
from dynkube_testing._containers.sessions import PortFunction, SessionFunction
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.storage import Storage

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


class Containers:
    """Plays the containers of pods: no containers run in an embedded server, so a test says what they do.

    What a test plays is served whether the pod has a node or not. Requests for logs of which nothing was written, and
    connections for which there is no function, get the errors of a server that cannot reach a kubelet. The logs of a
    pod end and are removed with it.
    """

    def __init__(self, storage: Storage, registry: Registry, played: PlayedPods, now: Callable[[], datetime]) -> None:
        self._storage = storage
        self._registry = registry
        self._played = played
        self._now = now

    def write_log(
        self,
        pod: str,
        data: str | bytes,
        *,
        namespace: str = "default",
        container: str | None = None,
        time: datetime | None = None,
    ) -> None:
        """Append ``data`` to the log of a container, as if the container had written it.

        Requests that follow the log get it. The first call starts the container, also with ``""``: before that,
        requests for its log get 400 with ``is waiting to start``. After :meth:`end_log`, a call starts it again, and
        the log that ended becomes the *previous* one. The last 10 MiB and 100,000 lines of a log are kept.

        Args:
            pod: The pod's name.
            data: Lines with newlines, or parts of lines; text is encoded as UTF-8.
            namespace: The pod's namespace.
            container: The container's name; not needed if the pod has only one.
            time: When it was written, for ``timestamps``, ``sinceTime`` and ``sinceSeconds``; default: the server's
                time, and a microsecond more than in the call before if that was at the same time.

        Raises:
            NotFound: There is no such pod.
            InvalidInput: The pod has no such container, or several and none is named; or an argument is invalid.
        """
        if isinstance(data, str):
            data = data.encode()
        elif not isinstance(data, bytes):
            raise InvalidInput(f"data is of type {type(data).__name__}: pass str or bytes")
        if time is not None and time.tzinfo is None:
            raise InvalidInput(f"time is {time.isoformat()}, without a time zone: pass an aware datetime")
        runs = self._runs(pod, namespace, container)
        if runs.current.ended:
            runs.previous, runs.current = runs.current, Log()
        runs.current.write(data, time or runs.next_time(self._now()))

    def end_log(self, pod: str, *, namespace: str = "default", container: str | None = None) -> None:
        """End the current log of a container, as if the container had exited.

        Requests that follow the log are complete then. Does nothing if it has ended already.

        Args:
            pod: The pod's name.
            namespace: The pod's namespace.
            container: The container's name; not needed if the pod has only one.

        Raises:
            NotFound: There is no such pod.
            InvalidInput: The pod has no such container, or several and none is named.
        """
        self._runs(pod, namespace, container).current.end()

    def on_exec(self, function: SessionFunction | None) -> None:
        """Call ``function`` for each command that a client runs in a container (``pods/exec``), of any pod.

        Args:
            function: Gets a :class:`ContainerSession`, and returns the exit code, or output for stdout, or ``None`` for
                exit code 0. It may be async: then it can read stdin and write while it runs, and is cancelled if the
                client disconnects. If it raises an exception, that is logged, and the client gets an InternalError. It
                replaces an earlier one; ``None`` removes it.
        """
        self._played.functions.exec = function

    def on_attach(self, function: SessionFunction | None) -> None:
        """Call ``function`` for each client that attaches to a container (``pods/attach``), of any pod.

        Args:
            function: Like that of :meth:`on_exec`; the command of its session is empty.
        """
        self._played.functions.attach = function

    def on_port_forward(self, function: PortFunction | None) -> None:
        """Call the async ``function`` for each connection to a port of a pod (``pods/portforward``).

        Args:
            function: Gets a :class:`PortConnection`, and returns when the connection is done. If it raises an
                exception, that is logged, and the client gets its text. It replaces an earlier one; ``None`` removes
                it.
        """
        self._played.functions.portforward = function

    def _runs(self, pod: str, namespace: str, container: str | None) -> Runs:
        kind = next(iter(self._registry.of_storage(PODS)))
        version = self._storage.get(kind, namespace, pod)
        if version is None:
            raise refuse.not_found(kind, pod)
        name = _container_of(version.decode(kind), container)
        return self._played.play(version.uid, name)


def _container_of(pod: JSONObject, name: str | None) -> str:
    """Return the name of the container to play: ``name``, or that of the only one of ``spec.containers``."""
    spec, where = pod["spec"], f"pod {pod['metadata']['name']}"
    if name is None:
        candidates: list[str] = [each["name"] for each in spec["containers"]]
        if len(candidates) > 1:
            raise InvalidInput(f"{where} has the containers {', '.join(candidates)}: pass container=")
        return candidates[0]
    known = [each["name"] for field in CONTAINER_LISTS for each in spec.get(field) or ()]
    if name not in known:
        raise InvalidInput(f"{where} has no container {name!r}; it has {', '.join(known)}")
    return name
