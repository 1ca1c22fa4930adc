"""RuntimeClass: the overhead, node selector and tolerations of a pod's RuntimeClass."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube_testing._admission.amounts import same_amounts
from dynkube_testing._admission.objects import Objects
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._verbs.admission import Attributes

_CLASSES = "runtimeclasses.node.k8s.io"
_OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_UNDEFINED_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


@dataclass(frozen=True, slots=True)
class RuntimeClasses:
    """The plugin; it acts on new pods."""

    objects: Objects

    def mutate(self, attributes: Attributes) -> None:
        """Set the overhead and scheduling of the pod's RuntimeClass.

        Raises:
            Forbidden: The RuntimeClass does not exist, or the pod has another overhead or a conflicting node selector.
        """
        found = self._class_of(attributes)
        if found is None:
            return
        spec = attributes.new["spec"]
        if overhead := _overhead_of(found):
            if spec.get("overhead") and not same_amounts(spec["overhead"], overhead):
                raise attributes.forbidden(_OTHER_OVERHEAD)
            spec["overhead"] = dict(overhead)
        if scheduling := found.get("scheduling"):
            _select_nodes(attributes, spec, scheduling.get("nodeSelector") or {})
            if merged := merged_tolerations([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())]):
                spec["tolerations"] = merged

    def validate(self, attributes: Attributes) -> None:
        """Check that the overhead is that of the RuntimeClass.

        Raises:
            Forbidden: It is not, or the RuntimeClass does not exist.
        """
        if not _concerns(attributes):
            return
        found, given = self._class_of(attributes), attributes.new["spec"].get("overhead")
        overhead = _overhead_of(found) if found is not None else None
        if overhead is not None and not same_amounts(overhead, given):
            raise attributes.forbidden(_OTHER_OVERHEAD)
        if overhead is None and given is not None:
            raise attributes.forbidden(_UNDEFINED_OVERHEAD)

    def _class_of(self, attributes: Attributes) -> JSONObject | None:
        name = attributes.new["spec"].get("runtimeClassName") if _concerns(attributes) else None
        if name is None:
            return None
        if (found := self.objects.get(attributes.storage, _CLASSES, "", name)) is None:
            raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
        return found


def _concerns(attributes: Attributes) -> bool:
    return attributes.resource == "pods" and attributes.operation == "CREATE" and not attributes.subresource


def _overhead_of(runtime_class: JSONObject) -> JSONObject | None:
    overhead = runtime_class.get("overhead")
    return None if overhead is None else (overhead.get("podFixed") or {})


def _select_nodes(attributes: Attributes, spec: JSONObject, wanted: dict[str, str]) -> None:
    present = spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if present.get(key, value) != value:
            raise attributes.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {present[key]}"
            )
    if merged := {**present, **wanted}:
        spec["nodeSelector"] = merged


def merged_tolerations(tolerations: list[JSONObject]) -> list[JSONObject]:
    """Return tolerations without those that another one includes."""
    merged: list[JSONObject] = []
    for index, each in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != each)
        if not any(_includes(other, each) for other in (*merged, *later)):
            merged.append(each)
    return merged


def _includes(broad: JSONObject, narrow: JSONObject) -> bool:
    if broad == narrow:
        return True
    key, operator, effect = broad.get("key", ""), broad.get("operator", ""), broad.get("effect", "")
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect and narrow.get("effect", "") != effect:
        return False
    if effect == "NoExecute" and (most := broad.get("tolerationSeconds")) is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > most:
            return False
    if operator in {"", "Equal"}:
        return narrow.get("operator") == "Equal" and narrow.get("value", "") == broad.get("value", "")
    return bool(operator == "Exists")
