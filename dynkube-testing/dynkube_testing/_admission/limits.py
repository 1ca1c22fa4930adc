"""LimitRanger: default requests and limits of containers, and the limits of a namespace's LimitRanges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynkube_testing._admission.amounts import Amount, Amounts, containers_of, pod_amounts, read_amounts
from dynkube_testing._admission.objects import Objects
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._verbs.admission import Attributes

_RANGES = "limitranges"
_ANNOTATION = "kubernetes.io/limit-ranger"


@dataclass(frozen=True, slots=True)
class LimitRanger:
    """The plugin; LimitRanges apply to new pods, resized pods, and claims."""

    objects: Objects

    def mutate(self, attributes: Attributes) -> None:
        """Set the default requests and limits of a pod's containers, and name them in an annotation."""
        if attributes.resource != "pods":
            return
        for limits in self._ranges(attributes):
            defaults = {
                field: {
                    name: quantity
                    for limit in limits
                    if limit["type"] == "Container"
                    for name, quantity in (limit.get(source) or {}).items()
                }
                for field, source in (("requests", "defaultRequest"), ("limits", "default"))
            }
            _set_defaults(attributes.new, defaults)

    def validate(self, attributes: Attributes) -> None:
        """Check a pod or claim against each LimitRange.

        Raises:
            Forbidden: It exceeds a limit.
        """
        if attributes.resource not in _RESOURCES:
            return
        problems_of = _pod_problems if attributes.resource == "pods" else _claim_problems
        for limits in self._ranges(attributes):
            if problems := list(dict.fromkeys(problems_of(attributes.new, limits))):
                raise attributes.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _ranges(self, attributes: Attributes) -> Iterator[list[JSONObject]]:
        """Yield the limits of each LimitRange that applies to the write."""
        write = (attributes.resource, attributes.operation, attributes.subresource)
        if write not in _LIMITED or (attributes.old or {}).get("metadata", {}).get("deletionTimestamp"):
            return
        for each in self.objects.all(attributes.storage, _RANGES, attributes.namespace):
            yield each["spec"].get("limits") or []


_RESOURCES = {"pods", "persistentvolumeclaims"}
# By resource, operation and subresource. The containers of a pod cannot be changed, except by a resize.
_LIMITED = {
    ("pods", "CREATE", ""),
    ("pods", "UPDATE", "resize"),
    ("persistentvolumeclaims", "CREATE", ""),
    ("persistentvolumeclaims", "UPDATE", ""),
}


def _set_defaults(pod: JSONObject, defaults: dict[str, dict[str, str]]) -> None:
    notes = []
    for kind, field in (("container", "containers"), ("init container", "initContainers")):
        for container in containers_of(pod["spec"], (field,)):
            resources = container.setdefault("resources", {})
            for what, word in (("requests", "request"), ("limits", "limit")):
                present = resources.get(what) or {}
                if missing := {name: value for name, value in defaults[what].items() if name not in present}:
                    resources[what] = {**present, **missing}
                    notes.append(f"{', '.join(sorted(missing))} {word} for {kind} {container['name']}")
    if notes:
        annotations = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}


def _pod_problems(pod: JSONObject, limits: list[JSONObject]) -> Iterator[str]:
    for limit in limits:
        if limit["type"] == "Container":
            for container in containers_of(pod["spec"]):
                resources = container.get("resources") or {}
                yield from _problems(
                    limit, read_amounts(resources.get("requests")), read_amounts(resources.get("limits"))
                )
        elif limit["type"] == "Pod":
            requests, most = (pod_amounts(pod, field, overhead=False) for field in ("requests", "limits"))
            yield from _problems(limit, requests, most)


def _claim_problems(claim: JSONObject, limits: list[JSONObject]) -> Iterator[str]:
    requests = read_amounts((claim["spec"].get("resources") or {}).get("requests"))
    for limit in limits:
        if limit["type"] == "PersistentVolumeClaim":
            for name, bound in sorted(read_amounts(limit.get("min")).items()):
                yield from _too_little(name, "PersistentVolumeClaim", bound, requests, {})
            for name, bound in sorted(read_amounts(limit.get("max")).items()):
                text = f"maximum {name} usage per PersistentVolumeClaim is {bound}"
                if name not in requests:
                    yield f"{text}.  No request is specified"
                elif requests[name].value > bound.value:
                    yield f"{text}, but request is {requests[name]}"


def _problems(limit: JSONObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """Yield what exceeds a limit of containers or pods. Resources are sorted; a real server has no order."""
    what = limit["type"]
    for name, bound in sorted(read_amounts(limit.get("min")).items()):
        yield from _too_little(name, what, bound, requests, limits)
    for name, bound in sorted(read_amounts(limit.get("max")).items()):
        yield from _too_much(name, what, bound, requests, limits)
    for name, bound in sorted(read_amounts(limit.get("maxLimitRequestRatio")).items()):
        yield from _too_unequal(name, what, bound, requests.get(name), limits.get(name))


def _too_little(name: str, what: str, bound: Amount, requests: Amounts, limits: Amounts) -> Iterator[str]:
    text = f"minimum {name} usage per {what} is {bound}"
    if name not in requests:
        yield f"{text}.  No request is specified"
    elif requests[name].value < bound.value:
        yield f"{text}, but request is {requests[name]}"
    elif name in limits and limits[name].value < bound.value:
        yield f"{text}, but limit is {limits[name]}"


def _too_much(name: str, what: str, bound: Amount, requests: Amounts, limits: Amounts) -> Iterator[str]:
    text = f"maximum {name} usage per {what} is {bound}"
    if name not in limits:
        yield f"{text}.  No limit is specified"
    elif limits[name].value > bound.value:
        yield f"{text}, but limit is {limits[name]}"
    elif name in requests and requests[name].value > bound.value:
        yield f"{text}, but request is {requests[name]}"


def _too_unequal(name: str, what: str, bound: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    text = f"{name} max limit to request ratio per {what} is {bound}"
    if request is None or not request.value:
        yield f"{text}, but no request is specified or request is 0"
    elif limit is None or not limit.value:
        yield f"{text}, but no limit is specified or limit is 0"
    elif (ratio := float(limit.value) / float(request.value)) > float(bound.value):
        yield f"{text}, but provided ratio is {ratio:f}"
