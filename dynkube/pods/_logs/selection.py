"""Which pods and containers a merged log has: by labels, by an object that owns them, by names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dynkube.client._client import APIClient
from dynkube.client._options import FieldSelectorLike
from dynkube.errors import InvalidInput
from dynkube.meta import FieldSelector, LabelSelector, Unstructured
from dynkube.meta._arguments import brief
from dynkube.pods._attachable import pod_labels
from dynkube.pods._logs.owners import Target

PodSelector: TypeAlias = str | Mapping[str, object] | LabelSelector | Unstructured | None
Names: TypeAlias = str | re.Pattern[str] | None

_KIND_AND_NAME: Final = re.compile(r"([A-Za-z0-9.-]+)/([^/=!,() ]+)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodQuery:
    """The arguments that select pods and containers.

    Attributes:
        selector: labels, ``KIND/NAME`` of an owner, or the owner itself; ``None`` for all pods.
        fields: restrict by fields.
        namespace: ``None`` for all namespaces.
        names: the names of pods; ``None`` for all.
        containers: the names of containers; ``None`` for all.
    """

    selector: PodSelector = None
    fields: FieldSelector = field(default_factory=FieldSelector)
    namespace: str | None = None
    names: re.Pattern[str] | None = None
    containers: re.Pattern[str] | None = None

    @classmethod
    def parse(
        cls,
        selector: PodSelector,
        field_selector: FieldSelectorLike,
        *,
        namespace: str | None,
        names: Names,
        containers: Names,
    ) -> PodQuery:
        """Check the arguments.

        Raises:
            InvalidInput: one is invalid.
        """
        if not (isinstance(selector, Unstructured) or _owner_in(selector)):
            selector = LabelSelector.parse(selector)
        return cls(
            selector=selector,
            fields=FieldSelector.parse(field_selector),
            namespace=namespace,
            names=_pattern("names", names),
            containers=_pattern("containers", containers),
        )

    async def resolve(self, api: APIClient) -> Selected:
        """Return what selects the pods, after a request for the owner, if there is one.

        Raises:
            NotFound: there is no such owner.
            DynkubeError: any other failure.
        """
        if isinstance(self.selector, Unstructured):
            return _pods_of(self.selector)
        if (found := _owner_in(self.selector)) is None:
            return Selected(labels=LabelSelector.parse(self.selector))
        kind, name = found
        resource = api.resource(kind)
        served = await resource.resolve()
        if served.gvr.resource == "pods" and not served.gvr.group:
            return Selected(fields=FieldSelector.parse({"metadata.name": name}))
        if served.namespaced and self.namespace is None:
            raise InvalidInput(f"{kind}/{name} is in a namespace: pass it instead of all namespaces")
        return _pods_of(await resource.get(name, namespace=self.namespace if served.namespaced else None))

    def has_pod(self, pod: Unstructured) -> bool:
        """Whether a pod has one of the names."""
        return self.names is None or self.names.search(pod.name) is not None

    def has_container(self, name: str) -> bool:
        """Whether a container has one of the names."""
        return self.containers is None or self.containers.search(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What selects pods: selectors that the server evaluates, and an owner."""

    labels: LabelSelector = field(default_factory=LabelSelector)
    fields: FieldSelector = field(default_factory=FieldSelector)
    owner: Target | None = None


def _pods_of(owner: Unstructured) -> Selected:
    """Return what selects the pods of an object: its selector, as with kubectl, or ownership if it has none."""
    if not owner.uid:
        raise InvalidInput(f"{brief(owner)} has no metadata.uid: pass an object as it was read")
    if owner.kind == "Pod":
        return Selected(fields=FieldSelector.parse({"metadata.name": owner.name}))
    if (labels := pod_labels(owner)) is not None and not labels.empty:
        return Selected(labels=labels)
    return Selected(owner=Target(uid=owner.uid, gvk=owner.gvk, name=owner.name, namespace=owner.namespace))


def _owner_in(selector: object) -> tuple[str, str] | None:
    found = _KIND_AND_NAME.match(selector) if isinstance(selector, str) else None
    return None if found is None else (found[1], found[2])


def _pattern(argument: str, given: object) -> re.Pattern[str] | None:
    if given is None or isinstance(given, re.Pattern):
        return given
    if not isinstance(given, str):
        raise InvalidInput(f"{argument} must be a regular expression, or None, not {brief(given)}")
    try:
        return re.compile(given)
    except re.error as error:
        raise InvalidInput(f"{argument} {given!r} is not a regular expression: {error}") from error
