"""Service account tokens bound to the lifetime of a Pod, Secret or Node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.errors import APIError, Status
from dynkube.meta import GVR
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version

_RESOURCES = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_EXTRA = "authentication.kubernetes.io"
_GONE = "service account token has been invalidated"


class Unbound(ValueError):
    """The object to which a token is bound was deleted, or has another UID."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """Binds tokens to objects, and checks that the objects of bound tokens exist.

    Attributes:
        storage: Storage of the objects.
        registry: The served kinds.
    """

    storage: Storage
    registry: Registry

    def claims(self, namespace: str, account: str, reference: JSONObject) -> JSONObject:
        """Return the claims that bind a token of ``account`` to an object.

        Args:
            namespace: The namespace of the service account.
            account: The name of the service account.
            reference: The ``boundObjectRef`` of the TokenRequest.

        Raises:
            NotFound: The object does not exist.
            BadRequest: Tokens cannot be bound to this kind of object, or the pod has another service account.
            Conflict: The object has another UID.
        """
        version, kind = (str(reference.get(field) or "") for field in ("apiVersion", "kind"))
        group, _, named = version.rpartition("/")
        if group or kind not in _RESOURCES:
            shown = f"{group}/{named}, Kind={kind}"
            raise refuse.bad_request(f"cannot bind token to object of type {shown}")
        name, wanted = str(reference.get("name") or ""), reference.get("uid") or ""
        found = self._find(kind, namespace, name)
        if found is None:
            raise refuse.not_found(self._kind(kind), name)
        claims: JSONObject = {kind.lower(): {"name": name, "uid": found.uid}}
        if kind == "Pod":
            claims.update(self._node_of(found, account))
        if wanted and wanted != found.uid:
            raise _another(kind, name, wanted)
        return claims

    def check(self, namespace: str, claims: JSONObject) -> Mapping[str, tuple[str, ...]]:
        """Check that the objects to which a token is bound exist.

        Args:
            namespace: The namespace of the service account.
            claims: The claims of the token that :meth:`claims` has returned, among others.

        Returns:
            The ``extra`` fields of the user, with names and UIDs of the bound Pod and Node.

        Raises:
            Unbound: An object was deleted, or has another UID.
        """
        extra: dict[str, tuple[str, ...]] = {}
        for kind, in_extra in (("Secret", False), ("Pod", True), ("Node", True)):
            if (bound := claims.get(kind.lower())) is None:
                continue
            if kind != "Node" or "pod" not in claims:
                self._still_there(kind, namespace, bound)
            if in_extra:
                extra[f"{_EXTRA}/{kind.lower()}-name"] = (bound["name"],)
                extra.update({f"{_EXTRA}/{kind.lower()}-uid": (bound["uid"],)} if "uid" in bound else {})
        return extra

    def _still_there(self, kind: str, namespace: str, bound: JSONObject) -> None:
        found = self._find(kind, namespace, bound["name"])
        if found is None:
            raise Unbound(_GONE)
        if found.uid != bound["uid"]:
            what = kind.lower()
            raise Unbound(f"{what} UID ({found.uid}) does not match service account {what} ref claim ({bound['uid']})")

    def _node_of(self, pod: Version, account: str) -> JSONObject:
        spec = pod.decode(self._kind("Pod"))["spec"]
        if spec.get("serviceAccountName", "") != account:
            why = "to pod running with different serviceaccount name."
            raise refuse.bad_request(f'cannot bind token for serviceaccount "{account}" {why}')
        if not (name := spec.get("nodeName")):
            return {}
        node = self._find("Node", "", name)
        return {"node": {"name": name, **({"uid": node.uid} if node is not None else {})}}

    def _kind(self, name: str) -> Kind:
        kind = self.registry.get(GVR("", "v1", _RESOURCES[name]))
        assert kind is not None, f"{name} is a built-in kind"
        return kind

    def _find(self, kind: str, namespace: str, name: str) -> Version | None:
        return self.storage.get(self._kind(kind), "" if kind == "Node" else namespace, name)


def _another(kind: str, name: str, uid: str) -> APIError:
    why = (
        f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )
    message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    return APIError.from_status(Status(code=409, reason="Conflict", message=message, kind=kind, name=name))
