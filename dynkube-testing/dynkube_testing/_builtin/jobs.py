"""Jobs and CronJobs."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.podwarnings import template_warnings
from dynkube_testing._builtin.rules import POD_NAMES, BuiltinRules, Factory, may_warn
from dynkube_testing._builtin.sections import fill, section
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._store.selectors import selects

_UID, _NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_OLD_UID, _OLD_NAME = "controller-uid", "job-name"
_MACROS = {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
_JOB_NAME_LIMIT = 52
# If completions and parallelism exceed these limits, completions may get lost.
_MANY_COMPLETIONS, _MANY_AT_ONCE = 100_000, 10_000
_TOO_MANY = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)
_CRON_HELP = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"


_MOST_AT_ONCE, _MOST_FAILED, _FAILED_OF_MANY = 100_000, 100_000, 10_000
_LONGEST_MANAGER = 63
_INDEXED_ONLY = "requires indexed completion mode"


def _complete_job(obj: JSONObject) -> None:
    labels = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    spec = obj["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        fill(spec, completions=1)
    fill(spec, parallelism=1, backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1)
    fill(spec, completionMode="NonIndexed", suspend=False, manualSelector=False)
    fill(spec, podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")


DEFAULTS: typedefaults.Table = {
    "batch.v1.Job": ({"spec": {}}, _complete_job),
    "batch.v1.JobCondition": ({"lastProbeTime": None, "lastTransitionTime": None},),
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": ({"status": "True"},),
    "batch.v1.CronJobSpec": (
        {
            "concurrencyPolicy": "Allow",
            "suspend": False,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        },
    ),
}


def _select_own_pods(obj: JSONObject, old: JSONObject | None) -> None:
    """Make a new job select its pods by a label with its UID.

    A job with ``manualSelector`` is not changed.
    """
    section(obj, "status")
    spec = obj["spec"]
    if old is not None or spec.get("manualSelector"):
        return
    uid, name = obj["metadata"]["uid"], obj["metadata"].get("name", "")
    metadata = spec["template"]["metadata"]
    own = {_UID: uid, _NAME: name, _OLD_UID: uid, _OLD_NAME: name}
    metadata["labels"] = {**(metadata.get("labels") or {}), **own}
    selector = section(spec, "selector")
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _UID: uid}
    if not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(metadata["labels"])


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def _check_job(job: Field) -> None:
    spec = job.at("spec")
    selector, labels = spec.get("selector") or {}, spec.get("template", "metadata", "labels") or {}
    expected = {"matchLabels": {_UID: job.get("metadata", "uid")}}
    if job.creating and not spec.get("manualSelector") and selector != expected:
        spec.at("selector").invalid("`selector` not auto-generated", selector)
    if not selects(selector, labels):
        spec.at("template", "metadata", "labels").invalid("`selector` does not match template `labels`", labels)


def _check_mode(spec: Field) -> None:
    mode = spec.at("completionMode")
    per_index, failed = spec.at("backoffLimitPerIndex"), spec.at("maxFailedIndexes")
    if failed.value is not None and per_index.value is None:
        per_index.required("when maxFailedIndexes is specified")
    if (manager := spec.at("managedBy")).value is not None:
        _check_manager(manager)
    if mode.value is not None:
        mode.one_of(("NonIndexed", "Indexed"))
    if mode.value == "Indexed":
        _check_indexed(spec)
    elif mode.value in {None, "NonIndexed"}:
        for field in (per_index, failed):
            if field.value is not None:
                field.invalid(_INDEXED_ONLY)


def _check_manager(manager: Field) -> None:
    if "/" not in manager.value.strip("/"):
        manager.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
    if len(manager.value) > _LONGEST_MANAGER:
        manager.too_long(_LONGEST_MANAGER)


def _check_indexed(spec: Field) -> None:
    completions, parallelism, failed = (spec.at(name) for name in ("completions", "parallelism", "maxFailedIndexes"))
    most, at_once, failures = completions.value, parallelism.value, failed.value
    if most is None:
        completions.required("when completion mode is Indexed")
    if at_once is not None and at_once > _MOST_AT_ONCE:
        parallelism.invalid(f"must be less than or equal to {_MOST_AT_ONCE} when completion mode is Indexed")
    if most is not None and failures is not None and failures > most:
        failed.invalid("must be less than or equal to completions")
    if failures is not None and failures > _MOST_FAILED:
        failed.invalid(f"must be less than or equal to {_MOST_FAILED}")
    if most is None or most <= _MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    if failures is None:
        failed.required(f"must be specified when completions is above {_MANY_COMPLETIONS}")
    for field, limit in ((parallelism, _MANY_AT_ONCE), (failed, _FAILED_OF_MANY)):
        if field.value is not None and field.value > limit:
            above = f"when completions are above {_MANY_COMPLETIONS} and used with backoff limit per index"
            field.invalid(f"must be less than or equal to {limit} {above}")


def _check_success(spec: Field) -> None:
    policy = spec.at("successPolicy")
    if policy.value is not None and spec.get("completionMode") == "Indexed":
        policy.check()
    elif policy.value is not None:
        names = ("succeededIndexes", "succeededCount")
        rules = [{name[:1].upper() + name[1:]: rule.get(name) for name in names} for rule in policy.each("rules")]
        policy.invalid(_INDEXED_ONLY, {"Rules": rules or None})


def _check_replacement(spec: Field) -> None:
    policy = spec.at("podReplacementPolicy")
    if policy.value is not None:
        policy.one_of(("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed"))


def _check_restarts(spec: Field) -> None:
    policy = spec.at("template", "spec", "restartPolicy")
    if policy.value == "Always":
        policy.required('valid values: "OnFailure", "Never"')
    elif policy.value not in {"OnFailure", "Never"}:
        policy.unsupported(("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy.value != "Never":
        policy.invalid('only "Never" is supported when podFailurePolicy is specified')


def _check_name(job: Field) -> None:
    name = job.at("metadata", "name")
    if len(name.value or "") > _JOB_NAME_LIMIT:
        name.invalid(f"must be no more than {_JOB_NAME_LIMIT} characters")


def _check_schedule(spec: Field) -> None:
    field, schedule = spec.at("schedule"), spec.get("schedule") or ""
    fields = schedule.split()
    if not schedule:
        field.required()
    elif schedule.startswith("@"):
        if schedule not in _MACROS and not schedule.startswith("@every "):
            field.invalid(f"unrecognized descriptor: {schedule}")
    elif "TZ" not in schedule and len(fields) != 5:
        shown = " ".join(fields)
        field.invalid(f"expected exactly 5 fields, found {len(fields)}: [{shown}]")
    elif not all(re.fullmatch(r"[0-9A-Za-z*/,?-]+", field) for field in fields if "TZ" not in schedule):
        field.invalid("failed to parse int from schedule")


def _check_time_zone(spec: Field) -> None:
    if (zone := spec.get("timeZone")) is None:
        return
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        spec.at("timeZone").invalid(f"unknown time zone {zone}")


_NUMBERS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip

CHECKS: typechecks.Table = {
    "batch.v1.Job": ("spec", _check_job),
    "batch.v1.JobSpec": (
        *((name, checks.not_negative) for name in _NUMBERS),
        _check_mode,
        "podFailurePolicy",
        _check_success,
        _check_replacement,
        "template",
        _check_restarts,
    ),
    "batch.v1.CronJob": (_check_name, "spec"),
    "batch.v1.CronJobSpec": (
        _check_schedule,
        ("startingDeadlineSeconds", checks.not_negative),
        ("concurrencyPolicy", checks.one_of("Allow", "Forbid", "Replace")),
        _check_time_zone,
        "jobTemplate.spec",
        ("successfulJobsHistoryLimit", checks.not_negative),
        ("failedJobsHistoryLimit", checks.not_negative),
    ),
}


def _keep_job(job: Field, old: JSONObject) -> None:
    """Check what must not change: less if the job is suspended or indexed."""
    spec, before = job.at("spec"), old["spec"]
    spec.check()  # as in a real server, violations in the spec of an update are reported twice
    completions = spec.at("completions")
    if spec.get("completionMode") != "Indexed":
        completions.immutable(before.get("completions"))
    elif completions.value not in {None, before.get("completions"), spec.get("parallelism")}:
        completions.invalid("can only be modified in tandem with spec.parallelism")
    spec.at("selector").immutable(before.get("selector"))
    if not before.get("suspend"):
        spec.at("template").immutable(before["template"])
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        spec.at(name).immutable(before.get(name))


# ── warnings ──────────────────────────────────────────────────────────────────────────────────


def _caution_job(obj: JSONObject, old: JSONObject | None) -> list[str]:
    return _spec_warnings("spec", obj["spec"]) if may_warn(obj, old) else []


def _caution_cron_job(obj: JSONObject, old: JSONObject | None) -> list[str]:
    spec = obj["spec"]
    warnings = _spec_warnings("spec.jobTemplate.spec", spec["jobTemplate"]["spec"]) if may_warn(obj, old) else []
    if old is not None and "TZ" in (spec.get("schedule") or ""):
        warnings.append(f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {_CRON_HELP}")
    return warnings


def _spec_warnings(path: str, spec: JSONObject) -> list[str]:
    many = (spec.get("completions") or 0) > _MANY_COMPLETIONS and (spec.get("parallelism") or 0) > _MANY_AT_ONCE
    warnings = [f"{path}: {_TOO_MANY}"] if many and spec.get("completionMode") == "Indexed" else []
    return warnings + template_warnings(f"{path}.template", spec["template"])


RULES: Mapping[str, Factory] = {
    "jobs.batch": partial(
        BuiltinRules, decides=_select_own_pods, changes=_keep_job, names=POD_NAMES, cautions=_caution_job
    ),
    "cronjobs.batch": partial(BuiltinRules, names=POD_NAMES, cautions=_caution_cron_job),
}
