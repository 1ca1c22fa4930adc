"""What kinds check about their objects beyond metadata, by storage group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.errors import StatusCause
from dynkube.testing._api import JSONObject
from dynkube.testing._crd_validation import definition_causes
from dynkube.testing._crds import DEFINITIONS, fill_defaults
from dynkube.testing._kinds import Kind

Filler: TypeAlias = Callable[[JSONObject], None]
Validator: TypeAlias = Callable[[JSONObject, JSONObject | None], list[StatusCause]]


@dataclass(frozen=True, slots=True)
class Validators:
    """Defaults and checks of single resources; a resource without an entry takes any content.

    Attributes:
        fillers: Fill in defaults, changing the object's top level only.
        validators: Give the causes for refusing an object; the second argument is what it replaces, if anything.
    """

    fillers: Mapping[str, Filler] = field(default_factory=lambda: {DEFINITIONS: fill_defaults})
    validators: Mapping[str, Validator] = field(default_factory=lambda: {DEFINITIONS: definition_causes})

    def prepare(self, kind: Kind, obj: JSONObject) -> None:
        """Fill in the defaults of ``kind``."""
        if filler := self.fillers.get(kind.storage_group):
            filler(obj)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Why ``obj`` cannot be stored; empty where it can."""
        validator = self.validators.get(kind.storage_group)
        return validator(obj, old) if validator is not None else []
