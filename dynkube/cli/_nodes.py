"""``dynkube cordon``, ``dynkube uncordon`` and ``dynkube drain``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import Flag, read_timeout
from dynkube.cli._cluster import Cluster
from dynkube.cli._logging import warnings_as_notes
from dynkube.cli._output import Output
from dynkube.cli._progress import Progress
from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput, InvalidSelector
from dynkube.meta import LabelSelector
from dynkube.workloads import DrainReport, PodOutcome


async def cordon(
    node: str,
    /,
    *,
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Mark a node as unschedulable: no new pods are assigned to it, those on it stay.

    Args:
        node: Name of the node.
        dry_run: Validate it on the server, without writing anything.
        cluster: The cluster.
    """
    async with cluster.client() as client:
        await client.cordon(node, dry_run=dry_run)
    await _print_done(node, "cordoned", dry_run=dry_run)


async def uncordon(
    node: str,
    /,
    *,
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Mark a node as schedulable again.

    Args:
        node: Name of the node.
        dry_run: Validate it on the server, without writing anything.
        cluster: The cluster.
    """
    async with cluster.client() as client:
        await client.uncordon(node, dry_run=dry_run)
    await _print_done(node, "uncordoned", dry_run=dry_run)


async def drain(
    node: str,
    /,
    *,
    ignore_daemonsets: Flag = False,
    delete_emptydir_data: Flag = False,
    force: Flag = False,
    pod_selector: str = "",
    grace_period: int = -1,
    disable_eviction: Flag = False,
    timeout: str = "0",
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Cordon a node, evict its pods, and wait until they are gone.

    Prints a line whenever the outcome of a pod changes. A pod that its PodDisruptionBudget protects is tried again
    until --timeout. Exits with 1 if not all pods are gone or skipped; the node remains cordoned, also after Ctrl-C.

    Args:
        node: Name of the node.
        ignore_daemonsets: Leave pods of DaemonSets on the node; without it, they are refused and nothing is evicted.
        delete_emptydir_data: Also evict pods with emptyDir volumes, whose data is deleted.
        force: Also evict pods without a controller, which nothing creates again.
        pod_selector: Only pods with these labels.
        grace_period: Seconds for pods to terminate; -1 for what each pod specifies.
        disable_eviction: Delete the pods, regardless of PodDisruptionBudgets.
        timeout: How long to try (30s, 5m); 0 for no limit.
        dry_run: Validate everything on the server, without writing anything.
        cluster: The cluster.
    """
    if grace_period < -1:
        raise CommandFailed(f"--grace-period must be a number of seconds >= 0, or -1, not {grace_period}")
    try:
        selector = LabelSelector.parse(pod_selector)
    except InvalidSelector as error:
        raise InvalidInput(f"--pod-selector: {error}") from error
    limit = read_timeout(timeout)

    def begin(client: Client, on_report: Callable[[DrainReport], object]) -> Coroutine[Any, Any, DrainReport]:
        return client.drain(
            node,
            ignore_daemonsets=ignore_daemonsets,
            delete_emptydir_data=delete_emptydir_data,
            force=force,
            pod_selector=selector,
            grace_period=None if grace_period == -1 else grace_period,
            disable_eviction=disable_eviction,
            on_report=on_report,
            dry_run=dry_run,
            timeout=limit,
        )

    await run_drain(cluster.client(), begin)
    await _print_done(node, "drained", dry_run=dry_run)


async def run_drain(
    client: Client, begin: Callable[[Client, Callable[[DrainReport], object]], Coroutine[Any, Any, DrainReport]]
) -> None:
    """Enter ``client``, run a drain, and print what becomes of the pods.

    Args:
        client: not entered yet.
        begin: starts the drain, which calls the function that is passed with each report.

    Raises:
        DrainError: not all pods are gone or skipped.
        BrokenPipeError: the reader of stdout has closed the pipe; the drain was cancelled.
    """
    progress = Progress(Output.standard(), _changes)
    with warnings_as_notes():  # a drain that is cancelled logs that the node remains cordoned
        async with client:
            await progress.during(begin(client, progress))


def _changes(printed: DrainReport | None, latest: DrainReport) -> Iterator[str]:
    """Yield a line for each pod with another outcome or reason than in the report printed before."""
    before = {pod.object.uid: str(pod) for pod in printed.pods} if printed is not None else {}
    for pod in latest.pods:
        if pod.outcome is not PodOutcome.WAITING and before.get(pod.object.uid) != str(pod):
            yield str(pod)


async def _print_done(node: str, done: str, *, dry_run: bool) -> None:
    await Output.standard().line(printable(f"node/{node} {done}{' (dry run)' if dry_run else ''}"))
