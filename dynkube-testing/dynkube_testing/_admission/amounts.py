"""Amounts of resources: quantities that are added and compared, and shown in the notation of their operands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TypeAlias

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import canonical, value_of

_EXACT = Context(prec=80)


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact amount.

    Attributes:
        value: The value.
        binary: Whether it is shown with a binary suffix (``Ki``), as its first operand that is not zero.
    """

    value: Decimal = Decimal(0)
    binary: bool = False

    @classmethod
    def read(cls, quantity: object) -> Amount:
        """Return the amount of a quantity such as ``500m``."""
        return cls(value_of(quantity), str(quantity).strip().endswith("i"))

    def __add__(self, other: Amount) -> Amount:
        """Return the sum, in the notation of the first operand that is not zero."""
        return Amount(_EXACT.add(self.value, other.value), self.binary if self.value else other.binary)

    def less(self, other: Amount) -> Amount:
        """Return the difference, or zero if it is negative."""
        return Amount(max(Decimal(0), _EXACT.subtract(self.value, other.value)), self.binary)

    def __str__(self) -> str:
        """Return the canonical notation."""
        if self.binary and abs(self.value) >= 1024:
            return str(canonical(f"{_EXACT.divide(self.value, Decimal(1024)):f}Ki"))
        return str(canonical(f"{self.value:f}"))


Amounts: TypeAlias = dict[str, Amount]

ONE = Amount(Decimal(1))


def read_amounts(quantities: object) -> Amounts:
    """Return the amounts of a map of quantities; empty if there is none."""
    return {name: Amount.read(each) for name, each in quantities.items()} if isinstance(quantities, Mapping) else {}


def same_amounts(one: object, other: object) -> bool:
    """Return whether two maps of quantities have the same values."""
    values = [{name: amount.value for name, amount in read_amounts(each).items()} for each in (one, other)]
    return values[0] == values[1]


def shown_amounts(amounts: Amounts) -> dict[str, str]:
    """Return amounts as quantities, sorted by resource."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def total(*parts: Amounts) -> Amounts:
    """Return the sum for each resource."""
    result: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            result[name] = result[name] + amount if name in result else amount
    return result


def largest(one: Amounts, other: Amounts) -> Amounts:
    """Return the larger amount of each resource."""
    bigger = {name: amount for name, amount in other.items() if name not in one or amount.value > one[name].value}
    return {**one, **bigger}


def increase(now: Amounts, before: Amounts) -> Amounts:
    """Return by how much each resource has grown."""
    return {name: amount.less(before.get(name, Amount())) for name, amount in now.items()}


def masked(amounts: Amounts, names: Collection[str]) -> Amounts:
    """Return the amounts of some resources."""
    return {name: amount for name, amount in amounts.items() if name in names}


# ── pods ──────────────────────────────────────────────────────────────────────────────────────


def pod_amounts(pod: JSONObject, field: str, *, overhead: bool) -> Amounts:
    """Return the ``requests`` or ``limits`` of a whole pod.

    Init containers run one after the other before the containers, except those that are restarted: sidecars.

    Args:
        pod: The pod.
        field: ``"requests"`` or ``"limits"``.
        overhead: Whether the overhead of its RuntimeClass is added: to all requests, and to limits that are set.
    """
    spec = pod["spec"]
    result = total(*(_of_container(container, field) for container in spec.get("containers") or ()))
    sidecars, starting = Amounts(), Amounts()
    for container in spec.get("initContainers") or ():
        own = _of_container(container, field)
        if container.get("restartPolicy") == "Always":
            result, sidecars = total(result, own), total(sidecars, own)
            own = sidecars
        else:
            own = total(own, sidecars)
        starting = largest(starting, own)
    result = largest(result, starting)
    whole = read_amounts((spec.get("resources") or {}).get(field))
    result |= {name: amount for name, amount in whole.items() if is_pod_level(name)}
    extra = read_amounts(spec.get("overhead")) if overhead else {}
    return total(result, extra if field == "requests" else _where_set(extra, result))


def is_pod_level(name: str) -> bool:
    """Return whether ``spec.resources`` of a pod may set this resource."""
    return name in {"cpu", "memory"} or name.startswith("hugepages-")


def _of_container(container: JSONObject, field: str) -> Amounts:
    return read_amounts((container.get("resources") or {}).get(field))


def _where_set(extra: Amounts, amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in extra.items() if name in amounts and amounts[name].value}


def containers_of(spec: JSONObject, fields: Iterable[str] = ("containers", "initContainers")) -> list[JSONObject]:
    """Return the containers in ``fields`` of a pod's spec."""
    return [container for field in fields for container in spec.get(field) or ()]
