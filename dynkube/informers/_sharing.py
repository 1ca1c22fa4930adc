"""What informers have in common that share one cache, one list and one watch."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynkube.informers._settings import ListSettings
from dynkube.informers._transform import Transform, drop_managed_fields
from dynkube.meta import GVR, FieldSelector, LabelSelector
from dynkube.telemetry import Collection


@dataclass(frozen=True, slots=True)
class SharingKey:
    """Informers with an equal key share one list and one watch. Filters are per user, so not part of it."""

    gvr: GVR
    namespace: str | None = None
    label_selector: LabelSelector = field(default_factory=lambda: LabelSelector.parse(None))
    field_selector: FieldSelector = field(default_factory=lambda: FieldSelector.parse(None))
    transform: Transform | None = drop_managed_fields
    lists: ListSettings = field(default_factory=ListSettings)

    @property
    def collection(self) -> Collection:
        """What it is about, for people and programs that are told of it."""
        return Collection(
            gvr=self.gvr,
            namespace=self.namespace,
            label_selector="" if self.label_selector.empty else str(self.label_selector),
            field_selector="" if self.field_selector.empty else str(self.field_selector),
        )
