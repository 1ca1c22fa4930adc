"""Apply and compare many objects at once.

Read manifests, apply them in order, report each result, prune by ApplySet.

``_sources.py`` and ``_documents.py`` read, ``_order.py`` defines the order, ``_sequence.py`` is the sequence of a run,
``_apply_one.py`` applies one object, ``_applyset_reconciler.py`` manages the ApplySet on the server. Start reading in
``_run.py``.
"""

from dynkube.manifests._applyset import ApplySet
from dynkube.manifests._diff_report import DiffEntry, DiffReport
from dynkube.manifests._location import Place
from dynkube.manifests._options import ApplyOptions, OnError
from dynkube.manifests._report import Entry, Outcome, Report
from dynkube.manifests._run import ApplyRun
from dynkube.manifests._sources import ManifestSource, leaves

__all__ = [
    "ApplyOptions",
    "ApplyRun",
    "ApplySet",
    "DiffEntry",
    "DiffReport",
    "Entry",
    "ManifestSource",
    "OnError",
    "Outcome",
    "Place",
    "Report",
    "leaves",
]
