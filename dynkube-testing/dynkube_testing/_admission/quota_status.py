"""The status of ResourceQuotas: kube-controller-manager's part of quotas."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from dynkube_testing._admission.amounts import Amount, Amounts, masked, read_amounts, same_amounts, shown_amounts, total
from dynkube_testing._admission.objects import Objects
from dynkube_testing._admission.quota import IGNORED, QUOTAS
from dynkube_testing._admission.usage import meter_of
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version
from dynkube_testing._store.work import Allowance


class QuotaStatus:
    """Keeps ``status.hard`` and ``status.used`` of quotas.

    A new or changed quota gets the usage of all objects in its namespace. Later changes of objects are added to or
    subtracted from it.
    """

    def __init__(self, storage: Storage, registry: Registry, now: Callable[[], datetime]) -> None:
        self._storage = storage
        self._registry = registry
        self._now = now
        self._objects = Objects(registry)  # quotas are read for each change in their namespace
        self._touched: dict[str, None] = {}
        self._restored = False
        self._changes: list[tuple[str, Change]] = []
        storage.listen(self._changed)

    def settle(self, allowance: Allowance) -> bool:
        """Update the quotas that recorded changes affect; return whether there were any."""
        changes, self._changes = self._changes, []
        touched, self._touched = self._touched, {}
        anew = {key for key in touched if self._is_outdated(key)} | self._all_outdated()
        for group, change in changes:
            self._count(group, change, anew)
        for key in sorted(anew):
            allowance.take()
            self._measure(key)
        return bool(changes or touched or anew)

    def measure_again(self) -> None:
        """Measure all quotas in the next :meth:`settle`, instead of counting the changes until then."""
        self._restored = True

    def _all_outdated(self) -> set[str]:
        restored, self._restored = self._restored, False
        return {version.key for version in self._storage.objects(QUOTAS)} if restored else set()

    def _changed(self, group: str, change: Change) -> None:
        if group == QUOTAS and change.after is not None:
            self._touched[change.after.key] = None
        version = change.after or change.before
        if version is not None and version.namespace and self._storage.objects(QUOTAS) and group not in IGNORED:
            self._changes.append((group, change))

    def _kind(self, group: str) -> Kind | None:
        return next(iter(self._registry.of_storage(group)), None)

    def _quota(self, key: str) -> JSONObject | None:
        namespace, _, name = key.partition("/")
        return self._objects.get(self._storage, QUOTAS, namespace, name)

    def _is_outdated(self, key: str) -> bool:
        """Return whether a quota has no usage yet, or its limits have changed."""
        if (quota := self._quota(key)) is None:
            return False
        status, hard = quota.get("status") or {}, quota["spec"].get("hard") or {}
        return "used" not in status or not same_amounts(status.get("hard"), hard)

    def _count(self, group: str, change: Change, anew: set[str]) -> None:
        """Add the difference that a change makes to the quotas that are not measured anyway."""
        version, kind = change.after or change.before, self._kind(group)
        assert version is not None
        for key in [each.key for each in self._storage.objects(QUOTAS, version.namespace)]:
            quota = self._quota(key)
            if key in anew or quota is None or kind is None:
                continue
            before, after = (self._usage(quota, kind, each) for each in (change.before, change.after))
            if before == after:
                continue
            both = total(read_amounts((quota.get("status") or {}).get("used")), after)
            self._write(quota, {name: amount.less(before.get(name, Amount())) for name, amount in both.items()})

    def _usage(self, quota: JSONObject, kind: Kind, version: Version | None) -> Amounts:
        meter, hard = meter_of(kind, self._now), quota["spec"].get("hard") or {}
        if version is None or not meter.names(hard):
            return {}
        obj = version.decode(kind)
        return masked(meter.usage(obj), hard) if meter.counts(quota, obj) else {}

    def _measure(self, key: str) -> None:
        """Write the usage of all objects in the namespace of a quota."""
        if (quota := self._quota(key)) is None:
            return
        hard, used = quota["spec"].get("hard") or {}, Amounts()
        for kind in self._counted(list(hard)):
            used = total(used, dict.fromkeys(meter_of(kind, self._now).names(hard), Amount()))
            prefix = f"{quota['metadata']['namespace']}/"
            for version in self._storage.collection(kind.storage_group).at(self._storage.revision, prefix):
                used = total(used, self._usage(quota, kind, version))
        self._write(quota, used)

    def _counted(self, hard: list[str]) -> list[Kind]:
        """Return a kind of each resource that uses one of the names in ``hard``."""
        found = {kind.storage_group: kind for kind in self._registry if kind.namespaced}
        return [kind for kind in found.values() if meter_of(kind, self._now).names(hard)]

    def _write(self, quota: JSONObject, used: Amounts) -> None:
        kind, hard = self._kind(QUOTAS), quota["spec"].get("hard") or {}
        status = {"hard": hard, "used": shown_amounts(masked(used, hard))}
        if kind is not None and status != quota.get("status"):
            self._storage.put(kind, {**quota, "status": status})
