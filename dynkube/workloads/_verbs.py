"""``rollout``: a client's verbs on workloads."""

from __future__ import annotations

from dynkube.client._client import APIClient
from dynkube.discovery import ResourceLike
from dynkube.workloads._rollout import Rollout, wall_clock


class WorkloadVerbs:
    """The verbs of a client on workloads."""

    @property
    def _api(self) -> APIClient:
        raise NotImplementedError

    def rollout(self, resource: ResourceLike, name: str, *, namespace: str | None = None) -> Rollout:
        """Return the rollout of a workload: its status, history, restart, undo, pause and resume.

        ::

            rollout = client.rollout("deploy", "web", namespace="shop")
            await rollout.restart()
            await rollout.wait()

        Does no I/O: an unknown resource or name is an error when a method is called.

        Args:
            resource: a Deployment, StatefulSet or DaemonSet as kubectl takes it (``"deploy"``, ``"sts"``, ``"ds"``), or
                any other resource with conditions, such as a custom resource; see
                :class:`~dynkube.workloads.Rollout`.
            name: name of the object.
            namespace: ``None`` means the context's namespace.

        Raises:
            InvalidInput: the string cannot be the name of a resource.
            ClosedError: the client is not open.
        """
        return Rollout(self._api, resource, name, namespace, wall_clock)
