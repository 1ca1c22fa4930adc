"""Judges what informers report by what really was on the server: no false Deleted, no false ABSENT.

A report may be late, as news takes its time. It may not be about what never happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import trio

from dynkube import ABSENT, LIVE, STOPPED, SYNCING, Unstructured
from dynkube.telemetry import Collection, Observer, StateChange
from tests.informers.model.faults import LAG
from tests.informers.model.ledger import Ledger
from tests.informers.model.sights import Vocabulary
from tests.informers.model.truth import GROUP, Thing
from tests.informers.model.watched import Watched

GUESS_LIMIT: Final = 300.0
"""Seconds without any answer after which an informer must not call a resource absent any more."""
SILENCE_LIMIT: Final = 1000.0
"""The same where connections went silent, which takes longer to notice."""
_LATE: Final = 60.0
"""Seconds for which a client may remember what nobody follows any more."""


@dataclass(slots=True)
class _Presence:
    """The present spell in which an informer takes its resource to be there."""

    begin: int
    proven: bool = False
    """Whether objects were listed in it: that the server served the resource then is known for certain."""


class Oracle(Observer):
    """Knows the real history, and collects false reports in :attr:`wrong`.

    It expects informers of one collection to share their cache: with one transform.
    """

    def __init__(self, ledger: Ledger, words: Vocabulary) -> None:
        self.wrong: list[str] = []
        self.judging = True
        """Whether anything is found to be wrong at all."""
        self._ledger = ledger
        self._words = words
        self._watched: dict[Collection, Watched] = {}
        self._presences: dict[Collection, _Presence] = {}
        self._following_since = 0
        self._idle_since: float | None = 0.0
        self._hidden: list[tuple[int, float]] = []  # since which moment, and until what time
        self._outage: tuple[float, float] | None = None  # when it began, and how long it may go unnoticed

    def entering(self, watched: Watched) -> None:
        """An informer is about to be entered."""
        if self._idle_since is not None and trio.current_time() - self._idle_since > _LATE:
            self._following_since = self._ledger.advance()
        self._idle_since = None
        self._watched[_collection(watched)] = watched

    def left(self, remaining: int) -> None:
        """An informer was closed; so many are open."""
        if not remaining:
            self._idle_since = trio.current_time()

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def event(self, watched: Watched, obj: Unstructured, *, deleted: bool) -> Iterator[str]:
        """What is wrong about an event that carries ``obj``."""
        self._ledger.advance()
        written = list(self._ledger.written(watched.gvr, obj))
        if not self.judging:
            return
        if not any(_same_content(watched, thing, obj) for _, thing in written):
            yield f"{obj!r} was reported, and never was on the server like that"
        elif deleted and not self._may_be_gone(watched, obj, min(moment for moment, _ in written)):
            yield f"{obj!r} was reported as deleted, and existed all the time (now {trio.current_time():g} s)"

    def _may_be_gone(self, watched: Watched, obj: Unstructured, begin: int) -> bool:
        """Whether it, or its resource, was gone or out of sight at some moment since that version was written."""
        ledger, gvr = self._ledger, watched.gvr
        if ledger.was_missing(watched, begin) or ledger.was_replaced(gvr, begin):
            return True
        for thing in ledger.things(gvr, obj, begin):
            if thing is None or not watched.selection.selects(thing):
                return True
            if not all(self._saw(shown, thing) for shown in watched.shown_since(begin, ledger.moment)):
                return True
        return False

    def _saw(self, shown: str, thing: Thing) -> bool:
        """Whether a filter certainly showed it, whatever else has changed meanwhile."""
        return "chosen" not in shown and "named" not in shown and self._words.sees(shown, thing)

    # ── states ───────────────────────────────────────────────────────────────────────────────

    def state_changed(self, collection: Collection, change: StateChange) -> None:
        """An informer has another phase or reason."""
        watched = self._watched.get(collection)
        if watched is None:
            return
        moment = self._ledger.advance()
        if change.phase == SYNCING and (change.previous != SYNCING or collection not in self._presences):
            self._presences[collection] = _Presence(moment)
        elif change.phase == LIVE:
            self._presences.setdefault(collection, _Presence(moment)).proven = True
        elif change.phase == STOPPED:
            self._presences.pop(collection, None)
        elif change.phase == ABSENT and change.previous != ABSENT:
            presence = self._presences.pop(collection, None)
            proven = presence is not None and presence.proven
            begin = presence.begin if presence is not None and proven else self._following_since
            if not proven and self._may_be_hidden(watched, begin):
                return
            if self.judging and not self._ledger.was_missing(watched, begin):
                when = f"at {trio.current_time():g} s"
                self.wrong.append(f"{watched.gvr} became ABSENT ({change.reason}) {when}, and was served all the time")

    def hidden(self) -> None:
        """From now on discovery leaves out the resources of CRDs, for some seconds."""
        self._hidden.append((self._ledger.advance(), trio.current_time() + LAG))

    def _may_be_hidden(self, watched: Watched, begin: int) -> bool:
        """Whether discovery did not list it at some moment from ``begin`` until now."""
        if watched.gvr.group != GROUP:
            return False
        late = trio.current_time() - _LATE  # what was asked then may be known since
        return any(moment >= begin or until >= late for moment, until in self._hidden)

    # ── while nothing is heard ───────────────────────────────────────────────────────────────

    def outage_began(self, *, silent: bool) -> None:
        """From now on the server answers nothing, and every watch was ended, or went silent."""
        if self._outage is None:
            self._outage = trio.current_time(), SILENCE_LIMIT if silent else GUESS_LIMIT

    def outage_ended(self) -> None:
        """It answers again."""
        self._outage = None

    def guesses(self, watched: Watched) -> Iterator[str]:
        """Whether an informer says that a resource is absent, and could not have heard that for long."""
        if self._outage is None or watched.closed or watched.informer.state.phase is not ABSENT:
            return
        began, limit = self._outage
        if trio.current_time() - max(began, watched.entered_at) > limit:
            yield f"{watched.gvr} is still {watched.informer.state}, and nothing was heard since {began:g} s"


def _collection(watched: Watched) -> Collection:
    selection = watched.selection
    return Collection(
        gvr=watched.gvr,
        namespace=selection.namespace,
        label_selector=selection.label_selector or "",
        field_selector=selection.field_selector or "",
    )


def _same_content(watched: Watched, thing: Thing, obj: Unstructured) -> bool:
    if watched.transform == "slim" or thing.content is None:
        return True
    found: object = obj.get("spec", obj.get("data", {})).get("content")
    return found == str(thing.content)
