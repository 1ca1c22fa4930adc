"""``dynkube diff``: what applying files and folders would change."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from typing import Annotated

from cyclopts import Parameter

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._cluster import Cluster
from dynkube.cli._flags import in_flags
from dynkube.cli._notes import note
from dynkube.cli._output import Output
from dynkube.cli._prune import read_prune
from dynkube.cli._run import CommandFailed, exit_code
from dynkube.cli._source import Source
from dynkube.manifests import ApplySet

DIFFERENT = 1
TROUBLE = 2


async def diff(
    *,
    source: Source,
    prune: Annotated[bool, Parameter(negative="")] = False,
    applyset: str | None = None,
    tooling: str | None = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> int:
    """Show what applying manifests would change, without changing anything.

    The server processes each object in a dry run, with defaults, webhooks and validation. Like kubectl diff, it exits
    with 0 if nothing would change, with 1 if something would, and with 2 on errors.

    Args:
        source: The manifests.
        prune: Also show the objects that apply would delete with the same options.
        applyset: The ApplySet of the manifests: NAME of a Secret, or RESOURCE/NAME (configmaps/shop), in the namespace
            of -n or the context.
        tooling: Tool recorded as manager of the ApplySet, to share it with another tool, like kubectl/v1.37.0.
        quiet: Print only failures and the summary; the exit status says whether something would change.
        cluster: The cluster.
    """

    async def run() -> int:
        pruned = read_prune(prune, applyset, tooling, source.namespace)
        return await run_diff(cluster.client(), source, prune=pruned, quiet=quiet)

    return await compared(run)


async def compared(run: Callable[[], Awaitable[int]]) -> int:
    """Return the exit code of a comparison, with 2 for all errors.

    Exit code 1, which other commands use for errors, means here (and in CI) that something differs.
    """
    try:
        return await run()
    except Exception as error:  # noqa: BLE001  # bugs too must not exit with 1
        code = exit_code(error, failed=TROUBLE)
        if code is None:
            note(traceback.format_exc().rstrip())
        return TROUBLE if code is None else code


async def run_diff(client: Client, source: Source, *, prune: ApplySet | None = None, quiet: bool = False) -> int:
    """Enter ``client``, print what ``source`` would change, return the exit code.

    With ``quiet``, of the objects only those that failed are printed.

    Raises:
        CommandFailed: there is nothing to compare.
        DynkubeError: the comparison as a whole failed.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    async with client:
        report = await client.diff_all(
            source.paths("diff"),
            namespace=source.namespace,
            field_manager=source.field_manager,
            prune=prune,
            parallel=source.parallel,
        )
    if not len(report):
        raise CommandFailed("no objects found in the files or folders of -f")
    out = Output.standard()
    for entry in report:
        text = "" if quiet and entry.error is None else str(entry)
        if text:
            await out.line(printable(text if entry.error is None else in_flags(text), keep="\n"))
    note(report.summary)
    return TROUBLE if not report.ok else DIFFERENT if report else 0
