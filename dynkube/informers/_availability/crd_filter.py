"""The answers of ``InformerSettings.crd_filter``: a function of the user, which may raise."""

from __future__ import annotations

import logging
from collections.abc import Callable

from dynkube._guard import attempt_with, text_of
from dynkube._logs import get_logger
from dynkube.informers._availability.availability import Availability, absent, unknown
from dynkube.informers._availability.crd_summary import judge_crd
from dynkube.meta import GVR, Unstructured

_log = get_logger("dynkube.informers")


class CRDFilter:
    """Calls the filter, and remembers what it said last about each CRD.

    An exception is no answer: the filter may read a file that is being replaced. What it said last stands until it
    answers again; a CRD on which it never answered is neither served nor absent.

    Args:
        accepts: the filter; ``None`` accepts all CRDs.
    """

    def __init__(self, accepts: Callable[[Unstructured], bool] | None) -> None:
        self._accepts = accepts
        self._answers: dict[str, tuple[str, bool]] = {}  # by name: the CRD's uid, and the answer
        self._logged: set[str] = set()
        self.failing: set[str] = set()
        """Names of the CRDs on which the filter raised last, so that it has to be called again."""

    def judge(self, gvr: GVR, crd: Unstructured) -> Availability:
        """Return the verdict on ``gvr`` from its CRD."""
        if self._accepts is None:
            return judge_crd(gvr, crd)
        failures: list[Exception] = []
        accepted = bool(attempt_with(self._accepts, crd, False, failures.append))
        if failures:
            self._failed(crd.name, failures[0])
            uid, accepted = self._answers.get(crd.name, ("", False))
            if uid != crd.uid:
                return unknown("CRDFilterFailed", f"crd_filter failed on CRD {crd.name}: {text_of(failures[0])}")
        else:
            self.failing.discard(crd.name)
            self._logged.discard(crd.name)
            self._answers[crd.name] = (crd.uid, accepted)
        if accepted:
            return judge_crd(gvr, crd)
        return absent("CRDFiltered", f"CRD {crd.name} is installed, but excluded by crd_filter")

    def _failed(self, name: str, failure: Exception) -> None:
        level = logging.DEBUG if name in self._logged else logging.ERROR
        self._logged.add(name)
        self.failing.add(name)
        text = "crd_filter failed on CRD %s: its last answer stands, and it is called again"
        _log.log(level, text, name, exc_info=failure)

    def forget(self, name: str) -> None:
        """Forget the answer about a CRD that was deleted."""
        self._answers.pop(name, None)
        self.failing.discard(name)
        self._logged.discard(name)

    def clear(self) -> None:
        """Forget all answers."""
        self._answers.clear()
        self.failing.clear()
        self._logged.clear()
