"""Tables of workloads (deployments, stateful sets, jobs and others) and Scales."""

from __future__ import annotations

from dataclasses import replace

from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import (
    AGE,
    NAME,
    Cell,
    Printer,
    Value,
    column,
    count,
    integer,
    number,
    template_columns,
    text,
)
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, containers_text, labels_text, selector_text

_TEMPLATE = "spec.template.spec"
# Conditions that determine the status of a job, in order of precedence. Terminating comes after ``_ENDED``.
_ENDED = {"Complete": "Complete", "Failed": "Failed"}
_UNDER_WAY = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _selector(path: str = "spec.selector", empty: str = NONE) -> Value:
    return lambda obj: selector_text(obj, path, empty=empty)


def _labels(path: str) -> Value:
    return lambda obj: labels_text(obj.mapping(path))


def _ready(obj: Fields) -> str:
    return f"{obj.number('status.readyReplicas')}/{obj.number('spec.replicas', 1)}"


def _duration(obj: Fields, ages: Ages) -> Cell:
    start = obj.text("status.startTime")
    return ages.between(start, obj.text("status.completionTime")) if start else ""


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


def _last_schedule(obj: Fields, ages: Ages) -> Cell:
    last = obj.text("status.lastScheduleTime")
    return ages.since(last) if last else NONE


def _controller(obj: Fields) -> str:
    for owner in obj.each("metadata.ownerReferences"):
        if owner.flag("controller"):
            group = owner.text("apiVersion").rpartition("/")[0]
            kind = f"{owner.text('kind')}.{group}" if group else owner.text("kind")
            return f"{kind.lower()}/{owner.text('name')}"
    return NONE


_REPLICAS = (
    NAME,
    integer("Desired", "Pods that should be there", "spec.replicas", 1),
    integer("Current", "Pods that are there", "status.replicas"),
    integer("Ready", "Pods that are ready", "status.readyReplicas"),
    AGE,
)
_READY = column("Ready", "Pods that are ready, of those that should be there", _ready)

DEPLOYMENTS = Printer(
    (
        NAME,
        _READY,
        column("Up-to-date", "Pods made from the present template", number("status.updatedReplicas")),
        column("Available", "Pods that have been ready for long enough", number("status.availableReplicas")),
        AGE,
        *template_columns(_TEMPLATE, _selector(empty="")),
    )
)
REPLICA_SETS = Printer((*_REPLICAS, *template_columns(_TEMPLATE, _selector())))
REPLICATION_CONTROLLERS = Printer((*_REPLICAS, *template_columns(_TEMPLATE, _labels("spec.selector"))))
STATEFUL_SETS = Printer((NAME, _READY, AGE, *template_columns(_TEMPLATE)))
DAEMON_SETS = Printer(
    (
        NAME,
        integer("Desired", "Nodes that should run the pod", "status.desiredNumberScheduled"),
        integer("Current", "Nodes that run the pod", "status.currentNumberScheduled"),
        integer("Ready", "Nodes on which the pod is ready", "status.numberReady"),
        integer("Up-to-date", "Nodes that run a pod made from the present template", "status.updatedNumberScheduled"),
        integer("Available", "Nodes on which the pod has been ready for long enough", "status.numberAvailable"),
        column("Node Selector", "Labels of the nodes that should run the pod", _labels(f"{_TEMPLATE}.nodeSelector")),
        AGE,
        *template_columns(_TEMPLATE, _selector()),
    )
)
JOBS = Printer(
    (
        NAME,
        column("Status", "Whether the job runs, is suspended, or how it ended", _job_status),
        column("Completions", "Pods that have succeeded, of those that have to", _completions),
        replace(column("Duration", "How long the job has run"), cell=_duration),
        AGE,
        *template_columns(_TEMPLATE, _selector()),
    )
)
CRON_JOBS = Printer(
    (
        NAME,
        column("Schedule", "When it runs, in the format of cron", "spec.schedule"),
        column("Timezone", "Time zone of the schedule", text("spec.timeZone", NONE)),
        column("Suspend", "Whether runs are skipped", lambda obj: str(obj.flag("spec.suspend")), "boolean"),
        column("Active", "Jobs that run now", count("status.active"), "integer"),
        replace(column("Last Schedule", "Time since the last run began"), cell=_last_schedule),
        AGE,
        *template_columns("spec.jobTemplate.spec.template.spec", _selector("spec.jobTemplate.spec.selector")),
    )
)
CONTROLLER_REVISIONS = Printer(
    (
        NAME,
        column("Controller", "Whose state this is", _controller),
        column("Revision", "Which state of it", number("revision")),
        AGE,
    )
)
POD_TEMPLATES = Printer(
    (
        NAME,
        column(
            "Containers",
            "Names of the containers in the template",
            lambda obj: containers_text(obj, "template.spec")[0],
        ),
        column(
            "Images", "Images of the containers in the template", lambda obj: containers_text(obj, "template.spec")[1]
        ),
        column("Pod Labels", "Labels of the pods made from the template", _labels("template.metadata.labels")),
    )
)
SCALES = Printer(
    (
        NAME,
        integer("Desired", "Replicas that should be there", "spec.replicas"),
        integer("Available", "Replicas that are there", "status.replicas"),
        AGE,
    )
)
