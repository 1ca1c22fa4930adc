"""The families of perturbations, and the plans that can matter for a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from random import Random
from typing import Final

from dynkube.errors import InvalidInput
from dynkube_testing._perturbation.plans import Perturbation, PerturbationPlan
from dynkube_testing._perturbation.recording import Recording, Write

_MANY: Final = 40  # points of one kind: a program that writes 10,000 times is perturbed at 40 of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Where a program can be perturbed, as seen in runs without perturbations.

    Attributes:
        writes: The writes of the program, in order.
        leases: The number of its writes of Leases.
        events: The number of events that it has received, by resource.
        definitions: The CRDs whose objects it reads or writes.
    """

    writes: tuple[Write, ...]
    leases: int
    events: Mapping[str, int]
    definitions: tuple[str, ...]

    @classmethod
    def of(cls, recording: Recording, definitions: Sequence[str]) -> Points:
        """Return the points of a run."""
        used = {write.resource.partition("/")[0] for write in recording.writes} | recording.events.keys()
        return cls(
            writes=tuple(recording.writes),
            leases=recording.leases,
            events=dict(recording.events),
            definitions=tuple(sorted(used & set(definitions))),
        )


_Generator = Callable[[Points], Iterator[Perturbation]]


def _crash(points: Points) -> Iterator[Perturbation]:
    for at in _spread(len(points.writes)):
        for how in _CRASHES:
            for seconds in (1.0, 30.0):
                yield Perturbation("crash", at, how=how, seconds=seconds)


def _stale(points: Points) -> Iterator[Perturbation]:
    for at in _spread(len(points.writes)):
        for back in _spread(at):
            for seconds in (5.0, 60.0):
                yield Perturbation("stale", at, back=back, seconds=seconds)


def _lag(points: Points) -> Iterator[Perturbation]:
    for resource, count in points.events.items():
        for at in _spread(count):
            for seconds in (1.0, 10.0, 60.0):
                yield Perturbation("lag", at, resource=resource, seconds=seconds)


def _unobserved(points: Points) -> Iterator[Perturbation]:
    for resource, count in points.events.items():
        for at in _spread(count):
            for seconds in (5.0, 60.0):
                yield Perturbation("unobserved", at, resource=resource, seconds=seconds)


def _conflict(points: Points) -> Iterator[Perturbation]:
    for at in _spread(len(points.writes)):
        if points.writes[at - 1].changes or points.writes[at - 1].verb == "delete":
            yield Perturbation("conflict", at)


def _refuse(points: Points) -> Iterator[Perturbation]:
    for at in _spread(len(points.writes)):
        for status in _STATUSES:
            if status != "409" or points.writes[at - 1].changes:
                yield Perturbation("refuse", at, how=status)
        yield Perturbation("refuse", at, how="503", seconds=60.0)


def _lost_answer(points: Points) -> Iterator[Perturbation]:
    for at in _spread(len(points.writes)):
        yield Perturbation("lost_answer", at)


def _partition(points: Points) -> Iterator[Perturbation]:
    for at in _spread(len(points.writes)):
        for seconds in (20.0, 120.0):
            yield Perturbation("partition", at, seconds=seconds)


def _lost_lease(points: Points) -> Iterator[Perturbation]:
    for at in _spread(points.leases):
        for seconds in (5.0, 60.0):
            yield Perturbation("lost_lease", at, seconds=seconds)


def _crd(points: Points) -> Iterator[Perturbation]:
    for resource in points.definitions:
        for at in _spread(len(points.writes)):
            for seconds in (1.0, 120.0):  # a watch of dynkube's outlasts a minute without the resource
                yield Perturbation("crd", at, resource=resource, seconds=seconds)


def _spread(count: int) -> Sequence[int]:
    """Return numbers from 1 to ``count``: all of them, or 40 of them."""
    if count <= _MANY:
        return range(1, count + 1)
    return sorted({1 + round(number * (count - 1) / (_MANY - 1)) for number in range(_MANY)})


GENERATORS: Final[Mapping[str, _Generator]] = {
    "crash": _crash,
    "stale": _stale,
    "lag": _lag,
    "unobserved": _unobserved,
    "conflict": _conflict,
    "refuse": _refuse,
    "lost_answer": _lost_answer,
    "partition": _partition,
    "lost_lease": _lost_lease,
    "crd": _crd,
}

#: The names of all families.
FAMILIES: Final[tuple[str, ...]] = tuple(GENERATORS)

_CRASHES: Final = ("unsent", "processed")
_STATUSES: Final = ("409", "429", "500", "503", "504")
_HOWS: Final[Mapping[str, Sequence[str]]] = {"crash": _CRASHES, "refuse": _STATUSES}
_OF_A_RESOURCE: Final = frozenset({"lag", "unobserved", "crd"})


def check_families(families: Sequence[str]) -> None:
    """Check that all families exist.

    Raises:
        InvalidInput: There is no family of that name, or no family at all.
    """
    if not families:
        raise InvalidInput(f"families is empty: pass some of {', '.join(FAMILIES)}")
    for family in families:
        if family not in GENERATORS:
            raise InvalidInput(f"there is no family {family!r}: known are {', '.join(FAMILIES)}")


def check_perturbation(perturbation: Perturbation) -> None:
    """Check that a family has such a perturbation.

    Raises:
        InvalidInput: It has not.
    """
    check_families([perturbation.family])
    hows = _HOWS.get(perturbation.family, ("",))
    if perturbation.how not in hows:
        raise InvalidInput(f"{perturbation}: how must be {' or '.join(hows) if any(hows) else 'left out'}")
    if bool(perturbation.resource) != (perturbation.family in _OF_A_RESOURCE):
        raise InvalidInput(f"{perturbation}: only {', '.join(sorted(_OF_A_RESOURCE))} have a resource, and need it")
    if (perturbation.back > 0) != (perturbation.family == "stale") or perturbation.back < 0:
        raise InvalidInput(f"{perturbation}: back is the number of writes, 1 or more, for stale only")
    if not 0 <= perturbation.seconds < inf:
        raise InvalidInput(f"{perturbation}: seconds must be a number from 0 on")


def plans_for(
    points: Points, families: Sequence[str], count: int, random: Random, *, shorter: float = 1.0
) -> list[PerturbationPlan]:
    """Return up to ``count`` different plans: single perturbations of all families in turn, and then pairs of them.

    Args:
        points: Where the program can be perturbed.
        families: The families to use.
        count: How many plans.
        random: Chooses.
        shorter: The factor of all durations.
    """
    singles = {
        family: [replace(each, seconds=each.seconds * shorter) for each in GENERATORS[family](points)]
        for family in families
    }
    singles = {family: found for family, found in singles.items() if found}
    for found in singles.values():
        random.shuffle(found)
    plans = [PerturbationPlan((each,), random.getrandbits(32)) for each in islice(_in_turn(singles), count)]
    seen = set()
    names = sorted(singles)
    for _ in range(10 * count if names else 0):  # pairs may be drawn twice
        if len(plans) >= count:
            break
        pair = tuple(random.choice(singles[random.choice(names)]) for _ in range(2))
        if pair[0] != pair[1] and frozenset(pair) not in seen:
            seen.add(frozenset(pair))
            plans.append(PerturbationPlan(pair, random.getrandbits(32)))
    return plans


def _in_turn(singles: Mapping[str, Sequence[Perturbation]]) -> Iterator[Perturbation]:
    for number in range(max(map(len, singles.values()), default=0)):
        for found in singles.values():
            if number < len(found):
                yield found[number]
