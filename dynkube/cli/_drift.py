"""``dynkube drift``: how live objects deviate from the manifests that were applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import trio
from cyclopts import Parameter

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._cluster import Cluster
from dynkube.cli._diff import DIFFERENT, TROUBLE, compared
from dynkube.cli._flags import in_flags
from dynkube.cli._managed import object_line
from dynkube.cli._notes import note
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.cli._source import Source
from dynkube.errors import DynkubeError
from dynkube.fields import Diff
from dynkube.manifests import Entry, Outcome
from dynkube.manifests._manifest import Manifest, without_namespace
from dynkube.manifests._sources import judged, leaves, read_async, read_stdin

Drifts = dict[int, Diff | DynkubeError]
"""The result of each manifest, by its position; missing for duplicates."""


async def drift(
    *,
    source: Source,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> int:
    """Show which applied fields were changed or removed since, and by which manager.

    Changes nothing. Fields that the manager still owns count as unchanged; if there are others, the server evaluates
    the manifest in a dry run, which requires permission to patch, and the result is compared. Exits with 0 if nothing
    has drifted, with 1 if something has, and with 2 on errors.

    Args:
        source: The manifests, as they were applied.
        quiet: Print only failures and the summary.
        cluster: The cluster.
    """
    return await compared(lambda: run_drift(cluster.client(), source, quiet=quiet))


async def run_drift(client: Client, source: Source, *, quiet: bool = False) -> int:
    """Enter ``client``, print the fields that have drifted, and return the exit code.

    With ``quiet``, of the objects only those that failed are printed.

    Raises:
        CommandFailed: there is nothing to compare.
        DynkubeError: the comparison as a whole failed.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    paths = source.paths("drift")
    async with client:
        namespace = source.namespace or client.namespace
        manifests = await judged(await read_async(leaves(paths), read_stdin), namespace)
        if not manifests:
            raise CommandFailed("no objects found in the files or folders of -f")
        found = await _drifts(client, source, manifests)
    out = Output.standard()
    for index, result in sorted(found.items()):
        text = _text(manifests[index], result)
        if text and not (quiet and isinstance(result, Diff)):
            await out.line(printable(text, keep="\n"))
    drifted = sum(isinstance(result, Diff) and bool(result) for result in found.values())
    failed = sum(isinstance(result, DynkubeError) for result in found.values())
    note(f"{drifted} drifted, {len(found) - drifted - failed} did not" + (f", {failed} failed" if failed else ""))
    return TROUBLE if failed else DIFFERENT if drifted else 0


async def _drifts(client: Client, source: Source, manifests: Sequence[Manifest]) -> Drifts:
    """Compare all manifests with the live objects, in parallel."""
    found: Drifts = {}
    limiter = trio.CapacityLimiter(source.parallel)

    async def compare(index: int, manifest: Manifest) -> None:
        async with limiter:
            try:
                found[index] = manifest.error or await _drift_of(client, source, manifest)
            except DynkubeError as error:
                found[index] = error

    async with trio.open_nursery() as nursery:
        for index, manifest in enumerate(manifests):
            if manifest.same_as is None:
                nursery.start_soon(compare, index, manifest)
    return found


async def _drift_of(client: Client, source: Source, manifest: Manifest) -> Diff:
    verbs, obj = client.resource(manifest.gvk), manifest.checked
    if (await verbs.resolve()).namespaced:
        return await verbs.diff_applied(obj, source.field_manager, namespace=source.namespace)
    return await verbs.diff_applied(without_namespace(obj), source.field_manager)


def _text(manifest: Manifest, result: Diff | DynkubeError) -> str:
    if isinstance(result, DynkubeError):
        entry = Entry(outcome=Outcome.FAILED, place=manifest.place, object=manifest.object, error=result)
        return in_flags(str(entry))
    if not result:
        return ""
    return "\n    ".join([object_line("drifted", manifest.checked, manifest.place), *result.table().splitlines()])
