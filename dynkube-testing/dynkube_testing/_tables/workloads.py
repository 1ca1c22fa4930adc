"""Tables of workloads (deployments, stateful sets, jobs and others) and Scales."""

from __future__ import annotations

from collections.abc import Sequence

from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import AGE, CONTAINERS, IMAGES, NAME, SELECTOR, Cell, Printer, column
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, containers_text, labels_text, selector_text

_TEMPLATE = "spec.template.spec"
_DESIRED = column("Desired", "Pods that should be there", "integer")
_CURRENT = column("Current", "Pods that are there", "integer")
_READY = column("Ready", "Pods that are ready", "integer")

# Conditions that determine the status of a job, in order of precedence. Terminating comes after ``_ENDED``.
_ENDED = {"Complete": "Complete", "Failed": "Failed"}
_UNDER_WAY = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _deployment(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [
        obj.name,
        f"{obj.number('status.readyReplicas')}/{obj.number('spec.replicas', 1)}",
        obj.number("status.updatedReplicas"),
        obj.number("status.availableReplicas"),
        ages.of(obj),
        *containers_text(obj, _TEMPLATE),
        selector_text(obj, "spec.selector", empty=""),
    ]


def _replica_set(obj: Fields, ages: Ages) -> Sequence[Cell]:
    selector = selector_text(obj, "spec.selector")
    return [*_replicas(obj), ages.of(obj), *containers_text(obj, _TEMPLATE), selector]


def _replication_controller(obj: Fields, ages: Ages) -> Sequence[Cell]:
    selector = labels_text(obj.mapping("spec.selector"))
    return [*_replicas(obj), ages.of(obj), *containers_text(obj, _TEMPLATE), selector]


def _replicas(obj: Fields) -> Sequence[Cell]:
    status = obj.at("status")
    return [obj.name, obj.number("spec.replicas", 1), status.number("replicas"), status.number("readyReplicas")]


def _stateful_set(obj: Fields, ages: Ages) -> Sequence[Cell]:
    ready = f"{obj.number('status.readyReplicas')}/{obj.number('spec.replicas', 1)}"
    return [obj.name, ready, ages.of(obj), *containers_text(obj, _TEMPLATE)]


def _daemon_set(obj: Fields, ages: Ages) -> Sequence[Cell]:
    status = obj.at("status")
    return [
        obj.name,
        status.number("desiredNumberScheduled"),
        status.number("currentNumberScheduled"),
        status.number("numberReady"),
        status.number("updatedNumberScheduled"),
        status.number("numberAvailable"),
        labels_text(obj.mapping(f"{_TEMPLATE}.nodeSelector")),
        ages.of(obj),
        *containers_text(obj, _TEMPLATE),
        selector_text(obj, "spec.selector"),
    ]


def _job(obj: Fields, ages: Ages) -> Sequence[Cell]:
    start = obj.text("status.startTime")
    return [
        obj.name,
        _job_status(obj),
        _completions(obj),
        ages.between(start, obj.text("status.completionTime")) if start else "",
        ages.of(obj),
        *containers_text(obj, _TEMPLATE),
        selector_text(obj, "spec.selector"),
    ]


def _completions(obj: Fields) -> str:
    succeeded, parallelism = obj.number("status.succeeded"), obj.number("spec.parallelism")
    if obj.has("spec.completions"):
        return f"{succeeded}/{obj.number('spec.completions')}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_status(obj: Fields) -> str:
    ended = next((kind for kind in _ENDED if obj.is_true(kind)), "")
    if ended or obj.deleting:
        return ended or "Terminating"
    return next((kind for kind in _UNDER_WAY if obj.is_true(kind)), "Running")


def _cron_job(obj: Fields, ages: Ages) -> Sequence[Cell]:
    last, job = obj.text("status.lastScheduleTime"), "spec.jobTemplate.spec"
    return [
        obj.name,
        obj.text("spec.schedule"),
        obj.text("spec.timeZone", NONE),
        str(obj.flag("spec.suspend")),
        len(obj.each("status.active")),
        ages.since(last) if last else NONE,
        ages.of(obj),
        *containers_text(obj, f"{job}.template.spec"),
        selector_text(obj, f"{job}.selector"),
    ]


def _controller_revision(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, _controller(obj), obj.number("revision"), ages.of(obj)]


def _controller(obj: Fields) -> str:
    for owner in obj.each("metadata.ownerReferences"):
        if owner.flag("controller"):
            group = owner.text("apiVersion").rpartition("/")[0]
            kind = f"{owner.text('kind')}.{group}" if group else owner.text("kind")
            return f"{kind.lower()}/{owner.text('name')}"
    return NONE


def _pod_template(obj: Fields, _ages: Ages) -> Sequence[Cell]:
    return [obj.name, *containers_text(obj, "template.spec"), labels_text(obj.mapping("template.metadata.labels"))]


def _scale(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.number("spec.replicas"), obj.number("status.replicas"), ages.of(obj)]


_POD_COLUMNS = (CONTAINERS, IMAGES, SELECTOR)

DEPLOYMENTS = Printer(
    (
        NAME,
        column("Ready", "Pods that are ready, of those that should be there"),
        column("Up-to-date", "Pods made from the present template"),
        column("Available", "Pods that have been ready for long enough"),
        AGE,
        *_POD_COLUMNS,
    ),
    _deployment,
)
REPLICA_SETS = Printer((NAME, _DESIRED, _CURRENT, _READY, AGE, *_POD_COLUMNS), _replica_set)
REPLICATION_CONTROLLERS = Printer((NAME, _DESIRED, _CURRENT, _READY, AGE, *_POD_COLUMNS), _replication_controller)
STATEFUL_SETS = Printer(
    (NAME, column("Ready", "Pods that are ready, of those that should be there"), AGE, CONTAINERS, IMAGES),
    _stateful_set,
)
DAEMON_SETS = Printer(
    (
        NAME,
        column("Desired", "Nodes that should run the pod", "integer"),
        column("Current", "Nodes that run the pod", "integer"),
        column("Ready", "Nodes on which the pod is ready", "integer"),
        column("Up-to-date", "Nodes that run a pod made from the present template", "integer"),
        column("Available", "Nodes on which the pod has been ready for long enough", "integer"),
        column("Node Selector", "Labels of the nodes that should run the pod"),
        AGE,
        *_POD_COLUMNS,
    ),
    _daemon_set,
)
JOBS = Printer(
    (
        NAME,
        column("Status", "Whether the job runs, is suspended, or how it ended"),
        column("Completions", "Pods that have succeeded, of those that have to"),
        column("Duration", "How long the job has run"),
        AGE,
        *_POD_COLUMNS,
    ),
    _job,
)
CRON_JOBS = Printer(
    (
        NAME,
        column("Schedule", "When it runs, in the format of cron"),
        column("Timezone", "Time zone of the schedule"),
        column("Suspend", "Whether runs are skipped", "boolean"),
        column("Active", "Jobs that run now", "integer"),
        column("Last Schedule", "Time since the last run began"),
        AGE,
        *_POD_COLUMNS,
    ),
    _cron_job,
)
CONTROLLER_REVISIONS = Printer(
    (
        NAME,
        column("Controller", "Whose state this is"),
        column("Revision", "Which state of it"),
        AGE,
    ),
    _controller_revision,
)
POD_TEMPLATES = Printer(
    (
        NAME,
        column("Containers", "Names of the containers in the template"),
        column("Images", "Images of the containers in the template"),
        column("Pod Labels", "Labels of the pods made from the template"),
    ),
    _pod_template,
)
SCALES = Printer(
    (
        NAME,
        column("Desired", "Replicas that should be there", "integer"),
        column("Available", "Replicas that are there", "integer"),
        AGE,
    ),
    _scale,
)
