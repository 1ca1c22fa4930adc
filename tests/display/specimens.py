"""A sample of every displayable class, with hostile text in every field that a cluster, a file or a user can set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final

import dynkube.aio
import dynkube.sync
from dynkube import (
    GVK,
    GVR,
    FieldPath,
    FieldSet,
    JSONPathFilter,
    LabelFilter,
    Manager,
    NamespaceFilter,
    PredicateFilter,
    State,
    Unstructured,
    UnstructuredList,
)
from dynkube._displayable import Displayable
from dynkube._portal.controllers import ControllerRunFacade
from dynkube.client import Applied, Change, Permission, ResourceClient, UserInfo
from dynkube.client._completion import Resources
from dynkube.client._target import Target
from dynkube.controllers import Controller, ControllerPhase, ControllerStatus, KeyFailure, ObjectKey, SourceStatus
from dynkube.controllers import Outcome as ReconcileOutcome
from dynkube.discovery import APIDiscovery, APIResource, APIResources, ResourceAvailability, RESTMapper
from dynkube.errors import APIError, ApplyConflict, ClosedError, FieldConflict, InvalidObject, Status, StatusCause
from dynkube.fields import Comparison, Diff, Field, FieldChange, ManagedFieldsEntry, Owners
from dynkube.informers import HandlerStatistics, Informer, InformerStatistics, InformerStatuses, OwnerTree, Phase
from dynkube.informers._statistics import InformerStatus
from dynkube.inspection import Description, Explanation, ObjectEvent, ObjectEvents, SchemaField, Usage, Usages
from dynkube.manifests import DiffEntry, DiffReport, Entry, Outcome, Place, Report
from dynkube.meta import TableColumn, UnstructuredTable
from dynkube.notebook._columns import Cell, Kind
from dynkube.notebook._live import LiveTable, PageTable, WidgetTable
from dynkube.notebook._live_log import LiveLog
from dynkube.notebook._log_card import bundle_of
from dynkube.notebook._log_follower import LogFollower
from dynkube.notebook._log_tail import LogState, LogTail
from dynkube.notebook._picture import Head, Heading, Picture, Row
from dynkube.notebook._static import html_of, text_of
from dynkube.rest import RESTStatistics
from dynkube.workloads import DrainedPod, DrainReport, PodOutcome, Revision, RolloutHistory, RolloutPhase, RolloutStatus

# Text on the page of a live table is tested in tests/notebook.

#: Would end any context of HTML, rich and terminals in which it may stand; tests find it by the word "evil".
HOSTILE: Final = (
    "\"'><evil onload=evil()></pre></textarea></style></title>--><script>evil()</script><!--<![CDATA[&lt;evil&gt;"
    "[bold red][link=evil]{evil}\x1b[31m\x1b]8;;evil\x07\x00\x08\x7f\x85\x90\x9b31m\x9d0;evil\x9c"  # C0, C1
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # bidirectional control characters
    "\xad\u180e\u200b\u200c\u200d\u2060\ufeff\U000e0041\u2028\u2029\ue000\ud800\r\n\tevil"  # invisible characters
)
NOW: Final = datetime(2026, 5, 6, 12, tzinfo=UTC)
# Strings in JSON have no lone surrogates, so no object can have them.
_JSON: Final = HOSTILE.replace("\ud800", "")


def _thing(kind: str = _JSON) -> dict[str, Any]:
    inner = {_JSON: _JSON, "list": [_JSON, {_JSON: [_JSON]}], "lines": f"{_JSON}\n{_JSON}"}
    owner = {"kind": _JSON, "name": _JSON, "uid": _JSON, "apiVersion": _JSON}
    condition = dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), _JSON)
    waiting = {"state": {"waiting": {"reason": _JSON}}, "ready": True}
    return {
        "apiVersion": _JSON,
        "kind": kind,
        "metadata": {
            "name": _JSON,
            "namespace": _JSON,
            "creationTimestamp": _JSON,
            "deletionTimestamp": _JSON,
            "resourceVersion": _JSON,
            "labels": {_JSON: _JSON},
            "annotations": {_JSON: _JSON},
            "finalizers": [_JSON],
            "ownerReferences": [owner],
            _JSON: inner,
        },
        "spec": inner,
        _JSON: _JSON,
        f"{_JSON}2": inner,
        "status": {"phase": _JSON, "reason": _JSON, "conditions": [condition], "containerStatuses": [waiting]},
    }


def _list() -> UnstructuredList:
    things = [Unstructured(_thing()), Unstructured({"kind": _JSON, "metadata": {"name": "a"}})]
    return UnstructuredList(things, resource_version=HOSTILE, api_version=HOSTILE, kind=HOSTILE, continue_token=HOSTILE)


def _table() -> UnstructuredTable:
    columns = [
        TableColumn(name=HOSTILE, type=HOSTILE, format=HOSTILE, description=HOSTILE, priority=priority)
        for priority in (0, 1)
    ]
    return UnstructuredTable(
        [Unstructured(_thing())],
        columns=columns,
        cells=[(HOSTILE, {HOSTILE: [HOSTILE]})],
        namespaced=True,
        server_columns=False,
        resource_version=HOSTILE,
        continue_token=HOSTILE,
        api_version=HOSTILE,
        kind=HOSTILE,
    )


def _tree() -> OwnerTree:
    one = OwnerTree(Unstructured(_thing()))
    return OwnerTree(Unstructured(_thing("evil")), (one, one), (HOSTILE,))


def _event() -> ObjectEvent:
    texts = (HOSTILE,) * 3
    return ObjectEvent(*texts, 2, NOW, NOW, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, Unstructured(_thing()))


def _explanation() -> Explanation:
    field = SchemaField(HOSTILE, HOSTILE, HOSTILE, required=True, enum=(HOSTILE,))
    return Explanation(_resource(), (HOSTILE,), HOSTILE, HOSTILE, (HOSTILE,), (field,))


def _description() -> Description:
    events = ObjectEvents([_event()], [HOSTILE])
    return Description(Unstructured(_thing()), {HOSTILE: HOSTILE}, _tree(), events, (HOSTILE,))


def _rollout() -> RolloutStatus:
    return RolloutStatus(
        object=Unstructured(_thing()),
        phase=RolloutPhase.PROGRESSING,
        message=HOSTILE,
        reasons=(HOSTILE,),
        desired=2,
        updated=1,
        ready=1,
    )


def _revision() -> Revision:
    template = {"spec": {"containers": [{"image": HOSTILE}]}}
    obj = Unstructured(_thing())
    return Revision(number=1, current=True, change_cause=HOSTILE, created=HOSTILE, template=template, object=obj)


def _resource() -> APIResource:
    return APIResource(
        gvr=GVR(HOSTILE, HOSTILE, HOSTILE),
        kind=HOSTILE,
        singular=HOSTILE,
        namespaced=True,
        verbs=frozenset({HOSTILE}),
        short_names=(HOSTILE,),
        categories=(HOSTILE,),
        subresources=frozenset({HOSTILE}),
        group_preferred_version=HOSTILE,
    )


def _crd() -> Unstructured:
    version = {"name": _JSON, "served": True, "storage": True, "deprecated": True}
    spec = {"group": _JSON, "names": {"plural": _JSON}, "versions": [version, _JSON]}
    return Unstructured({**_thing("CustomResourceDefinition"), "spec": spec})


def _available() -> ResourceAvailability:
    return ResourceAvailability(
        name=HOSTILE, resource=_resource(), versions=(HOSTILE,), definition=_crd(), message=HOSTILE
    )


def _resources() -> Resources[object]:
    return Resources(lambda name: None, lambda: RESTMapper(APIDiscovery(resources=(_resource(),))))


def _verbs() -> ResourceClient:
    """Verbs of a resource that is not installed: the message has its name and the most similar one."""
    mapper = SimpleNamespace(loaded=RESTMapper(APIDiscovery(resources=())), may_be_outdated=lambda name: False)
    session: Any = SimpleNamespace(mapper=mapper, definition=lambda name: _crd())
    return ResourceClient(Target(session, GVR(HOSTILE, HOSTILE, HOSTILE)))


def _state() -> State:
    return State(Phase.DEGRADED, HOSTILE, HOSTILE)


def _traffic() -> RESTStatistics:
    numbers: dict[str, Any] = dict.fromkeys((each.name for each in fields(RESTStatistics)), 1)
    numbers |= {"answers": {(HOSTILE, 200): 1}, "plugin_calls": {}, "last_error": HOSTILE}
    return RESTStatistics(**numbers)


def _statistics() -> InformerStatistics:
    handler = HandlerStatistics(
        name=HOSTILE,
        backlog=1,
        handled=2,
        errors=3,
        last_error=HOSTILE,
        has_synced=True,
        coalesced=4,
        seconds=5.0,
        longest=6.0,
    )
    return InformerStatistics(
        state=_state(),
        objects=1,
        listed=1,
        resource_version=HOSTILE,
        lists=1,
        watches=1,
        restarts=1,
        events=1,
        bookmarks=1,
        failures=1,
        reasons={HOSTILE: 1},
        lag=1.0,
        last_event=NOW,
        last_error=HOSTILE,
        handlers=(handler,),
        users=2,
    )


def _statuses() -> InformerStatuses:
    status = InformerStatus(
        gvr=GVR(HOSTILE, HOSTILE, HOSTILE),
        namespace=HOSTILE,
        label_selector=HOSTILE,
        field_selector=HOSTILE,
        state=_state(),
        objects=1,
        resource_version=HOSTILE,
        lag=1.0,
        backlog=1,
        lists=1,
        watches=1,
        restarts=1,
        failures=1,
        handlers=1,
        handler_errors=1,
        last_error=HOSTILE,
        users=1,
    )
    return InformerStatuses([status])


def _controller_status() -> ControllerStatus:
    key = ObjectKey(HOSTILE, HOSTILE)
    return ControllerStatus(
        HOSTILE,
        HOSTILE,
        ControllerPhase.RUNNING,
        HOSTILE,
        informers=((HOSTILE, _state()),),
        running={key: 1.0},
        waiting_for_cache={key: 2.0},
        outcomes={ReconcileOutcome.ERROR: 3},
        failures=(KeyFailure(key, ReconcileOutcome.ERROR, 4, HOSTILE),),
        function_errors=5,
        last_function_error=HOSTILE,
        sources=(SourceStatus(HOSTILE, True, 6, 7, HOSTILE),),
        cluster=HOSTILE,
    )


def _controller() -> Controller:
    shown = Controller("widgets.example.com", lambda ctx, key: None)
    shown._status = _controller_status
    return shown


def _predicate() -> PredicateFilter:
    def matches(obj: Unstructured) -> bool:
        return True

    matches.__qualname__ = HOSTILE
    return PredicateFilter(matches)


def _informer() -> Informer:
    def none() -> Any:
        raise AssertionError

    return Informer(
        none,
        GVR(HOSTILE, HOSTILE, HOSTILE),
        field_selector={"metadata.name": "evil"},
        filter=_predicate(),
        indexes={HOSTILE: "{.metadata.name}"},
    )


def _blocking_informer() -> dynkube.sync.Informer:
    shown = dynkube.sync.Informer.__new__(dynkube.sync.Informer)  # __init__ would start it, which needs a server
    shown._inner = _informer()
    return shown


def _blocking_verbs() -> dynkube.sync.ResourceClient:
    shown = dynkube.sync.ResourceClient.__new__(dynkube.sync.ResourceClient)
    shown._inner = _verbs()
    return shown


def _asyncio_verbs() -> dynkube.aio.ResourceClient:
    shown = dynkube.aio.ResourceClient.__new__(dynkube.aio.ResourceClient)
    shown._inner = _verbs()
    return shown


def _asyncio_informer() -> dynkube.aio.Informer:
    shown = dynkube.aio.Informer.__new__(dynkube.aio.Informer)
    shown._inner = _informer()
    return shown


def _controller_run(cls: type[ControllerRunFacade] = dynkube.sync.ControllerRun) -> ControllerRunFacade:
    shown = cls.__new__(cls)  # __init__ would run it, needing a server
    shown._controllers = (_controller(), _controller())
    vars(shown)["_held"] = SimpleNamespace(ended=False)
    return shown


def _owners() -> Owners:
    manager = Manager(name=HOSTILE, operation="Update", subresource=HOSTILE, api_version=HOSTILE, time=NOW)
    return Owners([ManagedFieldsEntry(manager, FieldSet([_path()]))])


def _path() -> FieldPath:
    return FieldPath((Field(_JSON),))


def _conflict() -> ApplyConflict:
    conflict = FieldConflict(
        path=HOSTILE,
        manager=HOSTILE,
        operation=HOSTILE,
        subresource=HOSTILE,
        api_version=HOSTILE,
        time=NOW,
        ours=HOSTILE,
        live={HOSTILE: HOSTILE},
    )
    return ApplyConflict(_status(409), request=HOSTILE, conflicts=[conflict])


def _status(code: int) -> Status:
    causes = (StatusCause(HOSTILE, HOSTILE, HOSTILE),)
    return Status(code=code, reason=HOSTILE, message=HOSTILE, kind=HOSTILE, group=HOSTILE, name=HOSTILE, causes=causes)


def _diff() -> Diff:
    manager = Manager(name=HOSTILE, operation="Update", subresource=HOSTILE, time=NOW)
    paths = (_path(), FieldPath((Field("status"), Field(_JSON))))
    return Diff(
        subject=HOSTILE,
        names=(HOSTILE, HOSTILE),
        before={_JSON: _JSON, "lines": f"{_JSON}\n{_JSON}"},
        after={_JSON: {_JSON: [_JSON]}, "lines": f"{_JSON}\nb"},
        changes=tuple(FieldChange(path, HOSTILE, {_JSON: _JSON}, (manager,)) for path in paths),
        conflicts=_conflict().conflicts,
    )


def _report() -> Report:
    errors = (_conflict(), InvalidObject(HOSTILE), None)
    return Report(
        [
            Entry(
                outcome=Outcome.FAILED,
                place=Place(HOSTILE, 1),
                object=Unstructured(_thing()),
                error=error,
                reason=HOSTILE,
            )
            for error in errors
        ]
    )


def _diff_report() -> DiffReport:
    place, thing = Place(HOSTILE, 1), Unstructured(_thing())
    failed = DiffEntry(place=place, object=thing, error=InvalidObject(HOSTILE), reason=HOSTILE)
    return DiffReport([failed, DiffEntry(place=place, object=thing, diff=_diff())])


class _Live:
    """The display of live tables in IPython: HTML if there is no widget, and text always."""

    def __init__(self) -> None:
        head = Head(title=HOSTILE, phase=HOSTILE, reason=HOSTILE, message=HOSTILE, filter=HOSTILE, shown=1, matching=1)
        heading = Heading(HOSTILE, Kind.TEXT, HOSTILE, shown=True)
        row = Row(HOSTILE, HOSTILE, (Cell(HOSTILE, title=HOSTILE),))
        self._picture = Picture(head, (heading,), (row,))

    def _repr_html_(self) -> str:
        return html_of(self._picture, NOW)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(text_of(self._picture, NOW))


class _EndedLoop:
    """A loop that has ended."""

    alive = False

    def call(self, function: object, *args: object, **options: object) -> Any:
        """Refuse a call."""
        raise ClosedError("ended")

    def post(self, function: object) -> None:
        """Do nothing."""


class _LiveLog(LiveLog):
    """A live log, which IPython shows as HTML and text without a kernel."""

    _ipython_display_: Any = None

    def _repr_html_(self) -> str:
        return bundle_of(self._look())["text/html"]


def _live_log() -> _LiveLog:
    tail = LogTail(9)
    tail.add(_log().lines)
    state = LogState(title=HOSTILE, word=HOSTILE, reason=HOSTILE, notes=(HOSTILE,), ended=True)
    follower = LogFollower(nullcontext(), lambda function: None, most=9)  # type: ignore[arg-type]  # not opened
    follower._picture = tail.picture(state, named=True)
    return _LiveLog(follower, _EndedLoop())


def _log() -> dynkube.Log:
    raw = HOSTILE.encode(errors="surrogatepass")
    lines = tuple(dynkube.LogLine(raw=raw, pod="", namespace="", container="", timestamp_ns=time) for time in (None, 7))
    return dynkube.Log(lines=lines, pod=HOSTILE, namespace=HOSTILE, container=HOSTILE, truncated=HOSTILE)


SPECIMENS: Final[dict[type, Callable[[], object]]] = {
    Displayable: lambda: LabelFilter("evil"),  # the mixin itself has no renderer
    Unstructured: lambda: Unstructured(_thing()),
    Applied: lambda: Applied(_thing(), Change.CHANGED),
    UnstructuredList: _list,
    UnstructuredTable: _table,
    OwnerTree: _tree,
    ObjectEvent: _event,
    Explanation: _explanation,
    Usage: lambda: Usage(HOSTILE, HOSTILE, HOSTILE, 1, 1),
    Usages: lambda: Usages("containers", [Usage(HOSTILE, HOSTILE, HOSTILE, 1, 1)]),
    ObjectEvents: lambda: ObjectEvents([_event()], [HOSTILE]),
    Description: _description,
    RolloutStatus: _rollout,
    DrainReport: lambda: DrainReport(HOSTILE, (DrainedPod(Unstructured(_thing()), PodOutcome.BLOCKED, HOSTILE),)),
    Revision: _revision,
    RolloutHistory: lambda: RolloutHistory(Unstructured(_thing()), [_revision()]),
    Controller: _controller,
    ControllerStatus: _controller_status,
    dynkube.aio.ControllerRun: lambda: _controller_run(dynkube.aio.ControllerRun),
    dynkube.sync.ControllerRun: _controller_run,
    dynkube.sync.LiveStatus: _controller_run,  # which it displays
    GVR: lambda: GVR(HOSTILE, HOSTILE, HOSTILE),
    GVK: lambda: GVK(HOSTILE, HOSTILE, HOSTILE),
    APIResource: _resource,
    ResourceClient: _verbs,
    dynkube.sync.ResourceClient: _blocking_verbs,
    dynkube.aio.ResourceClient: _asyncio_verbs,
    ResourceAvailability: _available,
    Resources: _resources,
    APIResources: lambda: APIResources([_resource()], failures={HOSTILE: ValueError(HOSTILE)}),
    APIDiscovery: lambda: APIDiscovery(resources=(_resource(),), failures={HOSTILE: ValueError(HOSTILE)}),
    State: _state,
    Informer: _informer,
    dynkube.sync.Informer: _blocking_informer,
    dynkube.aio.Informer: _asyncio_informer,
    InformerStatistics: _statistics,
    RESTStatistics: _traffic,
    dynkube.Log: _log,
    InformerStatuses: _statuses,
    LabelFilter: lambda: LabelFilter("evil"),
    JSONPathFilter: lambda: JSONPathFilter("{.evil}", equals=HOSTILE),
    NamespaceFilter: lambda: NamespaceFilter("evil"),
    PredicateFilter: _predicate,
    Owners: _owners,
    FieldSet: lambda: FieldSet([_path()]),
    ApplyConflict: _conflict,
    Comparison: lambda: Comparison([_diff(), _diff()], (HOSTILE, HOSTILE), 1),
    Diff: _diff,
    UserInfo: lambda: UserInfo(username=HOSTILE, uid=HOSTILE, groups=(HOSTILE,), extra={HOSTILE: (HOSTILE,)}),
    Permission: lambda: Permission(allowed=False, action=HOSTILE, reason=HOSTILE, evaluation_error=HOSTILE),
    LiveLog: _live_log,
    LiveTable: _Live,
    PageTable: _Live,
    WidgetTable: _Live,
    Report: _report,
    DiffReport: _diff_report,
    APIError: lambda: APIError(_status(418), request=HOSTILE),
}
"""By class. Add one for each class that becomes displayable."""
