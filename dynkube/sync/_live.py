"""``live``: one live table of the informers of several clusters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

from dynkube._portal.clusters import ClusterInformers
from dynkube.notebook import ColumnSource, LiveTable, live_table
from dynkube.notebook._live import NARROWER_EACH
from dynkube.sync._informer import Informer


def live(
    informers: Mapping[str, Informer],
    columns: Mapping[str, ColumnSource] | None = None,
    limit: int = 200,
    *,
    wide: bool = False,
) -> LiveTable:
    """Return a notebook table of the objects of several clusters, which updates itself.

    ::

        east, west = dynkube.sync.connect(context="east"), dynkube.sync.connect(context="west")
        dynkube.sync.live({"east": east.informer("pods.v1"), "west": west.informer("pods.v1")})

    It is that of :meth:`Informer.live` with a column for the cluster: sorting, search and details apply to the objects
    of all. The header has the state of all together, and names clusters that cannot be reached, whose last objects
    stay, and those without the resource. The informers may differ in their resources, such as the version of a CRD, and
    in their filters. If printer columns differ, all are shown, those of the first cluster first.

    The table does not close the informers. The objects of an informer that is closed go; when all are closed, the last
    ones stay, and the table is no longer updated.

    Args:
        informers: informers by the name of their cluster, which is shown.
        columns: additional columns, by heading: a JSONPath, or a function of the object, which runs in the trio thread
            and has to be fast.
        limit: rows that the page holds at once, up to 2,000; see :meth:`Informer.live`.
        wide: also show the CRD's columns for wide output (priority > 0, as in ``kubectl get -o wide``).

    Raises:
        InvalidInput: ``informers`` is not a mapping from names to different informers, or is empty; or the columns or
            the limit are invalid.
        ClosedError: an informer is closed.
    """
    __tracebackhide__ = True
    members = ClusterInformers.of(informers, Informer, lambda informer: informer._inner._check_open())
    return live_table(
        lambda: nullcontext(members.inner),
        members.thread,
        members.start,
        columns=columns,
        limit=limit,
        wide=wide,
        narrower=NARROWER_EACH,
    )
