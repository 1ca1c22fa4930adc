"""Jobs and CronJobs."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping

from dynkube_testing._builtin.findings import IMMUTABLE, BuiltinFindings, fill, section
from dynkube_testing._builtin.podchecks import check_template
from dynkube_testing._builtin.podspecs import complete_template
from dynkube_testing._builtin.podwarnings import template_warnings
from dynkube_testing._builtin.rules import POD_NAMES, BuiltinRules, may_warn
from dynkube_testing._builtin.selectors import selects
from dynkube_testing._calls.api import JSONObject

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


def _complete_job(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        fill(spec, completions=1)
    fill(spec, parallelism=1, backoffLimit=6, completionMode="NonIndexed", suspend=False, manualSelector=False)
    fill(spec, podReplacementPolicy="TerminatingOrFailed")
    complete_template(spec)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _complete_cron_job(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    section(spec, "jobTemplate", "metadata")
    complete_template(section(spec, "jobTemplate", "spec"))


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


def _check_job(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    _check_job_spec(findings, "spec", spec)
    selector, labels = spec.get("selector") or {}, spec["template"]["metadata"].get("labels") or {}
    if not spec.get("manualSelector") and old is None:
        expected = {"matchLabels": {_UID: obj["metadata"]["uid"]}}
        if selector != expected:
            findings.invalid("spec.selector", selector, "`selector` not auto-generated")
    if not selects(selector, labels):
        findings.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _check_job_spec(findings: BuiltinFindings, path: str, spec: JSONObject) -> None:
    numbers = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    findings.not_negative(spec, path, *numbers)
    if (mode := spec.get("completionMode")) is not None:
        findings.one_of(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
        if mode == "Indexed" and spec.get("completions") is None:
            findings.required(f"{path}.completions", "when completion mode is Indexed")
    template = spec["template"]
    check_template(findings, f"{path}.template", template)
    if template["spec"].get("restartPolicy") == "Always":
        findings.required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def _check_cron_job(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    if len(name) > _JOB_NAME_LIMIT:
        findings.invalid("metadata.name", name, f"must be no more than {_JOB_NAME_LIMIT} characters")
    _check_schedule(findings, spec.get("schedule") or "")
    findings.not_negative(spec, "spec", "startingDeadlineSeconds")
    findings.one_of("spec.concurrencyPolicy", spec["concurrencyPolicy"], ("Allow", "Forbid", "Replace"))
    _check_time_zone(findings, spec.get("timeZone"))
    _check_job_spec(findings, "spec.jobTemplate.spec", spec["jobTemplate"]["spec"])
    findings.not_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _check_schedule(findings: BuiltinFindings, schedule: str) -> None:
    fields = schedule.split()
    if not schedule:
        findings.required("spec.schedule")
    elif schedule.startswith("@"):
        if schedule not in _MACROS and not schedule.startswith("@every "):
            findings.invalid("spec.schedule", schedule, f"unrecognized descriptor: {schedule}")
    elif "TZ" not in schedule and len(fields) != 5:
        shown = " ".join(fields)
        findings.invalid("spec.schedule", schedule, f"expected exactly 5 fields, found {len(fields)}: [{shown}]")
    elif not all(re.fullmatch(r"[0-9A-Za-z*/,?-]+", field) for field in fields if "TZ" not in schedule):
        findings.invalid("spec.schedule", schedule, "failed to parse int from schedule")


def _check_time_zone(findings: BuiltinFindings, zone: str | None) -> None:
    if zone is None:
        return
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        findings.invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _keep_job(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    new, before = obj["spec"], old["spec"]
    if before.get("completionMode") != "Indexed":
        findings.immutable("spec.completions", new.get("completions"), before.get("completions"))
    findings.immutable("spec.selector", new.get("selector"), before.get("selector"))
    if not before.get("suspend"):
        findings.immutable("spec.template", new["template"], before["template"])
    mode = new.get("completionMode")
    findings.immutable("spec.completionMode", mode, before.get("completionMode"), IMMUTABLE)


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


RULES: Mapping[str, BuiltinRules] = {
    "jobs.batch": BuiltinRules(
        defaults=_complete_job,
        decides=_select_own_pods,
        checks=_check_job,
        changes=_keep_job,
        names=POD_NAMES,
        cautions=_caution_job,
    ),
    "cronjobs.batch": BuiltinRules(
        defaults=_complete_cron_job,
        decides=lambda obj, old: fill(obj, status={}),
        checks=_check_cron_job,
        names=POD_NAMES,
        cautions=_caution_cron_job,
    ),
}
