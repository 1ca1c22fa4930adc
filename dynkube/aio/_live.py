"""``live``: one live table of the informers of several clusters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

from dynkube._portal.clusters import ClusterInformers
from dynkube.aio._informer import Informer, shown
from dynkube.notebook import ColumnSource, LiveTable
from dynkube.notebook._live import NARROWER_EACH, NewTable


async def live(
    informers: Mapping[str, Informer],
    columns: Mapping[str, ColumnSource] | None = None,
    limit: int = 200,
    *,
    wide: bool = False,
) -> LiveTable:
    """Return a notebook table of the objects of several clusters, which updates itself.

    ::

        async with (
            dynkube.aio.connect(context="east") as east,
            dynkube.aio.connect(context="west") as west,
            east.informer("pods.v1") as east_pods,
            west.informer("pods.v1") as west_pods,
        ):
            await dynkube.aio.live({"east": east_pods, "west": west_pods})

    It is that of :meth:`Informer.live` with a column for the cluster: sorting, search and details apply to the objects
    of all. The header has the state of all together, and names clusters that cannot be reached, whose last objects
    stay, and those without the resource. The informers may differ in their resources, such as the version of a CRD, and
    in their filters. If printer columns differ, all are shown, those of the first cluster first.

    Waits up to 0.5 s for the first rows. The table does not close the informers. The objects of an informer that is
    closed go; when all are closed, the last ones stay, and the table is no longer updated.

    Args:
        informers: informers that were entered, by the name of their cluster, which is shown.
        columns: additional columns, by heading: a JSONPath, or a function of the object, which runs in the background
            thread and has to be fast.
        limit: rows that the page holds at once, up to 2,000; see :meth:`Informer.live`.
        wide: also show the CRD's columns for wide output (priority > 0, as in ``kubectl get -o wide``).

    Raises:
        InvalidInput: ``informers`` is not a mapping from names to different informers, or is empty; or the columns or
            the limit are invalid.
        ClosedError: an informer was not entered, or is closed.
    """
    __tracebackhide__ = True
    members = ClusterInformers.of(informers, Informer, Informer._check_entered)
    table = NewTable(
        lambda: nullcontext(members.inner),
        members.thread,
        members.start,
        columns=columns,
        limit=limit,
        wide=wide,
        narrower=NARROWER_EACH,
    )
    return await shown(table, members.thread)
