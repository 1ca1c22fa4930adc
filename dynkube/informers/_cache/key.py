"""The key by which informers share one cache, one list and one watch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dynkube._guard import attempt
from dynkube.informers._cache.transform import Transform, drop_managed_fields
from dynkube.informers._namespace_set import Chosen, namespaces_text
from dynkube.informers._settings import Overrides
from dynkube.meta import GVR, FieldSelector, HashShard, LabelSelector
from dynkube.telemetry import Collection


class _SameTransform:
    """Compares transforms by ``==``, or by identity if ``==`` or ``hash()`` raises."""

    __slots__ = ("_hash", "_transform")

    def __init__(self, transform: Transform | None) -> None:
        self._transform = transform
        self._hash = attempt(lambda: hash(transform), id(transform), lambda exc: None)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _SameTransform) or self._hash != other._hash:
            return False
        if self._transform is other._transform:
            return True
        return attempt(lambda: bool(self._transform == other._transform), False, lambda exc: None)


_USUAL: Final = _SameTransform(drop_managed_fields)


@dataclass(frozen=True, slots=True)
class SharingKey:
    """Informers with equal keys share one cache, one list and one watch.

    Filters are not part of the key, as each informer applies its own filter to the shared cache.
    """

    gvr: GVR
    namespace: str | None = None
    namespaces: Chosen | None = None
    label_selector: LabelSelector = field(default_factory=lambda: LabelSelector.parse(None))
    field_selector: FieldSelector = field(default_factory=lambda: FieldSelector.parse(None))
    transform: Transform | None = field(default=drop_managed_fields, compare=False)
    overrides: Overrides = field(default_factory=Overrides)
    shard: HashShard | None = None
    metadata_only: bool = False
    _same_transform: _SameTransform = field(init=False, repr=False)

    def __post_init__(self) -> None:
        same = _USUAL if self.transform is drop_managed_fields else _SameTransform(self.transform)
        object.__setattr__(self, "_same_transform", same)

    @property
    def collection(self) -> Collection:
        """The collection, for log records, statistics and observers."""
        return Collection(
            gvr=self.gvr,
            namespace=self.namespace,
            namespaces="" if self.namespaces is None else namespaces_text(self.namespaces),
            label_selector="" if self.label_selector.empty else str(self.label_selector),
            field_selector="" if self.field_selector.empty else str(self.field_selector),
            shard=self.shard,
            metadata_only=self.metadata_only,
        )
