"""``rollout``, ``cordon``, ``uncordon`` and ``drain``: a client's verbs on workloads and nodes."""

from __future__ import annotations

from collections.abc import Callable

from dynkube.client import LabelSelectorLike
from dynkube.client._client import APIClient
from dynkube.client._options import check_dry_run, check_timeout
from dynkube.discovery import ResourceLike
from dynkube.errors import InvalidInput
from dynkube.meta import LabelSelector, Unstructured
from dynkube.meta._arguments import brief
from dynkube.workloads._drain import DrainSettings, drain, set_unschedulable
from dynkube.workloads._pod_verdicts import DrainOptions, DrainReport
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

    async def cordon(self, node: str, *, dry_run: bool = False, timeout: float | None = None) -> Unstructured:
        """Mark a node as unschedulable: no new pods are assigned to it, those on it stay (``kubectl cordon``).

        Args:
            node: name of the node.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The node as stored.

        Raises:
            NotFound: there is no node of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        return await set_unschedulable(self._api, node, True, dry_run=dry_run, timeout=timeout)

    async def uncordon(self, node: str, *, dry_run: bool = False, timeout: float | None = None) -> Unstructured:
        """Mark a node as schedulable again (``kubectl uncordon``).

        Args:
            node: name of the node.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The node as stored.

        Raises:
            NotFound: there is no node of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        return await set_unschedulable(self._api, node, False, dry_run=dry_run, timeout=timeout)

    async def drain(
        self,
        node: str,
        *,
        ignore_daemonsets: bool = False,
        delete_emptydir_data: bool = False,
        force: bool = False,
        pod_selector: LabelSelectorLike = None,
        grace_period: int | None = None,
        disable_eviction: bool = False,
        parallel: int = 10,
        on_report: Callable[[DrainReport], object] | None = None,
        dry_run: bool = False,
        timeout: float | None = 600.0,
    ) -> DrainReport:
        """Cordon a node, evict its pods, and wait until they are gone (``kubectl drain``).

        Each pod is evicted if its PodDisruptionBudget allows it; one that is blocked is tried again, every five seconds
        or as the server asks, until ``timeout``. Static pods are skipped. If any pod may not be evicted by these
        options, none is, as with kubectl. Requires permission to patch nodes, to list and watch pods, to get
        DaemonSets, and to create ``pods/eviction``.

        The node remains cordoned, also if the drain fails or is cancelled; a cancelled one logs that.

        Args:
            node: name of the node.
            ignore_daemonsets: skip pods that a DaemonSet manages, instead of refusing to drain the node.
            delete_emptydir_data: also evict pods with emptyDir volumes, whose data is deleted.
            force: also evict pods without a controller, and those whose DaemonSet does not exist.
            pod_selector: evict only these pods, by their labels.
            grace_period: seconds for pods to terminate; ``None`` means what each pod specifies.
            disable_eviction: delete the pods, regardless of PodDisruptionBudgets.
            parallel: maximum number of concurrent requests.
            on_report: called with the report after each change, to show the progress. If it raises, the drain ends with
                that exception.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole drain; ``None`` waits forever.

        Returns:
            What became of each pod: all are gone, or skipped.

        Raises:
            DrainError: a pod may not be evicted, its eviction failed, or the pods were not gone in time; ``report`` has
                each pod.
            InvalidInput: an argument is invalid.
            NotFound: there is no node of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        flags = {
            "ignore_daemonsets": ignore_daemonsets,
            "delete_emptydir_data": delete_emptydir_data,
            "force": force,
            "disable_eviction": disable_eviction,
        }
        _check_drain(flags, grace_period, parallel)
        check_dry_run(dry_run)
        check_timeout(timeout)
        settings = DrainSettings(
            options=DrainOptions(
                ignore_daemonsets=ignore_daemonsets, delete_emptydir_data=delete_emptydir_data, force=force
            ),
            pod_selector=LabelSelector.parse(pod_selector),
            grace_period=grace_period,
            disable_eviction=disable_eviction,
            dry_run=dry_run,
            parallel=parallel,
            timeout=timeout,
        )
        return await drain(self._api, node, settings, on_report)


def _check_drain(flags: dict[str, bool], grace_period: object, parallel: object) -> None:
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise InvalidInput(f"{name} is {brief(flag)}: pass True or False")
    for name, number, least in (("grace_period", grace_period, 0), ("parallel", parallel, 1)):
        if number is None and name == "grace_period":
            continue
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise InvalidInput(f"{name} is {brief(number)}: pass an integer >= {least}")
