"""What the perturbations of a plan did in a run, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dynkube_testing._perturbation.plans import Perturbation
from dynkube_testing._perturbation.recording import Write

_Words = Callable[[Perturbation, Sequence[Write]], str]


def explained(perturbation: Perturbation, applied: bool, writes: Sequence[Write]) -> str:
    """Return what a perturbation did.

    Args:
        perturbation: The perturbation.
        applied: Whether it has happened.
        writes: The writes of the program in that run.
    """
    if not applied:
        return f"{perturbation.family} did not happen: the program did something else before"
    return _WORDS[perturbation.family](perturbation, writes)


def _write(number: int, writes: Sequence[Write]) -> str:
    write = writes[number - 1]
    return f"write {number} of the program ({write.verb} {write.resource} {write.key.removesuffix('/')})"


def _crash(part: Perturbation, writes: Sequence[Write]) -> str:
    when = "processed, before the response" if part.how == "processed" else "sent, before the server had it"
    return f"when {_write(part.at, writes)} was {when}, the program was killed; it started again {_s(part)} later"


def _stale(part: Perturbation, writes: Sequence[Write]) -> str:
    shown = max(1, part.at - part.back + 1)
    before = "that write" if shown == part.at else _write(shown, writes)
    return (
        f"when {_write(part.at, writes)} was processed, the program was killed; it started again 1 s later, and lists "
        f"from the cache of the API server showed it the objects as they were before {before}, for {_s(part)}"
    )


def _lag(part: Perturbation, _: Sequence[Write]) -> str:
    return f"from event {part.at} of {part.resource} on, the program got no events of {part.resource} for {_s(part)}"


def _unobserved(part: Perturbation, _: Sequence[Write]) -> str:
    return (
        f"instead of event {part.at} of {part.resource} its watch ended; for {_s(part)} the program could not list or "
        f"watch {part.resource}, and then had to list it, without the states in between"
    )


def _conflict(part: Perturbation, writes: Sequence[Write]) -> str:
    return f"just before {_write(part.at, writes)}, another client changed that object"


def _refuse(part: Perturbation, writes: Sequence[Write]) -> str:
    others = f", and so did all requests for {_s(part)}" if part.seconds else ""
    return f"{_write(part.at, writes)} got the error response {part.how}{others}"


def _lost_answer(part: Perturbation, writes: Sequence[Write]) -> str:
    return f"{_write(part.at, writes)} was processed, and the connection broke before the response"


def _partition(part: Perturbation, writes: Sequence[Write]) -> str:
    return f"from {_write(part.at, writes)} on, nothing arrived in either direction for {_s(part)}, then everything did"


def _lost_lease(part: Perturbation, _: Sequence[Write]) -> str:
    return f"at write {part.at} of a Lease, another holder took it, and gave it back {_s(part)} later"


def _crd(part: Perturbation, writes: Sequence[Write]) -> str:
    return (
        f"at {_write(part.at, writes)}, the CRD {part.resource} was deleted with its objects; {_s(part)} after it was "
        "gone, both were created again, with other UIDs and without status"
    )


def _s(part: Perturbation) -> str:
    return f"{part.seconds:g} s"


_WORDS: Final[Mapping[str, _Words]] = {
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
