"""Layer 5: the verbs on one resource, and the list and watch that informers use.

:class:`APIClient` returns a :class:`ResourceClient` for a resource. Its verbs are in ``_verbs/``, their requests in
``_requests/`` and ``_apply/``, and its watch in ``_watch/``. :class:`ListWatch` sends the list and watch requests of
both verbs and informers, and is the most performance-critical part.
Start reading in ``_resource.py``.
"""

from dynkube.client._apply.result import Applied, Change
from dynkube.client._conditions import Condition, ConditionLike
from dynkube.client._objects import ObjectLike
from dynkube.client._options import (
    FieldSelectorLike,
    FieldValidation,
    LabelSelectorLike,
    PropagationPolicy,
    ResourceVersionMatch,
)
from dynkube.client._pages import ObjectIterator
from dynkube.client._permissions import Permission, UserInfo
from dynkube.client._requests.write import PatchLike, PatchTypeLike
from dynkube.client._resource import ResourceClient
from dynkube.client._subresource import SubresourceClient
from dynkube.client._watch.stream import Watch

__all__ = [
    "Applied",
    "Change",
    "Condition",
    "ConditionLike",
    "FieldSelectorLike",
    "FieldValidation",
    "LabelSelectorLike",
    "ObjectIterator",
    "ObjectLike",
    "PatchLike",
    "PatchTypeLike",
    "Permission",
    "PropagationPolicy",
    "ResourceClient",
    "ResourceVersionMatch",
    "SubresourceClient",
    "UserInfo",
    "Watch",
]
