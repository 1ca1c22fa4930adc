"""The parameters of policy bindings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynkube_testing._admission.matching import label_match
from dynkube_testing._admission.objects import Objects
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._verbs.admission import Attributes


class BadConfiguration(Exception):
    """A policy or binding cannot be used; the message is that of a real server."""


@dataclass(frozen=True, slots=True)
class Params:
    """Looks up parameters."""

    objects: Objects
    registry: Registry

    def kind(self, policy: JSONObject) -> Kind | None:
        """Return the ``paramKind`` of a policy; ``None`` if it has none.

        Raises:
            BadConfiguration: It is not served.
        """
        if (wanted := policy["spec"].get("paramKind")) is None:
            return None
        if (kind := self.registry.find(wanted["apiVersion"], wanted["kind"])) is None:
            group, _, version = wanted["apiVersion"].rpartition("/")
            gvk = f"{group}/{version}, Kind={wanted['kind']}"
            raise BadConfiguration(f"failed to find resource referenced by paramKind: '{gvk}'")
        return kind

    def of(self, attributes: Attributes, kind: Kind | None, binding: JSONObject) -> Sequence[JSONObject | None]:
        """Return the objects with which a binding evaluates its policy; ``[None]`` if it needs none.

        Raises:
            BadConfiguration: The binding is malformed, or the objects must exist and do not.
        """
        reference = binding["spec"].get("paramRef")
        if kind is None or reference is None:
            return [None]
        namespace = reference.get("namespace", "")
        if namespace and not kind.namespaced:
            raise BadConfiguration("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        if kind.namespaced and not (namespace := namespace or attributes.namespace):
            why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise BadConfiguration(why)
        found = self._found(attributes, kind, namespace, reference)
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise BadConfiguration("no params found for policy binding with `Deny` parameterNotFoundAction")
        return found

    def _found(self, attributes: Attributes, kind: Kind, namespace: str, reference: JSONObject) -> list[JSONObject]:
        storage, group = attributes.storage, kind.storage_group
        if name := reference.get("name"):
            found = storage.get(kind, namespace, name)
            return [] if found is None else [found.decode(kind)]
        versions = sorted(storage.objects(group, namespace), key=lambda each: each.key)
        every = [version.decode(kind) for version in versions]
        return [obj for obj in every if label_match(reference.get("selector"), obj["metadata"].get("labels") or {})]
