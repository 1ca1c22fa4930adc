"""Judges calls and writes by what the server really has stored (``history.py``)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from dynkube import Unstructured
from dynkube.controllers import Context, ObjectKey, StaleCache
from dynkube_testing import APIServer
from dynkube_testing._store.versions import Version
from tests.controllers.model.history import Call, History, Run, Write, content, run_of
from tests.controllers.model.shapes import ELECTION, FINALIZER, Shape

WINDOW: Final = 10.0
CALLS: Final = 25
"""Calls of a key in a window without changes by others: back-off from 5 ms, doubled each time, allows 12."""
EACH_CHANGE: Final = 3
"""Further calls for each change by others in the last minute, which may arrive late."""
_UNSEEN: Final = 100.0
"""Seconds for which a watch may not show a deletion."""


@dataclass(eq=False)
class Oracle:
    """What is known of one script, and what was wrong in it.

    Attributes:
        server: the server.
        shape: the controller.
        tampered: until when the lease may have two users, as somebody has deleted or taken it.
        restored: when a client has noticed that the owned resource was restored from a backup.
        external: the objects, by UID, whose state outside of the cluster has to be cleaned up.
        wrong: what was wrong.
        trace: what has happened, with the time.
    """

    server: APIServer
    shape: Shape
    tampered: float = -1.0
    restored: float = -1.0
    external: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    trace: list[tuple[float, object]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.history = History(self.server, self._written)
        self.running: set[tuple[Run, ObjectKey]] = set()
        self.last: dict[tuple[Run, ObjectKey], Call] = {}  # those that were done
        self._failed: dict[tuple[Run, ObjectKey], Call] = {}  # the newest ones, if they have failed
        self._written_by: dict[tuple[Run, ObjectKey], list[Write]] = defaultdict(list)
        self._begins: dict[tuple[Run, ObjectKey], deque[float]] = defaultdict(deque)
        self._changes: deque[float] = deque()  # by others than calls
        self._deprived: dict[str, float] = {}  # owners, by UID: when others have deleted one of their children
        # The objects that secrets are mapped to, and since when. One that a secret was mapped to before need not be
        # reconciled: the informer may never have shown that, and its status is checked in any case.
        self._mapped: dict[tuple[str, str], tuple[tuple[str, str], float]] = {}
        self._children: dict[tuple[Run, str], set[str]] = {}  # as the last call has read them
        self._seen_versions: dict[tuple[Run, str, str], int] = {}

    def note(self, what: object) -> None:
        """Add a line to the trace."""
        self.trace.append((trio.current_time(), what))

    def violation(self, what: str) -> None:
        """Note that a promise was broken."""
        self.note(f"WRONG: {what}")
        self.wrong.append(what)

    # ── calls ────────────────────────────────────────────────────────────────────────────────

    def began(self, run: Run, key: ObjectKey, ctx: Context, *, cleaning: bool) -> Call:
        """Judge the beginning of a call, and all that it can read."""
        call = Call(run, key, len(self.calls), trio.current_time(), cleaning)
        call.revision = self.server.revision
        self.calls.append(call)
        if run.ended is not None or run.killed:
            if not run.killed:
                self.violation(f"{call} began after its process had ended")
            return call
        if (run, key) in self.running:
            self.violation(f"{key} is reconciled twice at once in {run}")
        self.running.add((run, key))
        self._check_rate(call)
        obj = ctx.get()
        call.uid, call.version = ("", "") if obj is None else (obj.uid, obj.resource_version)
        self.note(f"{call} begins, sees {call.version or 'nothing'}")
        self._check_reads(call, ctx)
        return call

    def ended(self, call: Call, result: str) -> None:
        """Note the end of a call."""
        call.ended, call.result = trio.current_time(), result
        self.running.discard((call.run, call.key))
        self.note(f"{call} ends: {result}")
        self._failed.pop((call.run, call.key), None)
        if result == "done":
            self.last[call.run, call.key] = call
        elif result != "cancelled":
            self._failed[call.run, call.key] = call

    def _check_rate(self, call: Call) -> None:
        now, begins = call.began, self._begins[call.run, call.key]
        begins.append(now)
        while begins[0] < now - WINDOW:
            begins.popleft()
        while self._changes and self._changes[0] < now - 60:
            self._changes.popleft()
        if len(begins) > CALLS + EACH_CHANGE * len(self._changes):
            self.violation(f"{call.key} was reconciled {len(begins)} times within {WINDOW:g} s")

    def _check_reads(self, call: Call, ctx: Context) -> None:
        for resource in sorted(self.shape.watched):
            try:
                shown = ctx.list(
                    None if resource == "widgets" and self.shape.owned != "widgets" else self._name(resource)
                )
            except StaleCache:
                continue  # what is being listed again is not read
            by_key: dict[tuple[str, str], Unstructured] = {}
            for obj in shown:
                if obj.key in by_key:
                    self.violation(f"{call} sees {resource} {obj.key} twice")
                by_key[obj.key] = obj
                self._check_state(call, resource, obj)
            if resource == self.shape.owned:
                children = {
                    obj.uid for obj in shown if call.uid in map(_owner_of, obj["metadata"].get("ownerReferences", ()))
                }
                call.lost_child = bool(self._children.get((call.run, call.uid), set()) - children)
                self._children[call.run, call.uid] = children
            self._check_own_writes(call, resource, by_key)
            self._check_initial(call, resource, by_key)

    def _name(self, resource: str) -> str:
        return self.shape.resource if resource == self.shape.owned else resource

    def _check_state(self, call: Call, resource: str, obj: Unstructured) -> None:
        """An object is shown in a state that it had, and not in an earlier one than before."""
        version = int(obj.resource_version)
        if not any(each.revision == version for each in self.history.of_uid.get(obj.uid, ())):
            self.violation(f"{call} sees {resource} {obj.key} at {version}, which never was")
        place = call.run, resource, obj.uid
        if version < self._seen_versions.get(place, 0):
            self.violation(f"{call} sees {resource} {obj.key} at {version}, earlier than a call before")
        self._seen_versions[place] = max(version, self._seen_versions.get(place, 0))

    def _check_own_writes(self, call: Call, resource: str, shown: dict[tuple[str, str], Unstructured]) -> None:
        newest = {
            write.about.uid: write
            for write in self._written_by[call.run, call.key]
            if write.resource == resource and _carried_out(write)
        }
        for uid, write in newest.items():
            obj = shown.get(write.key)
            if obj is not None and obj.uid != uid:
                obj = None
            if obj is not None and (int(obj.resource_version) < write.revision or write.after is None):
                self.violation(f"{call} sees {resource} {write.key} at {obj.resource_version}, before its {write}")
            live = self.history.current(resource, uid)
            if obj is None and live is not None and self._shows(resource, write.about) and self._shows(resource, live):
                self.violation(f"{call} does not see {resource} {write.key}, although {write}")

    def _check_initial(self, call: Call, resource: str, shown: dict[tuple[str, str], Unstructured]) -> None:
        """What existed before the process was started is seen by each call."""
        for key, version in self.history.live[resource].items():
            writes = self.history.of_uid[version.uid]
            old = writes[0].time < call.run.started and all(
                self._shows(resource, each.after) for each in writes if each.after is not None
            )
            if old and key not in shown:
                self.violation(f"{call} does not see {resource} {key}, which existed before {call.run} was started")

    def _shows(self, resource: str, version: Version) -> bool:
        """Return whether the controller's informers select an object."""
        shape = self.shape
        if resource == "widgets" and shape.owned != "widgets":
            return shape.reconciles(version.namespace, version.labels)
        if shape.namespaced and not shape.reconciles(version.namespace, {"team": "x"}):
            return False
        return resource != shape.owned or shape.sources != "halves" or version.labels.get("half", "") in ("0", "1", "2")

    # ── writes ───────────────────────────────────────────────────────────────────────────────

    def arrived(self, run: Run, resource: str, verb: str, name: str) -> None:
        """Judge a write by a process as it arrives at the server, before any fault."""
        now = trio.current_time()
        if run.killed:
            return
        if run.ended is not None:
            self.violation(f"{run} sends a {verb} of {resource} {name} after it has ended")
        if resource == "leases" or self.shape.processes == 1:
            return
        if now > run.renewed + ELECTION.renew_deadline + 1e-6:
            self.violation(f"{run} sends a {verb} of {resource} {name} {now - run.renewed:g} s after its last renewal")
        holder = self._holder()
        if now > self.tampered and not holder.startswith(f"{run.process}-"):
            self.violation(f"{run} sends a {verb} of {resource} {name} while {holder or 'nobody'} holds the lease")

    def _holder(self) -> str:
        lease = self.history.live["leases"].get(("default", "widgets"))
        return "" if lease is None else content(lease)["spec"].get("holderIdentity") or ""

    def _written(self, write: Write) -> None:
        if write.resource in ("leases", "events"):
            return
        if write.resource in self.shape.watched:
            self.note(write)
        run, author = run_of(write.author), write.author
        if write.resource == "secrets":
            self._mapped.pop(write.key, None)
            if write.after is not None:
                self._mapped[write.key] = _parent_of(write.after), write.time
        if run is None:
            self._changes.append(write.time)
            if write.resource == self.shape.owned and (write.after is None or write.after.deleting):
                self._deprived |= dict.fromkeys(write.about.owners, write.time)
        elif isinstance(author, Call):
            self._written_by[run, author.key].append(write)
        elif write.resource == "widgets":
            self._written_by[run, ObjectKey(*write.key)].append(write)
        if isinstance(author, Call) and write.resource == self.shape.owned and write.about.owners:
            self._check_children(author, write)
        if write.resource == "widgets" and self.shape.finalizer != "none":
            self._check_finalizer(write)

    def _check_children(self, call: Call, write: Write) -> None:
        """A call never makes more or fewer children than any state of its object since it was read wants."""
        if call.uid not in write.about.owners or self.shape.children == "none":
            return
        parent = self.history.current("widgets", call.uid)
        if parent is None:
            gone = self.history.of_uid[call.uid][-1].revision
            if write.before is None and call.lost_child and gone <= call.revision:
                self.violation(f"{call} replaces a child of an owner that was deleted at {gone}: {write}")
            return
        if trio.current_time() < self.tampered or parent.deleting or call.began < self.restored:
            return
        specs = [content(each)["spec"] for each in self.history.versions_since(call.uid, call.version)]
        wanted = [self.shape.wanted(spec) for spec in specs]
        present = len(self.history.owned_by(write.resource, call.uid))
        # One that is applied is created before one too many is deleted.
        if write.before is None and present > max(wanted) and self.shape.children != "applied":
            self.violation(f"{call} has created child {present} of {max(wanted)}: {write}")
        gone = write.after is None or (write.after.deleting and write.before is not None and not write.before.deleting)
        unseen = write.time - self._deprived.get(call.uid, -_UNSEEN) < _UNSEEN
        if gone and self.shape.children == "generated" and present < min(wanted) and not unseen:
            self.violation(f"{call} has left {present} of {min(wanted)} children: {write}")

    def _check_finalizer(self, write: Write) -> None:
        uid = write.about.uid
        had = write.before is not None and FINALIZER in write.before.finalizers
        has = write.after is not None and FINALIZER in write.after.finalizers
        if had and not has and uid in self.external:
            self.violation(f"{write} removes the finalizer before the clean-up has ended")
        if write.after is None and uid in self.external:
            self.violation(f"{write}, and was not cleaned up")

    def acted(self, call: Call) -> None:
        """Note that a call changes something outside of the cluster, for which a finalizer has to be there."""
        version = self.history.current("widgets", call.uid)
        if version is None or version.deleting:
            return  # the cache does not show that yet
        if FINALIZER not in version.finalizers:
            self.violation(f"{call} acts before the finalizer was added")
        self.external.add(call.uid)

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def unsettled(self, runs: Iterable[Run]) -> list[str]:
        """Return what is not yet as it should be in the end."""
        return [*self._unsettled_objects(), *self._unreconciled([*runs])]

    def _unsettled_objects(self) -> Iterator[str]:
        shape, live = self.shape, self.history.live
        for key, version in live["widgets"].items():
            if not shape.reconciles(*_labelled(version)):
                continue  # a finalizer of an object that is not selected any more is left to the user
            if version.deleting:
                yield f"widget {key} is not gone"
            else:
                yield from self._unsettled_object(key, version)
        owners = {each.uid for each in live["widgets"].values()}
        for key, version in live[shape.owned].items() if shape.owned else ():
            if version.owners and not owners.intersection(version.owners):
                yield f"{shape.owned} {key} has no owner any more"
        for uid in self.external - owners:
            yield f"the object {uid} has gone, and was not cleaned up"

    def _unsettled_object(self, key: tuple[str, str], version: Version) -> Iterator[str]:
        shape, obj = self.shape, content(version)
        if shape.owned and self.server_serves(shape.owned):
            children = [content(each) for each in self.history.owned_by(shape.owned, version.uid)]
            wanted = shape.wanted(obj["spec"])
            if len(children) != wanted:
                yield f"widget {key} has {len(children)} children instead of {wanted}"
            for child in children if shape.children == "applied" else ():
                if child["data"].get("size") != str(obj["spec"]["size"]):
                    yield f"{child['metadata']['name']} has not the size of widget {key}"
        if shape.mapped:
            values = self.secrets_of(key)
            if (obj.get("status") or {}).get("values") != values:
                yield f"widget {key} has the status {obj.get('status')}, and not the values {values}"
        if shape.finalizer != "none" and FINALIZER not in version.finalizers:
            yield f"widget {key} has no finalizer"

    def secrets_of(self, key: tuple[str, str]) -> list[str]:
        """Return the values of the secrets that are mapped to an object."""
        found = self.history.live["secrets"].values()
        return sorted(each.labels.get("value", "") for each in found if _parent_of(each) == key)

    def server_serves(self, plural: str) -> bool:
        """Return whether a resource is served."""
        return plural == "configmaps" or ("", f"{plural}.example.com") in self.history.live["customresourcedefinitions"]

    def _unreconciled(self, runs: list[Run]) -> Iterator[str]:
        yield from (f"{call} was not repeated" for (run, _), call in self._failed.items() if run in runs)
        if self.shape.interval is None:  # otherwise there may always be one
            yield from (f"{key} is being reconciled" for run, key in self.running if run in runs)
        calls = {key: call for (run, key), call in self.last.items() if run in runs}
        for key, version in self.history.live["widgets"].items():
            if not self.shape.reconciles(*_labelled(version)) or version.deleting:
                continue
            call = calls.get(ObjectKey(*key))
            if call is None or not self._is_recent(call, version):
                yield f"widget {key} was not reconciled at {version.revision}: {call} at {call and call.version}"
        for key, time in self._mapped.values() if self.shape.mapped else ():
            call = calls.get(ObjectKey(*key))
            if self._is_mapped(key) and (call is None or call.began < time):
                yield f"widget {key} was not reconciled since a secret of it was written at {time:g} s"
        for key, call in calls.items():
            gone = self.history.live["widgets"].get((key.namespace, key.name)) is None
            if gone and call.version and not call.cleaning:
                yield f"widget {key} was not reconciled after it was deleted"

    def _is_mapped(self, key: tuple[str, str]) -> bool:
        """Return whether a key has a call after each start of a process."""
        widget = self.history.live["widgets"].get(key)
        if widget is not None and not widget.deleting and self.shape.reconciles(*_labelled(widget)):
            return True
        secrets = self.history.live["secrets"].values()
        return any(_parent_of(each) == key and self._shows("secrets", each) for each in secrets)

    def _is_recent(self, call: Call, version: Version) -> bool:
        if call.version == str(version.revision):
            return True
        if self.shape.predicate == "none" or call.uid != version.uid:
            return False
        states = [each.after for each in self.history.of_uid[version.uid] if str(each.revision) == call.version]
        return any(each is not None and content(each)["spec"] == content(version)["spec"] for each in states)


def _owner_of(reference: Mapping[str, Any]) -> str:
    uid: str = reference["uid"]
    return uid


def _carried_out(write: Write) -> bool:
    """Return whether a write was carried out before its call ended; a later one need not be noticed."""
    author = write.author
    return not isinstance(author, Call) or (author.ended is not None and write.time <= author.ended)


def _labelled(version: Version) -> tuple[str, dict[str, str]]:
    return version.namespace, dict(version.labels)


def _parent_of(secret: Version) -> tuple[str, str]:
    return secret.namespace, secret.labels.get("parent", "")
