"""Compares the reports of informers with the real history of the server: no false Deleted, no false ABSENT.

A report may be late, but it has to be about something that happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import trio

from dynkube import ABSENT, LIVE, STOPPED, SYNCING, Unstructured
from dynkube.telemetry import Collection, Observer, StateChange
from tests.informers.model.expected_state import GROUP, StoredObject
from tests.informers.model.faults import LAG
from tests.informers.model.filters import NamedFilters
from tests.informers.model.ledger import Ledger
from tests.informers.model.rights_ledger import RightsLedger
from tests.informers.model.watched import Watched

GUESS_LIMIT: Final = 300.0
"""Seconds without any response after which an informer must not report a resource as absent any more."""
SILENCE_LIMIT: Final = 1000.0
"""The same for connections that went silent, which takes longer to notice."""
_OF_SETS: Final = ("Forbidden",)
"""Reasons for which a set of namespaces is ABSENT although its resource is served."""
_LATE: Final = 60.0
"""Seconds for which a client may keep what it knows of resources that are not followed any more."""


@dataclass(slots=True)
class _Presence:
    """The time since which an informer has considered its resource to be present."""

    begin: int
    proven: bool = False
    """Whether objects were listed in that time, which proves that the server served the resource."""


class Oracle(Observer):
    """Knows the real history, and collects false reports in :attr:`wrong`.

    Informers of one collection have to share their cache, so they must have the same transform.
    """

    def __init__(self, ledger: Ledger, filters: NamedFilters) -> None:
        self.wrong: list[str] = []
        self.rights: RightsLedger | None = None
        """When the user had which rights; ``None`` if the user may do everything."""
        self.judging = True
        """Whether false reports are recorded at all."""
        self._ledger = ledger
        self._filters = filters
        self._watched: dict[Collection, Watched] = {}
        self._presences: dict[Collection, _Presence] = {}
        self._following_since = 0
        self._idle_since: float | None = 0.0
        self._hidden: list[tuple[int, float]] = []  # begin (a moment), end (a time)
        self._outage: tuple[float, float] | None = None  # begin, seconds until it must be noticed

    def entering(self, watched: Watched) -> None:
        """Record that an informer is about to be entered."""
        if self._idle_since is not None and trio.current_time() - self._idle_since > _LATE:
            self._following_since = self._ledger.advance()
        self._idle_since = None
        self._watched[_collection(watched)] = watched

    def left(self, remaining: int) -> None:
        """Record that an informer was closed, and how many remain open."""
        if not remaining:
            self._idle_since = trio.current_time()

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def event(self, watched: Watched, obj: Unstructured, *, deleted: bool) -> Iterator[str]:
        """Yield the errors in an event that carries ``obj``."""
        self._ledger.advance()
        written = list(self._ledger.written(watched.gvr, obj))
        if not self.judging:
            return
        if not any(_same_content(watched, stored, obj) for _, stored in written):
            yield f"{obj!r} was reported, and never was on the server like that"
        elif deleted and not self._may_be_gone(watched, obj, min(moment for moment, _ in written)):
            yield f"{obj!r} was reported as deleted, and existed all the time (now {trio.current_time():g} s)"

    def _may_be_gone(self, watched: Watched, obj: Unstructured, begin: int) -> bool:
        """Return whether the object was gone, unselected or not served at some moment since that write."""
        ledger, gvr = self._ledger, watched.gvr
        if ledger.was_missing(watched, begin) or ledger.was_replaced(gvr, begin):
            return True
        if self.rights is not None and self.rights.may_be_hidden(watched, obj.namespace, begin):
            return True
        for stored in ledger.states_since(gvr, obj, begin):
            if stored is None or not watched.selection.selects(stored):
                return True
            if not all(self._was_visible(shown, stored) for shown in watched.shown_since(begin, ledger.moment)):
                return True
        return False

    def _was_visible(self, shown: str, stored: StoredObject) -> bool:
        """Return whether the filter showed the object for certain, whatever else has changed meanwhile."""
        return "chosen" not in shown and "named" not in shown and self._filters.matches(shown, stored)

    # ── states ───────────────────────────────────────────────────────────────────────────────

    def state_changed(self, collection: Collection, change: StateChange) -> None:
        """Check a change of an informer's phase or reason."""
        watched = self._watched.get(collection)
        if watched is None:
            return
        moment = self._ledger.advance()
        if change.phase == ABSENT and change.reason in _OF_SETS:
            self._judge_set(watched, change)
            return
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

    def _judge_set(self, watched: Watched, change: StateChange) -> None:
        """Check that no namespace of a set could be read all the time, as the set is reported to have none."""
        if self.rights is None or self.rights.unanimous_since(watched.entered):
            return
        readable = self.rights.readable_since(watched, watched.entered)
        if readable and self.judging:
            self.wrong.append(f"{watched} became ABSENT ({change.reason}), and {set(readable)} could be read")

    def synced(self, watched: Watched, begin: int) -> Iterator[str]:
        """Yield an error for each object that is missing in an informer that has just synced.

        Args:
            watched: the informer.
            begin: when the first informer of its collection was entered, with which it may share a cache: that has
                listed what existed then, and may be late with later changes.
        """
        if self.rights is None or not self.judging:
            return
        gvr = watched.gvr
        if self._ledger.was_missing(watched, begin) or self._ledger.was_replaced(gvr, begin):
            return
        readable = self.rights.readable_since(watched, begin)
        listed = {obj.key for obj in watched.informer.list()}
        for key, stored in watched.expected(self._ledger.expected_state, self._filters).items():
            if key[0] in readable and key not in listed and self._ledger.unchanged_since(gvr, stored, begin):
                yield f"{watched} has synced without {key}, which the user could read all the time"

    def hidden(self) -> None:
        """Record that discovery leaves out the resources of CRDs from now on, for :data:`LAG` seconds."""
        self._hidden.append((self._ledger.advance(), trio.current_time() + LAG))

    def _may_be_hidden(self, watched: Watched, begin: int) -> bool:
        """Return whether discovery did not list the resource at some moment from ``begin`` until now."""
        if watched.gvr.group != GROUP:
            return False
        late = trio.current_time() - _LATE  # a response from then may still be in use
        return any(moment >= begin or until >= late for moment, until in self._hidden)

    # ── outages ──────────────────────────────────────────────────────────────────────────────

    def outage_began(self, *, silent: bool) -> None:
        """Record that the server responds to nothing from now on, and that every watch ended or went silent."""
        if self._outage is None:
            self._outage = trio.current_time(), SILENCE_LIMIT if silent else GUESS_LIMIT

    def outage_ended(self) -> None:
        """Record that the server responds again."""
        self._outage = None

    def guesses(self, watched: Watched) -> Iterator[str]:
        """Yield an error if an informer reports ABSENT although no response has confirmed it for too long."""
        if self._outage is None or watched.closed or watched.informer.state.phase is not ABSENT:
            return
        began, limit = self._outage
        if trio.current_time() - max(began, watched.entered_at) > limit:
            yield f"{watched.gvr} is still {watched.informer.state}, without any response since {began:g} s"


def _collection(watched: Watched) -> Collection:
    selection = watched.selection
    return Collection(
        gvr=watched.gvr,
        namespace=selection.namespace,
        namespaces=watched.namespaces_text,
        label_selector=selection.label_selector or "",
        field_selector=selection.field_selector or "",
    )


def _same_content(watched: Watched, stored: StoredObject, obj: Unstructured) -> bool:
    if watched.transform == "slim" or stored.content is None:
        return True
    found: object = obj.get("spec", obj.get("data", {})).get("content")
    return found == str(stored.content)
