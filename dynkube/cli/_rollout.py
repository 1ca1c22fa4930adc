"""``dynkube rollout``: status, history, restart, undo, pause and resume of workloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated

from cyclopts import Parameter

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import Flag, NamespaceOption, check_namespace, kubectl_name, read_object, read_timeout
from dynkube.cli._cluster import Cluster
from dynkube.cli._output import Output
from dynkube.cli._progress import Progress
from dynkube.cli._run import FAILED, CommandFailed
from dynkube.meta import Unstructured, thaw
from dynkube.workloads import Rollout, RolloutPhase, RolloutStatus

_FAILURES = (RolloutPhase.FAILED, RolloutPhase.UNSUPPORTED)


async def status(
    workload: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    watch: Annotated[bool, Parameter(name=["--watch", "-w"], negative="--no-watch")] = True,
    timeout: str = "0",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> int:
    """Wait until a rollout is complete, and print a line for each step.

    Custom resources are judged by their numbers of replicas and their conditions. Exits with 0 if the rollout is
    complete, and with 1 if it failed or was not complete in time.

    Args:
        workload: KIND/NAME, or KIND and NAME: deploy/web, sts/db, or a custom resource.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        watch: Wait until it is complete; --no-watch prints the status of now, and exits with 1 only if it failed.
        timeout: How long to wait (30s, 5m); 0 for no limit.
        cluster: The cluster.
    """
    opened = _Opened(cluster, workload, name, namespace)
    limit = read_timeout(timeout)
    return await run_status(opened.client, opened.rollout, watch=watch, timeout=limit)


async def history(
    workload: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    revision: int | None = None,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Print the revisions of a Deployment, StatefulSet or DaemonSet, or the pod template of one of them.

    Args:
        workload: KIND/NAME, or KIND and NAME: deploy/web.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        revision: Print the pod template of this revision, as YAML.
        cluster: The cluster.
    """
    opened = _Opened(cluster, workload, name, namespace)
    await run_history(opened.client, opened.rollout, revision)


async def restart(
    workload: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Replace the pods of a workload gradually; works for any object with a pod template in spec.template.

    Args:
        workload: KIND/NAME, or KIND and NAME: deploy/web.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        dry_run: Validate it on the server, without writing anything.
        cluster: The cluster.
    """
    opened = _Opened(cluster, workload, name, namespace)
    await opened.write(lambda rollout: rollout.restart(dry_run=dry_run), "restarted", dry_run=dry_run)


async def undo(
    workload: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    to_revision: int = 0,
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Restore the pod template of an earlier revision of a Deployment, StatefulSet or DaemonSet.

    Args:
        workload: KIND/NAME, or KIND and NAME: deploy/web.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        to_revision: Number of the revision; 0 for the one before the newest.
        dry_run: Validate it on the server, without writing anything.
        cluster: The cluster.
    """
    opened = _Opened(cluster, workload, name, namespace)
    if to_revision < 0:
        raise CommandFailed(f"--to-revision must be an integer >= 0, not {to_revision}")
    await opened.write(
        lambda rollout: rollout.undo(to_revision or None, dry_run=dry_run), "rolled back", dry_run=dry_run
    )


async def pause(
    workload: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Pause a rollout: changes of the pod template wait until it is resumed.

    Args:
        workload: KIND/NAME, or KIND and NAME: deploy/web, or any object with a boolean spec.paused.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        dry_run: Validate it on the server, without writing anything.
        cluster: The cluster.
    """
    opened = _Opened(cluster, workload, name, namespace)
    await opened.write(lambda rollout: rollout.pause(dry_run=dry_run), "paused", dry_run=dry_run)


async def resume(
    workload: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    dry_run: Flag = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Resume a paused rollout.

    Args:
        workload: KIND/NAME, or KIND and NAME: deploy/web, or any object with a boolean spec.paused.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        dry_run: Validate it on the server, without writing anything.
        cluster: The cluster.
    """
    opened = _Opened(cluster, workload, name, namespace)
    await opened.write(lambda rollout: rollout.resume(dry_run=dry_run), "resumed", dry_run=dry_run)


class _Opened:
    """The arguments that all of these commands have.

    Raises:
        CommandFailed: one of them is invalid.
    """

    def __init__(self, cluster: Cluster, workload: str, name: str, namespace: str | None) -> None:
        check_namespace(namespace, "that of the current context")
        self._kind, self._name = read_object(workload, name)
        self._namespace = namespace
        self.client = cluster.client()

    def rollout(self, client: Client) -> Rollout:
        """Return the rollout that is meant; the client has been entered."""
        return client.rollout(self._kind, self._name, namespace=self._namespace)

    async def write(self, call: Callable[[Rollout], Awaitable[Unstructured]], done: str, *, dry_run: bool) -> None:
        """Run a call that writes, and print what was done."""
        await run_write(self.client, self.rollout, call, f"{done} (dry run)" if dry_run else done)


async def run_status(
    client: Client, rollout: Callable[[Client], Rollout], *, watch: bool, timeout: float | None = None
) -> int:
    """Enter ``client``, print the status of a rollout, and return the exit code.

    Args:
        client: not entered yet.
        rollout: makes the rollout.
        watch: whether to wait until it is complete.
        timeout: seconds; ``None`` waits forever.

    Raises:
        RolloutError: it does not complete.
        DeadlineExceeded: it was not complete in time.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    out = Output.standard()
    async with client:
        if watch:
            progress = Progress(out, _steps)
            await progress.during(rollout(client).wait(on_status=progress, timeout=timeout))
            return 0
        found = await rollout(client).status()
        await out.line(printable(str(found), keep="\n"))
    return FAILED if found.phase in _FAILURES else 0


async def run_history(client: Client, rollout: Callable[[Client], Rollout], revision: int | None = None) -> None:
    """Enter ``client``, and print the revisions of a workload, or the pod template of one of them.

    Raises:
        RolloutError: objects of this kind have no revisions, or there is no such one.
    """
    async with client:
        found = await rollout(client).history()
    text = str(found)
    if revision is not None:
        from dynkube.meta._kubectl_yaml import kubectl_yaml  # it loads PyYAML

        text = kubectl_yaml(thaw(found.revision(revision).template)).rstrip("\n")
    await Output.standard().line(printable(text, keep="\n"))


async def run_write(
    client: Client,
    rollout: Callable[[Client], Rollout],
    call: Callable[[Rollout], Awaitable[Unstructured]],
    done: str,
) -> None:
    """Enter ``client``, run a call that writes, and print the object's name and what was done."""
    async with client:
        obj = await call(rollout(client))
    await Output.standard().line(printable(f"{kubectl_name(obj)} {done}"))


def _steps(printed: RolloutStatus | None, latest: RolloutStatus) -> Iterator[str]:
    """Return the line for a step, that of ``kubectl rollout status`` and reasons; a failure is the error's message."""
    line = _line(latest)
    if latest.phase not in _FAILURES and (printed is None or line != _line(printed)):
        yield line


def _line(status: RolloutStatus) -> str:
    return f"{status.message} ({'; '.join(status.reasons)})" if status.reasons else status.message
