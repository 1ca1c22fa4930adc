"""Owner references that a controller sets. Pure."""

from __future__ import annotations

from typing import Any

from dynkube.errors import InvalidInput
from dynkube.informers._dependents import owner_references
from dynkube.meta import Unstructured


def is_controlled_by(obj: Unstructured, owner: Unstructured) -> bool:
    """Return whether ``owner`` is the controller among the owners of ``obj``."""
    return any(each["uid"] == owner.uid and each.get("controller") is True for each in owner_references(obj))


def check_may_own(owner: Unstructured, obj: Unstructured, *, namespaced: bool) -> None:
    """Reject an owner reference that Kubernetes does not allow.

    An owner is in the namespace of its dependents or cluster-scoped. The garbage collector deletes objects with other
    owners.

    Args:
        owner: the owner.
        obj: what it is to own.
        namespaced: whether ``obj`` is of a namespaced resource.

    Raises:
        InvalidInput: ``owner`` cannot own ``obj``.
    """
    if owner.namespace and not namespaced:
        raise InvalidInput(
            f"{owner!r} cannot own {obj!r}: the owner of a cluster-scoped object is cluster-scoped; pass owned=False, "
            "and delete it with a finalizer"
        )
    if owner.namespace and owner.namespace != obj.namespace:
        raise InvalidInput(
            f"{owner!r} cannot own {obj!r}: an owner in a namespace owns only objects there; pass owned=False, and "
            "delete it with a finalizer"
        )


def with_owner(obj: dict[str, Any], owner: Unstructured) -> dict[str, Any]:
    """Add a reference to the owner that is the object's controller (client-go's ``NewControllerRef``).

    A reference to the same owner that is there already is replaced.

    Raises:
        InvalidInput: the object names another controller.
    """
    metadata = obj["metadata"]
    given = metadata.get("ownerReferences") or []
    others = [each for each in given if isinstance(each, dict) and each.get("uid") != owner.uid]
    for each in others:
        if each.get("controller") is True:
            raise InvalidInput(
                f"{metadata.get('name')!r} has another controller, {each.get('kind')} {each.get('name')!r}: an object "
                "has one at most; leave it out, or pass owned=False"
            )
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {**obj, "metadata": {**metadata, "ownerReferences": [*others, reference]}}
