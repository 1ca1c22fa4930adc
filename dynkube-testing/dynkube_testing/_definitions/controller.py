"""The CRD controller: accepted names, Established, served kinds, deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.delete_options import DeleteOptions
from dynkube_testing._calls.webhook_calls import WebhookAnswers
from dynkube_testing._definitions.crds import CLEANUP_FINALIZER, DEFINITIONS, condition, kinds_of, set_condition
from dynkube_testing._definitions.names import (
    accept_names,
    establish,
    kind_names,
    resource_names,
    set_approval_condition,
)
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._patching.entries import Writer
from dynkube_testing._patching.ownership import Ownership
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.timers import Timers
from dynkube_testing._store.versions import stored_kind
from dynkube_testing._store.watching import Watches
from dynkube_testing._store.work import Allowance
from dynkube_testing._verbs.deleting import Deletes
from dynkube_testing._verbs.sources import Identity
from dynkube_testing._verbs.stored_versions import cache_problem


@dataclass(slots=True, kw_only=True)
class _Known:
    """The state of a CRD after its last reconciliation.

    Attributes:
        uid: Its UID.
        generation: Its generation.
        group: The group of its kinds.
        accepted: ``status.acceptedNames``.
        waiting: Whether the names in its spec conflict with other CRDs.
        kinds: The kinds that it serves.
    """

    uid: str
    generation: int
    group: str
    accepted: JSONObject
    waiting: bool
    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEnvironment:
    """The controller's dependencies."""

    storage: Storage
    registry: Registry
    deletes: Deletes
    watches: Watches
    identity: Identity
    ownership: Ownership
    timers: Timers
    establish_delay: float
    webhook_answers: Callable[[], WebhookAnswers | None]


