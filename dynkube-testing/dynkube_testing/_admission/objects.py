"""The objects that admission plugins look up, decoded once for each of their versions."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.storage import WriteStorage
from dynkube_testing._store.versions import Version, stored_kind
from dynkube_testing._verbs.namespaces import NAMESPACES


class Objects:
    """Looks up objects by resource. The objects that it returns must not be modified."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._decoded: WeakKeyDictionary[Version, JSONObject] = WeakKeyDictionary()

    def all(self, storage: WriteStorage, group: str, namespace: str = "") -> list[JSONObject]:
        """Return the objects of a storage group in one namespace, or all of them, sorted by name."""
        if not (versions := storage.objects(group, namespace)):
            return []
        return [obj for version in sorted(versions, key=lambda each: each.key) if (obj := self._decode(group, version))]

    def get(self, storage: WriteStorage, group: str, namespace: str, name: str) -> JSONObject | None:
        """Return one object; ``None`` if it does not exist or its kind is not served."""
        kind = next(iter(self._registry.of_storage(group)), None)
        version = storage.get(kind, namespace, name) if kind is not None else None
        return None if version is None else self._decode(group, version)

    def namespace(self, storage: WriteStorage, name: str) -> JSONObject | None:
        """Return a namespace; ``None`` if it does not exist."""
        return self.get(storage, NAMESPACES, "", name)

    def _decode(self, group: str, version: Version) -> JSONObject | None:
        if (found := self._decoded.get(version)) is not None:
            return found
        kind = next(iter(self._registry.of_storage(group)), None)
        if kind is None:
            return None
        self._decoded[version] = obj = version.decode(stored_kind(kind, version))
        return obj
