"""The engine of the embedded API server: storage, verbs and controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from dynkube.meta import GVR, GroupVersion
from dynkube_testing._admission import mutations, policies
from dynkube_testing._admission.plugins import default_plugins
from dynkube_testing._admission.quota_status import QuotaStatus
from dynkube_testing._admission.webhooks import MUTATING, VALIDATING
from dynkube_testing._builtin.table import builtin_rules
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, Document, JSONObject, Result, WatchStream
from dynkube_testing._calls.options import read_version
from dynkube_testing._calls.users import User
from dynkube_testing._calls.webhook_calls import WebhookAnswers
from dynkube_testing._containers.connecting import Connections
from dynkube_testing._containers.containers import Containers
from dynkube_testing._containers.played import PlayedPods
from dynkube_testing._controllers.apiservices import APIServiceController
from dynkube_testing._controllers.expiry import Compaction, EventExpiry
from dynkube_testing._controllers.garbage import GarbageCollector
from dynkube_testing._controllers.initial_objects import InitialObjects
from dynkube_testing._controllers.namespaces import NamespaceController
from dynkube_testing._controllers.pods import PodTermination
from dynkube_testing._controllers.protection import VolumeProtection
from dynkube_testing._definitions.controller import ControllerEnvironment, DefinitionController
from dynkube_testing._definitions.crds import DEFINITIONS
from dynkube_testing._definitions.decoding import decode_definition
from dynkube_testing._definitions.rules import DefinitionRules
from dynkube_testing._engine_options import EngineOptions
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._patching.ownership import Ownership
from dynkube_testing._patching.versions import BuiltinVersions, CustomVersions, Versions
from dynkube_testing._schemas.cel.authorizer import Authorize
from dynkube_testing._schemas.content import StoredContent, VersionContent
from dynkube_testing._schemas.rules import RuleBook
from dynkube_testing._schemas.schemas import Schemas
from dynkube_testing._store.documents import PlainDocument, StoredDocument
from dynkube_testing._store.snapshots import Snapshot
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.timers import Timers
from dynkube_testing._store.versions import Version, remote_content
from dynkube_testing._store.watching import Converter, Watches
from dynkube_testing._store.work import Controller, Unmeasured, Workers
from dynkube_testing._verbs.admission import Attributes, Operation
from dynkube_testing._verbs.deleting import Deletes
from dynkube_testing._verbs.large_writes import Draft, LargeWrites
from dynkube_testing._verbs.listing import check_reached, list_objects
from dynkube_testing._verbs.namespaces import NAMESPACES, NamespaceRules, Namespaces
from dynkube_testing._verbs.patches import Patches
from dynkube_testing._verbs.podrequests import PodRequests
from dynkube_testing._verbs.reading import Reader
from dynkube_testing._verbs.rescaling import Scales
from dynkube_testing._verbs.rules import KindRules, Rules, SeveralRules
from dynkube_testing._verbs.scaling import scale_of
from dynkube_testing._verbs.sources import Identity, Sources
from dynkube_testing._verbs.stored_versions import convert_all
from dynkube_testing._verbs.watch_requests import WatchRequests
from dynkube_testing._verbs.writing import Writes

Answers: TypeAlias = Callable[[Call], Result]

# Webhooks, and bindings of policies, whose parameters a webhook may have to convert.
_CALLING = (MUTATING, VALIDATING, policies.BINDINGS, mutations.BINDINGS)
_ADMITTED = {"create", "update", "patch", "delete", "deletecollection"}


class Engine:
    """Objects, history and semantics of a Kubernetes API server, without HTTP.

    The methods are synchronous and do not block. There are three exceptions: :meth:`run`, which does delayed work such
    as setting a CRD's condition Established; reading events from a watch; and :meth:`handle_in_thread_if_large`.
    Engines share no state.

    Calls are handled one after the other, except those handled in a thread. The controllers' work that a call triggers,
    such as emptying a namespace or serving a new kind, is done when :meth:`handle` returns. Each of its steps is a
    separate change in the history.
    """

    def __init__(self, options: EngineOptions | None = None) -> None:
        options = options or EngineOptions()
        self.options: EngineOptions = options
        self.registry: Registry = Registry()
        self.now: Callable[[], datetime] = options.now
        self._storage = Storage(history=options.history)
        self.watches: Watches = Watches(self._storage)
        self._timers = Timers()
        self._sources = Sources(options.now, options.random)
        identity = Identity(self._sources.now, self._sources.random)
        namespaces = Namespaces(self._storage, self.registry)
        self._rules: dict[str, KindRules] = {
            **builtin_rules(self._storage, self.registry, self._sources.random),
            NAMESPACES: NamespaceRules(),
            DEFINITIONS: DefinitionRules(),
        }
        self._answers: dict[tuple[str, str], Answers] = {}
        rules = Rules(self._rules)
        ownership = Ownership(enabled=options.managed_fields, versions=self._versions_of)
        reader = Reader(Schemas(), {DEFINITIONS: decode_definition})
        self._authorize: Authorize | None = None
        admission = default_plugins(self.registry, options.now, self._is_allowed)
        self._writes = Writes(
            self._storage, identity, namespaces, ownership, rules, reader, RuleBook(), admission=admission
        )
        self._patches = self._patching(self._writes)
        self._deletes = Deletes(self._storage, identity, rules, admission)
        played = PlayedPods(self._storage)
        self.containers: Containers = Containers(self._storage, self.registry, played, options.now)
        self.connections: Connections = Connections(self._storage, self.registry, played, options.now)
        pod_requests = PodRequests(self._storage, self._writes, self._deletes, self.registry)
        self.answer("bindings", "", pod_requests.bind)
        self.answer("pods", "binding", pod_requests.bind)
        self.answer("pods", "eviction", pod_requests.evict)
        self._initial = InitialObjects(self._storage, self.registry, self._writes)
        self._watch_requests = self._watching(options)
        Compaction(self._storage, self._timers, options.compaction_interval)
        EventExpiry(self._storage, self._timers, options.event_ttl)
        self._api_services = APIServiceController(
            self._storage, self.registry, identity, lambda kind: self.watches.end(kind.storage_group)
        )
        self._quotas = QuotaStatus(self._storage, self.registry, options.now)
        environment = ControllerEnvironment(
            storage=self._storage,
            registry=self.registry,
            deletes=self._deletes,
            watches=self.watches,
            identity=self._writes.identity,
            ownership=self._writes.ownership,
            timers=self._timers,
            establish_delay=options.establish_delay,
            webhook_answers=self._sources.answers,
        )
        self.definitions: DefinitionController = DefinitionController(environment, self._settle)
        self._workers = Workers(self._timers, self._controllers(options))
        self._large = LargeWrites(self._storage, self.registry, self._draft, self._workers.settle)

    # ── extension points ──────────────────────────────────────────────────────────────────

    @property
    def storage(self) -> Storage:
        """The storage, for reading, listening to changes, and compaction.

        Write through :meth:`handle`.
        """
        return self._storage

    def govern(self, storage_group: str, rules: KindRules) -> None:
        """Apply additional ``rules`` to writes of one resource.

        Rules added before stay in effect.
        """
        present = self._rules.get(storage_group)
        self._rules[storage_group] = rules if present is None else SeveralRules((present, rules))

    def answer(self, storage_group: str, subresource: str, answers: Answers) -> None:
        """Let ``answers`` handle the creates of a resource whose objects are not stored.

        Examples are SubjectAccessReviews and the ``token`` subresource of service accounts.
        """
        self._answers[storage_group, subresource] = answers

    def set_create_permit(self, permit: Callable[[Call], None]) -> None:
        """Call ``permit`` before an apply or update creates an object.

        It can deny the creation by raising an error. The request was authorized only for ``patch`` or ``update``, and
        creating needs ``create``.
        """
        self._writes = replace(self._writes, permit_create=permit)
        self._patches = self._patching(self._writes)

    def set_authorizer(self, authorize: Authorize) -> None:
        """Let ``authorize`` answer what the expressions of policies ask ``authorizer``; by default all is allowed."""
        self._authorize = authorize

    def settle_with(self, settle: Callable[[], bool]) -> None:
        """Add ``settle`` to the controllers that run after each call.

        ``settle`` returns whether there was anything to do. The controllers are run until none has anything to do.
        """
        self._workers.add(Unmeasured(settle))

    def _patching(self, writes: Writes) -> Patches:
        return Patches(writes, Scales(writes, lambda kind: self.registry.of_storage(kind.storage_group)))

    def _versions_of(self, kind: Kind) -> Versions:
        """Return the versions of a kind, for tracking field ownership (``managedFields``)."""
        if isinstance(kind.content, StoredContent):
            return BuiltinVersions(kind)  # the server itself changes only metadata, which is alike in all versions
        if isinstance(kind.content, VersionContent):
            return CustomVersions(kind, kind.content)
        kinds = self.registry.of_storage(kind.storage_group)
        served = {other.api_version: other for other in kinds if other.gvr.group == kind.gvr.group}
        return BuiltinVersions(kind, served, alike=all(other.content is None for other in kinds))

    # ── requests and served kinds ─────────────────────────────────────────────────────────

    def handle(self, call: Call) -> Result:
        """Handle a call of any verb except ``watch``, and run the controllers.

        Raises:
            APIError: The error response to the call; send its ``status``.
        """
        result = self._dispatch(call)
        self._workers.settle()
        return replace(result, warnings=tuple(call.warnings))

    def webhook_answers(self, call: Call) -> WebhookAnswers | None:
        """Return a place for the answers of webhooks to a call; ``None`` if there are no webhooks for its verb.

        With it as the call's ``webhooks``, :meth:`handle` raises :class:`AnswersNeeded` until it has the answers that
        the call needs. Each time, the call gets the same UID, times and names.
        """
        stored = any(self._storage.objects(group) for group in _CALLING)
        subresource = call.kind.subresource(call.subresource)
        connects = subresource is not None and subresource.connects and call.subresource != "log"
        admits = stored and (call.verb in _ADMITTED or connects)
        return self.new_answers() if admits or remote_content(call.kind) is not None else None

    def new_answers(self) -> WebhookAnswers:
        """Return a place for the answers of webhooks."""
        return WebhookAnswers(time=self._sources.now(), seed=self._sources.random.getrandbits(64))

    async def handle_in_thread_if_large(self, call: Call) -> Result:
        """Like :meth:`handle`, but compute large writes in a worker thread.

        This keeps large writes from blocking the event loop. Do not use it with virtual time, which does not wait for
        threads. It is a checkpoint only if the write is large.

        Raises:
            APIError: The error response to the call.
        """
        if self._answers_to(call) is None and self._large.includes(call):
            result = await self._large.handle(call)
            if result is not None:
                return result
        return self.handle(call)

    def open_watch(self, call: Call, convert: Converter | None = None) -> WatchStream:
        """Validate a ``watch`` and open it at its resourceVersion.

        Read the events from the returned stream. Must be called in trio. ``convert`` lets webhooks convert the objects
        of events; without it they are not converted.

        Raises:
            APIError: The error response sent instead of a stream.
            AnswersNeeded: Webhooks must convert objects.
        """
        with self._sources.fixed(call.webhooks):
            return self._watch_requests.open(call, convert)

    def convert(self, kind: Kind, versions: Sequence[Version], answers: WebhookAnswers) -> None:
        """Let webhooks convert stored objects to the version of ``kind``.

        Raises:
            AnswersNeeded: Webhooks must be called; their answers are missing in ``answers``.
            APIError: A webhook has failed.
        """
        with self._sources.fixed(answers):
            convert_all(kind, versions)

    def cached_elsewhere(self, call: Call, result: Result) -> list[tuple[Kind, Version]]:
        """Return a written object with the other served versions of its kind, if webhooks convert to them.

        The watch caches of a real server have each object in all served versions, so that later writes in one of them
        read it without a webhook.
        """
        document = result.document
        if call.verb not in {"create", "update", "patch"} or not isinstance(document, StoredDocument):
            return []
        if remote_content(call.kind) is None or "dryRun" in call.params:
            return []
        group = call.kind.storage_group
        others = (kind for kind in self.registry if kind.storage_group == group and kind.gvr != call.kind.gvr)
        return [(kind, document.version) for kind in others]

    def uid(self) -> str:
        """Return a new UID."""
        return self._writes.identity.uid()

    def register(self, *kinds: Kind) -> None:
        """Serve ``kinds`` without a CustomResourceDefinition.

        If ``Namespace`` or ``PriorityClass`` is one of them, those of a new cluster are created.
        """
        self.registry.add(*kinds)
        self._initial.create({kind.storage_group for kind in kinds})
        self._settle()

    def bootstrap(self, group: str) -> None:
        """Create the objects of an API group that a kube-apiserver creates at its start, unless they exist."""
        self._initial.bootstrap(group)
        self._settle()

    def aggregate(self, *kinds: Kind) -> None:
        """Serve ``kinds`` as aggregated APIs.

        An APIService is created for each group-version.
        """
        self._api_services.register(kinds)
        self._settle()

    def unregister(self, kind: Kind) -> None:
        """Stop serving ``kind`` and end its watches; its objects stay stored."""
        self.watches.end(kind.storage_group)
        self._api_services.unregister(kind)
        self._settle()

    def set_available(self, group_version: GroupVersion, available: bool) -> None:
        """Set whether an aggregated API is available, in its APIService and in discovery."""
        self._api_services.set_available(group_version, available)
        self._settle()

    async def run(self) -> None:
        """Do delayed and periodic work (timers) until cancelled."""
        await self._timers.run()

    # ── control by tests ──────────────────────────────────────────────────────────────────

    def end_watches(self, resource: str | GVR | None = None) -> int:
        """End open watches from the server's side, after the events so far.

        Args:
            resource: Only watches of this resource: ``"pods"``, ``"deployments.apps"`` or a GVR, whose version is
                ignored; default: all.

        Returns:
            The number of ended watches.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: ``resource`` is malformed.
        """
        if resource is None:
            return self.watches.end()
        groups = {kind.storage_group for kind in self.registry.named(resource)}
        return sum(self.watches.end(group) for group in groups)

    def restore(self, snapshot: Snapshot, *, rewind: bool = False) -> None:
        """Replace all stored objects by those of ``snapshot``.

        Open watches end, and older revisions are discarded. With ``rewind`` the current resourceVersion becomes the
        snapshot's, even if that is lower; without it, resourceVersions never decrease.
        """
        self._storage.restore(snapshot.resources, snapshot.revision, rewind=rewind)
        self._quotas.measure_again()
        self.watches.end()
        self._workers.settle()
        self._initial.create({kind.storage_group for kind in self.registry})

    # ── internals ─────────────────────────────────────────────────────────────────────────

    def _dispatch(self, call: Call) -> Result:
        with self._sources.fixed(call.webhooks):
            result = self._handled(call)
            if isinstance(result.document, StoredDocument):  # after a write, the object may not be convertible back
                result.document.version.convert(result.document.kind)
            return result

    def _handled(self, call: Call) -> Result:
        if answers := self._answers_to(call):
            return answers(call)
        match call.verb:
            case "get":
                return Result(document=self._get(call))
            case "list":
                return Result(document=list_objects(self._storage, call))
            case "create" | "update" | "patch":
                return _write(call.with_options(), self._writes, self._patches)
            case "delete":
                return Result(document=self._deletes.delete(call))
            case "deletecollection":
                return Result(document=self._deletes.delete_collection(call))
        raise refuse.method_not_allowed(f"the engine does not carry out {call.verb} as a single answer")

    def _answers_to(self, call: Call) -> Answers | None:
        """Return the handler of a call that is not about a stored object.

        Such calls are connections (``pods/log``, ``services/proxy``) and the creates registered by :meth:`answer`.
        ``None`` means that the call reads or writes the storage.
        """
        if (subresource := call.kind.subresource(call.subresource)) and subresource.connects:
            return self.connections.answer
        if call.verb == "create" and (call.kind.storage_group, call.subresource) in self._answers:
            return self._question
        return None

    def _question(self, call: Call) -> Result:
        call = call.with_options()
        self._writes.reader.check_question(call)
        if isinstance(call.body, dict):
            call = self._admitted(call, call.body)
        answered = self._answers[call.kind.storage_group, call.subresource](call)
        document = answered.document
        # The client is recorded in managedFields of reviews and the like, but not of a Status (a Binding's response).
        if isinstance(document, PlainDocument) and not call.subresource and document.content["kind"] != "Status":
            return replace(answered, document=PlainDocument(self._writes.on_record(call, document.content)))
        return answered

    def _admitted(self, call: Call, body: JSONObject) -> Call:
        """Return a create of an object that is not stored, as admission plugins have changed it."""
        attributes = self._attributes(call, "CREATE", body)
        changed = self._writes.admission.mutate(attributes) or body
        self._writes.admission.validate(replace(attributes, obj=changed))
        return replace(call, body=changed)

    def admit_connection(self, call: Call, options: JSONObject) -> None:
        """Let admission plugins check a request that connects to a pod, a service or a node.

        Args:
            call: The request.
            options: Its parameters, as an object such as PodExecOptions.

        Raises:
            APIError: A plugin rejects the request.
            AnswersNeeded: Webhooks must be called.
        """
        attributes = self._attributes(call, "CONNECT", options)
        self._writes.admission.mutate(attributes)
        self._writes.admission.validate(attributes)

    def _attributes(self, call: Call, operation: Operation, obj: JSONObject) -> Attributes:
        return Attributes(
            call=call,
            operation=operation,
            storage=self._storage,
            obj=obj,
            old=None,
            dry_run=call.options.dry_run,
            subresource=call.subresource,
        )

    def _draft(self, call: Call, draft: Draft) -> Result:
        writes = replace(self._writes, storage=draft)
        with self._sources.fixed(call.webhooks):
            return _write(call.with_options(), writes, self._patching(writes))

    def _is_allowed(self, user: User, question: Mapping[str, str]) -> tuple[bool, str]:
        return (True, "") if self._authorize is None else self._authorize(user, question)

    def _get(self, call: Call) -> Document:
        check_reached(self._storage, read_version(call.params.get("resourceVersion", "")))
        version = self._writes.existing(call)
        # A real server reads from its watch cache only with a resourceVersion, and otherwise calls a webhook again.
        convert_all(call.kind, [version], again=not call.params.get("resourceVersion"))
        if call.subresource == "scale":
            return PlainDocument(scale_of(call, version.decode(call.kind)))
        return StoredDocument(call.kind, version)

    def _settle(self) -> None:
        self._workers.settle()

    def _watching(self, options: EngineOptions) -> WatchRequests:
        return WatchRequests(
            storage=self._storage,
            watches=self.watches,
            random=options.random,
            watch_list=options.watch_list,
            bookmark_interval=options.bookmark_interval,
            min_request_timeout=options.min_request_timeout,
            expired_as_event=options.expired_watch == "event",
        )

    def _controllers(self, options: EngineOptions) -> Iterator[Controller]:
        yield self.definitions
        yield self._api_services
        if options.garbage_collection:
            yield GarbageCollector(self._storage, self.registry, self._deletes, self._writes)
        yield PodTermination(self._storage, self.registry, self._deletes)
        yield VolumeProtection(self._storage, self.registry)
        yield NamespaceController(self._storage, self.registry, self._deletes)
        yield self._quotas


def _write(call: Call, writes: Writes, patches: Patches) -> Result:
    """Handle a create, update or patch."""
    if call.verb == "create":
        return writes.create(call)
    if call.verb == "patch":
        return patches.patch(call)
    return patches.scales.update(call) if call.subresource == "scale" else writes.update(call)
