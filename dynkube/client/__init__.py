"""Layer 5: the verbs on one resource, and the list and watch that informers use.

:class:`APIClient` returns a :class:`ResourceClient` for a resource; its verbs are implemented in ``_reads.py``,
``_writes.py``, ``_apply/``, ``_watch.py`` and ``_wait.py``. :class:`ListWatch` is the hot path under all of
them. Start reading in ``_resource.py``.
"""

from dynkube.client._access import Permission, UserInfo
from dynkube.client._apply.applied import Applied, Change
from dynkube.client._apply.comparing import compare
from dynkube.client._apply.diff import Diff, FieldChange
from dynkube.client._apply.differing import deletion_of, no_difference
from dynkube.client._batches import Batches
from dynkube.client._client import APIClient
from dynkube.client._conditions import Condition, ConditionLike
from dynkube.client._listwatch import ListWatch
from dynkube.client._objects import ObjectLike
from dynkube.client._options import (
    FieldSelectorLike,
    FieldValidation,
    LabelSelectorLike,
    PropagationPolicy,
    ResourceVersionMatch,
    check_field_manager,
)
from dynkube.client._pager import ObjectIterator
from dynkube.client._resource import ResourceClient
from dynkube.client._resources import Resources
from dynkube.client._short_ways import ShortWays
from dynkube.client._subresource import SubresourceClient
from dynkube.client._watch import Watch
from dynkube.client._watch_settings import WatchSettings
from dynkube.client._writes import PatchLike, PatchTypeLike

__all__ = [
    "APIClient",
    "Applied",
    "Batches",
    "Change",
    "Condition",
    "ConditionLike",
    "Diff",
    "FieldChange",
    "FieldSelectorLike",
    "FieldValidation",
    "LabelSelectorLike",
    "ListWatch",
    "ObjectIterator",
    "ObjectLike",
    "PatchLike",
    "PatchTypeLike",
    "Permission",
    "PropagationPolicy",
    "ResourceClient",
    "ResourceVersionMatch",
    "Resources",
    "ShortWays",
    "SubresourceClient",
    "UserInfo",
    "Watch",
    "WatchSettings",
    "check_field_manager",
    "compare",
    "deletion_of",
    "no_difference",
]