class DefinitionController:
    """Reconciles the served kinds with the stored CRDs.

    The controller is level-triggered: it acts on the current state of a CRD, not on single changes. Reconciling once
    after several writes has the same result as reconciling after each write.

    Args:
        around: The controller's dependencies.
        settle: Callback that reconciles everything. It is called after the controller has established a CRD outside of
            a request, as at the end of the establish delay.
    """

    def __init__(self, around: ControllerEnvironment, settle: Callable[[], None]) -> None:
        self._around = around
        self._settle_all = settle
        self._known: dict[str, _Known] = {}
        self._held: set[str] = set()
        self._timed: set[str] = set()  # UIDs of CRDs whose establish delay is running
        # Names of CRDs to reconcile, in order of change.
        self._dirty: dict[str, None] = {}
        around.storage.listen(self._changed)

    def hold(self, name: str) -> None:
        """Prevent the CRD ``name`` from being established until :meth:`release`.

        The CRD need not exist yet.
        """
        self._held.add(name)

    def release(self, name: str) -> None:
        """End :meth:`hold`, and establish the CRD ``name`` if its names are accepted."""
        self._held.discard(name)
        version = self._around.storage.collection(DEFINITIONS).current.get(name)
        if version is not None:
            self._establish(name, version.uid)

    def settle(self, allowance: Allowance) -> bool:
        """Reconcile the changed CRDs; return whether there were any.

        ``allowance`` limits the number of instances that are deleted.
        """
        dirty, self._dirty = self._dirty, {}
        for name in sorted(dirty, key=self._claims) if len(dirty) > 1 else dirty:
            self._reconcile(name, allowance)
        return bool(dirty)

    def _changed(self, group: str, change: Change) -> None:
        if group == DEFINITIONS:
            version = change.after or change.before
            assert version is not None
            self._dirty[version.name] = None
        elif change.after is None and group in self._known:
            # An instance was deleted. The storage group of the instances is the name of the CRD (PLURAL.GROUP).
            known = self._known[group]
            if known.kinds and known.kinds[0].terminating:
                self._dirty[group] = None

    def _claims(self, name: str) -> bool:
        """Return whether the names of the CRD are not accepted yet, as a sort key.

        If many CRDs are reconciled at once, as after a snapshot is restored, CRDs with accepted names must come first,
        so that others cannot take these names.
        """
        version = self._around.storage.collection(DEFINITIONS).current.get(name)
        if version is None:
            return False
        return condition(version.decode(self._kind()), "NamesAccepted") != "True"

    def _kind(self) -> Kind:
        return self._around.registry.of_storage(DEFINITIONS)[0]

    def _reconcile(self, name: str, allowance: Allowance) -> None:
        version = self._around.storage.collection(DEFINITIONS).current.get(name)
        known = self._known.get(name)
        if known is not None and (version is None or version.uid != known.uid):
            self._forget(name)
        if version is None:
            return
        definition = version.decode(self._kind())
        if "deletionTimestamp" in definition["metadata"]:
            self._serve(name, definition)
            self._take_down(name, definition, allowance)
            return
        self._accept(name, definition)
        self._serve(name, definition)

    # ── serving ───────────────────────────────────────────────────────────────────────────

    def _accept(self, name: str, definition: JSONObject) -> None:
        """Accept the names of the CRD, then establish it, in two updates of the status."""
        with self._change(definition) as time:
            set_approval_condition(definition, time)
            accept_names(definition, *self._taken(name, definition["spec"]["group"]), time)
        if condition(definition, "Established") == "True" or condition(definition, "NamesAccepted") != "True":
            return
        if name in self._held:
            return
        delay, uid = self._around.establish_delay, definition["metadata"]["uid"]
        if delay == 0:
            with self._change(definition) as time:
                establish(definition, time)
        elif uid not in self._timed:
            self._timed.add(uid)
            self._around.timers.after(delay, lambda: self._establish(name, uid))

    def _taken(self, name: str, group: str) -> tuple[set[str], set[str]]:
        """Return the resource names and the kinds that are taken in ``group``.

        They belong to other CRDs, or to built-in kinds, which a CRD cannot replace.
        """
        others = [known.accepted for other, known in self._known.items() if other != name and known.group == group]
        builtin = [kind for kind in self._around.registry.of_group(group) if kind.crd_uid is None]
        resources = {text for accepted in others for text in resource_names(accepted)}
        resources |= {text for kind in builtin for text in (kind.gvr.resource, kind.singular, *kind.short_names)}
        kinds = {text for accepted in others for text in kind_names(accepted)}
        return resources, kinds | {text for kind in builtin for text in (kind.kind, kind.list_kind)}

    def _establish(self, name: str, uid: str) -> None:
        """Establish the CRD if it still exists, is not held, and its names are accepted."""
        self._timed.discard(uid)
        version = self._around.storage.collection(DEFINITIONS).current.get(name)
        if version is None or version.uid != uid or name in self._held:
            return
        definition = version.decode(self._kind())
        if condition(definition, "NamesAccepted") == "True" and condition(definition, "Terminating") != "True":
            with self._change(definition) as time:
                establish(definition, time)
            self._settle_all()

    @contextmanager
    def _change(self, definition: JSONObject) -> Iterator[str]:
        """Store ``definition`` after the ``with`` block if the block changed its status.

        Yields the timestamp for conditions.
        """
        before = msgspec.json.decode(msgspec.json.encode(definition))
        time = self._around.identity.timestamp()
        yield time
        if definition["status"] != before["status"]:
            writer = Writer(manager="kube-apiserver", operation="Update", subresource="status", time=time)
            self._around.ownership.record(self._kind(), definition, before, writer)
            self._around.storage.put(self._kind(), definition)

    def _serve(self, name: str, definition: JSONObject) -> None:
        """Register the kinds of the CRD.

        If the spec was edited, watches on these kinds end, and cannot be resumed at an older resourceVersion. A real
        server creates a new watch cache in this case.
        """
        served = "True" in {condition(definition, "NamesAccepted"), condition(definition, "Established")}
        kinds = self._kinds_of(definition) if served else ()
        known = self._known.get(name)
        before = known.kinds if known is not None else ()
        generation = definition["metadata"].get("generation", 0)
        registry = self._around.registry
        registry.remove(*({kind.gvr for kind in before} - {kind.gvr for kind in kinds}))
        registry.add(*kinds)
        self._known[name] = _Known(
            uid=definition["metadata"]["uid"],
            generation=generation,
            group=definition["spec"]["group"],
            accepted=definition["status"].get("acceptedNames") or {},
            waiting=condition(definition, "NamesAccepted") == "False",
            kinds=kinds,
        )
        terminating = "deletionTimestamp" in definition["metadata"]
        edited = known is not None and known.generation != generation and not terminating
        if edited:
            self._around.watches.end(name)
        if edited or (kinds and not before):
            self._around.storage.collection(name).watched_since = self._around.storage.revision
        if known is None or known.accepted != self._known[name].accepted:
            self._look_again(self._known[name].group, name)

    def _look_again(self, group: str, name: str) -> None:
        """Reconcile CRDs of ``group`` that wait for names again.

        The accepted names of the CRD ``name`` have changed, so some names may be free now.
        """
        for other, known in self._known.items():
            if other != name and known.group == group and known.waiting:
                self._dirty[other] = None

    # ── deletion ──────────────────────────────────────────────────────────────────────────

    def _take_down(self, name: str, definition: JSONObject, allowance: Allowance) -> None:
        finalizers = definition["metadata"].get("finalizers") or []
        if CLEANUP_FINALIZER in finalizers and (problem := self._listing_problem(name)):
            self._report(definition, "InstanceDeletionFailed", f"could not list instances: {problem}")
            return
        if CLEANUP_FINALIZER not in finalizers or self._delete_instances(name, allowance):
            self._report_progress(definition)
            return
        definition["metadata"]["finalizers"] = [other for other in finalizers if other != CLEANUP_FINALIZER]
        if definition["metadata"]["finalizers"]:
            time = self._around.identity.timestamp()
            set_condition(definition, "Terminating", False, "InstanceDeletionCompleted", "removed all instances", time)
            self._around.storage.put(self._kind(), definition)
        else:
            self._around.storage.remove(DEFINITIONS, name)

    def _delete_instances(self, name: str, allowance: Allowance) -> bool:
        """Delete the CRD's instances; return whether any are left.

        Instances with finalizers are left, and those beyond ``allowance``, which a later call deletes.
        """
        kinds = self._kinds_of_instances(name)
        collection = self._around.storage.collection(name)
        for version in collection.walk(""):
            if allowance.spent:
                self._dirty[name] = None
                return True
            if not version.deleting:
                allowance.take()
                self._around.deletes.delete_version(stored_kind(kinds[0], version), version, DeleteOptions())
        return bool(collection.current)

    def _listing_problem(self, name: str) -> str:
        """Return why a real server could not list the CRD's instances; ``""`` if it could."""
        return cache_problem(self._around.storage, self._kinds_of_instances(name)[0])

    def _kinds_of_instances(self, name: str) -> tuple[Kind, ...]:
        return self._known[name].kinds or self._kinds_of(_all_served(self._stored(name)))

    def _kinds_of(self, definition: JSONObject) -> tuple[Kind, ...]:
        filled = not self._around.storage.objects(definition["metadata"]["name"])
        return kinds_of(definition, self._around.webhook_answers, filled=filled)

    def _stored(self, name: str) -> JSONObject:
        return self._around.storage.collection(DEFINITIONS).current[name].decode(self._kind())

    def _report_progress(self, definition: JSONObject) -> None:
        before = definition["status"].get("conditions", [])
        if any(entry.get("reason") == "InstanceDeletionInProgress" for entry in before):
            return
        if CLEANUP_FINALIZER in definition["metadata"].get("finalizers", ()):
            self._report(definition, "InstanceDeletionInProgress", "CustomResource deletion is in progress")

    def _report(self, definition: JSONObject, reason: str, message: str) -> None:
        if any(entry.get("message") == message for entry in definition["status"].get("conditions", [])):
            return
        set_condition(definition, "Terminating", True, reason, message, self._around.identity.timestamp())
        self._around.storage.put(self._kind(), definition)

    def _forget(self, name: str) -> None:
        known = self._known.pop(name)
        self._around.registry.remove(*(kind.gvr for kind in known.kinds))
        self._around.watches.end(name)
        self._look_again(known.group, name)


def _all_served(definition: JSONObject) -> JSONObject:
    """Return the CRD with its first version marked as served.

    To delete instances, a kind is needed even if no version is served.
    """
    first, *others = definition["spec"]["versions"]
    return {**definition, "spec": {**definition["spec"], "versions": [{**first, "served": True}, *others]}}
