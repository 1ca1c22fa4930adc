"""DefaultStorageClass and DefaultIngressClass: the class of a claim or Ingress that names none."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube_testing._admission.objects import Objects
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._verbs.admission import Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Default:
    """How the default class of a resource is found.

    Attributes:
        group: The storage group of the classes.
        marks: The annotations of which one is ``true`` on a default class.
        field: The field in ``spec`` that names the class.
        annotation: The older annotation that names the class.
    """

    group: str
    marks: tuple[str, ...]
    field: str
    annotation: str


_DEFAULTS = {
    "persistentvolumeclaims": _Default(
        group="storageclasses.storage.k8s.io",
        marks=("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"),
        field="storageClassName",
        annotation="volume.beta.kubernetes.io/storage-class",
    ),
    "ingresses.networking.k8s.io": _Default(
        group="ingressclasses.networking.k8s.io",
        marks=("ingressclass.kubernetes.io/is-default-class",),
        field="ingressClassName",
        annotation="kubernetes.io/ingress.class",
    ),
}


@dataclass(frozen=True, slots=True)
class DefaultClasses:
    """Both plugins."""

    objects: Objects

    def mutate(self, attributes: Attributes) -> None:
        """Set the class of a new object to the newest default class, if there is one."""
        default = _DEFAULTS.get(attributes.resource)
        if default is None or attributes.operation != "CREATE" or attributes.subresource:
            return
        obj = attributes.new
        spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
        if spec.get(default.field) is not None or default.annotation in annotations:
            return
        found = [each for each in self.objects.all(attributes.storage, default.group) if _is_default(each, default)]
        if found:  # sorted by name, so max() finds the first one by name of the newest
            newest = max(found, key=lambda each: str(each["metadata"]["creationTimestamp"]))
            spec[default.field] = newest["metadata"]["name"]


def _is_default(obj: JSONObject, default: _Default) -> bool:
    annotations = obj["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in default.marks)
