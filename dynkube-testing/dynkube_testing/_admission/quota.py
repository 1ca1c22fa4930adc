"""ResourceQuota: rejects writes that would exceed a quota of their namespace.

The usage in a quota's status is updated by :class:`~dynkube_testing._admission.quota_status.QuotaStatus` after the
write, before the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from dynkube_testing._admission.amounts import Amounts, increase, masked, read_amounts, shown_amounts, total
from dynkube_testing._admission.objects import Objects
from dynkube_testing._admission.usage import Meter, is_terminating, meter_of, missing_requirements
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._verbs.admission import Attributes

QUOTAS = "resourcequotas"
#: Resources that no quota counts.
IGNORED = frozenset({"events", "events.events.k8s.io", "bindings"})
# Resources whose updates may use more: others only count objects.
_GROWING = {"services", "persistentvolumeclaims"}


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """The plugin.

    Attributes:
        objects: Looks up the quotas.
        now: The clock: pods that should have ended use nothing.
    """

    objects: Objects
    now: Callable[[], datetime]

    def validate(self, attributes: Attributes) -> None:
        """Check a write against each quota of its namespace.

        Raises:
            Forbidden: It exceeds a quota, or lacks a value that a quota requires.
        """
        kind = attributes.kind
        quotas = self.objects.all(attributes.storage, QUOTAS, attributes.call.namespace) if kind.namespaced else ()
        if not quotas or attributes.resource in IGNORED or not _concerns(attributes):
            return
        meter = meter_of(kind, self.now)
        for quota in quotas:
            self._check(attributes, quota, meter)

    def _check(self, attributes: Attributes, quota: JSONObject, meter: Meter) -> None:
        status, name, obj = quota.get("status") or {}, quota["metadata"]["name"], attributes.new
        names = meter.names(status.get("hard") or {})
        if not names or not meter.counts(quota, obj):
            return
        hard, used = read_amounts(status.get("hard")), read_amounts(status.get("used"))
        if attributes.resource == "pods" and (problem := missing_requirements(obj, names)):
            raise attributes.forbidden(f"failed quota: {name}: {problem}")
        if any(each not in used for each in names):
            raise attributes.forbidden(f"status unknown for quota: {name}, resources: {','.join(names)}")
        requested = masked(meter.usage(obj), hard)
        if attributes.old is not None and meter.counts(quota, attributes.old):
            requested = increase(requested, meter.usage(attributes.old))
        requested = {each: amount for each, amount in requested.items() if amount.value}
        after = total(used, requested)
        if exceeded := {each for each in requested if after[each].value > hard[each].value}:
            parts = {"requested": requested, "used": used, "limited": hard}
            listed = ", ".join(f"{word}: {_listed(masked(part, exceeded))}" for word, part in parts.items())
            raise attributes.forbidden(f"exceeded quota: {name}, {listed}")


def _concerns(attributes: Attributes) -> bool:
    """Return whether a write may use more than before."""
    resource, operation, subresource = attributes.resource, attributes.operation, attributes.subresource
    if operation == "CREATE":
        return not subresource
    if operation != "UPDATE" or attributes.old is None:
        return False
    if resource == "pods":
        moved = not subresource and is_terminating(attributes.old) != is_terminating(attributes.new)
        return subresource == "resize" or moved
    return resource in _GROWING and not subresource


def _listed(amounts: Amounts) -> str:
    return ",".join(f"{name}={quantity}" for name, quantity in shown_amounts(amounts).items())
