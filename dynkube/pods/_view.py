"""What of a pod's object explains why something failed: its containers and their states. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dynkube._server_text import word


class Container(msgspec.Struct, frozen=True):
    """A container of a pod's ``spec``."""

    name: str = ""
    tty: bool = False
    stdin: bool = False


class _Reason(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    exit_code: int | None = msgspec.field(default=None, name="exitCode")


class _State(msgspec.Struct, frozen=True):
    waiting: _Reason | None = None
    running: dict[str, Any] | None = None
    terminated: _Reason | None = None


class _ContainerStatus(msgspec.Struct, frozen=True):
    name: str = ""
    state: _State = _State()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[Container] = []
    init_containers: list[Container] = []
    ephemeral_containers: list[Container] = []
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    container_statuses: list[_ContainerStatus] = []
    init_container_statuses: list[_ContainerStatus] = []
    ephemeral_container_statuses: list[_ContainerStatus] = []


class PodView(msgspec.Struct, frozen=True):
    """A pod's containers and their states."""

    spec: _Spec = _Spec()
    status: _Status = _Status()

    @classmethod
    def of(cls, body: bytes) -> PodView | None:
        """Decode a pod; ``None`` if it is none."""
        try:
            return msgspec.json.decode(body, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def containers(self) -> Iterator[Container]:
        """Yield all containers: first those of ``spec.containers``, then the ephemeral ones, then the init ones."""
        for group in (self.spec.containers, self.spec.ephemeral_containers, self.spec.init_containers):
            yield from group

    def container(self, name: str | None) -> Container | None:
        """Return the container of that name; for ``None``, the only or first one of ``spec.containers``."""
        return next((each for each in self.containers() if name is None or each.name == name), None)

    def why_not(self, name: str | None) -> str:
        """Return why nothing can be done in a container; ``""`` if the pod's object does not say.

        Args:
            name: the container's name, as the caller gave it.
        """
        container = self.container(name)
        if container is None:
            known = ", ".join(each.name for each in self.containers())
            return f"the pod has no container {name!r}; it has {known}" if name is not None else ""
        state = self._state(container.name)
        if not self.spec.node_name:
            return self.not_running()
        if state.waiting is not None:
            return f"container {container.name!r} does not run yet: {_because(state.waiting)}"
        if state.terminated is not None:
            return f"container {container.name!r} has terminated: {_because(state.terminated)}"
        return self.not_running() if state.running is None else ""

    def not_running(self) -> str:
        """Return why the pod does not run; ``""`` if it does, or its object does not say."""
        phase = word(self.status.phase)
        if not self.spec.node_name:
            return f"the pod is {phase or 'Pending'}: it has no node yet, so none of its containers runs"
        return "" if phase in ("", "Running") else f"the pod is {phase}"

    def is_running(self, name: str) -> bool:
        """Whether the container runs."""
        return self._state(name).running is not None

    def ended(self, name: str) -> str:
        """Return why the container does not and will not run; ``""`` if it may still."""
        terminated = self._state(name).terminated
        return "" if terminated is None else _because(terminated)

    def _state(self, name: str) -> _State:
        status = self.status
        for group in (status.container_statuses, status.init_container_statuses, status.ephemeral_container_statuses):
            for each in group:
                if each.name == name:
                    return each.state
        return _State()


def _because(reason: _Reason) -> str:
    code = "" if reason.exit_code is None else f", exit code {reason.exit_code}"
    return f"{word(reason.reason) or 'no reason'}{code}"
