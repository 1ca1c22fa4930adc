"""The objects that a kube-apiserver creates at its start: default roles and bindings, and PriorityClasses."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import msgspec


class BootstrapObject(msgspec.Struct):
    """One of the objects.

    Attributes:
        content: The object, as a client would create it.
        fields: The fields that kube-apiserver manages (FieldsV1).
    """

    content: dict[str, Any] = msgspec.field(name="object")
    fields: dict[str, Any]


def bootstrap_objects(group: str) -> list[BootstrapObject]:
    """Return new copies of the objects of an API group, in the order in which they are created."""
    return msgspec.json.decode(_file()[group], type=list[BootstrapObject])


@cache
def _file() -> Mapping[str, msgspec.Raw]:
    """Return the objects of each API group, encoded (``python -m tools.bootstrap_objects``)."""
    packed = resources.files("dynkube_testing._kinds").joinpath("bootstrap_objects.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=dict[str, msgspec.Raw])
