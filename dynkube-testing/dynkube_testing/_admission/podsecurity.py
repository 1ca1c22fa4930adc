"""PodSecurity: the Pod Security Standards that a namespace's labels enforce, audit or warn about.

Audit annotations are not written, as this server writes no audit log in that form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube_testing._admission.amounts import containers_of
from dynkube_testing._admission.objects import Objects
from dynkube_testing._admission.podsecurity_standards import details, findings, reasons
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._verbs.admission import Attributes

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_MODES = ("enforce", "audit", "warn")
_MAX_PODS = 3000
# The path of the pod template in resources that have one.
_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "replicationcontrollers": ("spec", "template"),
    "podtemplates": ("template",),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_EVALUATED_SUBRESOURCES = {"", "ephemeralcontainers", "resize"}


@dataclass(frozen=True, slots=True)
class _Mode:
    """A level of the policy and its version, the minor version of Kubernetes; ``None`` for the latest."""

    level: str = "privileged"
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


@dataclass(frozen=True, slots=True)
class PodSecurity:
    """The plugin; it checks pods, and warns about pod templates and changed labels of namespaces."""

    objects: Objects

    def validate(self, attributes: Attributes) -> None:
        """Check a pod, workload or namespace.

        Raises:
            Forbidden: The pod violates the enforced level.
            Invalid: The labels of the namespace are invalid.
        """
        if attributes.operation not in {"CREATE", "UPDATE"}:
            return
        if attributes.resource == "pods":
            self._check_pod(attributes)
        elif attributes.subresource:
            return
        elif attributes.resource == "namespaces":
            self._check_namespace(attributes)
        elif path := _TEMPLATES.get(attributes.resource):
            self._check_template(attributes, path)

    def _policy(self, attributes: Attributes) -> dict[str, _Mode]:
        namespace = self.objects.namespace(attributes.storage, attributes.namespace)
        return _policy_of((namespace or {}).get("metadata", {}).get("labels") or {})[0]

    def _check_pod(self, attributes: Attributes) -> None:
        if attributes.subresource not in _EVALUATED_SUBRESOURCES:
            return
        pod, old, policy = attributes.new, attributes.old, self._policy(attributes)
        if old is not None and not _is_significant(pod["spec"], old["spec"]):
            return
        enforce = policy["enforce"]
        if found := findings(enforce.level, enforce.minor, pod["metadata"], pod["spec"]):
            why = f'violates PodSecurity "{enforce}": {details(found)}'
            raise refuse.forbidden(attributes.kind, attributes.name, why)
        _warn(attributes, policy["warn"], pod["metadata"], pod["spec"])

    def _check_template(self, attributes: Attributes, path: tuple[str, ...]) -> None:
        warn, template = self._policy(attributes)["warn"], attributes.new
        for name in path:
            template = template.get(name) or {}
        if warn.level != "privileged" and template.get("spec"):
            _warn(attributes, warn, template.get("metadata") or {}, template["spec"])

    def _check_namespace(self, attributes: Attributes) -> None:
        policy, causes = _policy_of(attributes.new["metadata"].get("labels") or {})
        before, old_causes = _policy_of((attributes.old or {}).get("metadata", {}).get("labels") or {})
        if causes and (attributes.old is None or causes != old_causes):
            raise refuse.invalid(attributes.kind, attributes.name, causes)
        enforce, former = policy["enforce"], before["enforce"]
        relaxed = enforce.minor == former.minor and _LEVELS.index(enforce.level) <= _LEVELS.index(former.level)
        if attributes.old is not None and enforce.level != "privileged" and not relaxed:
            pods = self.objects.all(attributes.storage, "pods", attributes.name)
            attributes.call.warnings.extend(_violations(attributes.name, enforce, pods))


def _policy_of(labels: Mapping[str, str]) -> tuple[dict[str, _Mode], list[StatusCause]]:
    """Return the level and version of each mode, and the causes of a 422 for invalid labels."""
    policy, causes = dict.fromkeys(_MODES, _Mode()), list[StatusCause]()
    valid = {mode: labels.get(f"{_PREFIX}{mode}") for mode in _MODES}
    for mode in _MODES:
        level, version = valid[mode], labels.get(f"{_PREFIX}{mode}-version")
        minor = None
        if level is not None and level not in _LEVELS:
            valid[mode] = None
            causes.append(_invalid(mode, level, f"must be one of {', '.join(_LEVELS)}"))
            level = "restricted" if mode == "enforce" else "privileged"
        if version is not None and version != "latest":
            if match := re.fullmatch(r"v1\.([0-9]|[1-9][0-9]*)", version, re.ASCII):
                minor = int(match[1])
            else:
                causes.append(_invalid(f"{mode}-version", version, 'must be "latest" or "v1.x"'))
        policy[mode] = _Mode(level or "privileged", minor)
    enforce = policy["enforce"]
    if f"{_PREFIX}warn" not in labels and valid["enforce"] is not None and enforce.level != "privileged":
        own_version = f"{_PREFIX}warn-version" in labels
        policy["warn"] = _Mode(enforce.level, policy["warn"].minor if own_version else enforce.minor)
    return policy, causes


def _invalid(label: str, value: str, why: str) -> StatusCause:
    return bad_value(f"metadata.labels[{_PREFIX}{label}]", value, why)


def _warn(attributes: Attributes, mode: _Mode, metadata: JSONObject, spec: JSONObject) -> None:
    if found := findings(mode.level, mode.minor, metadata, spec):
        attributes.call.warnings.append(f'would violate PodSecurity "{mode}": {details(found)}')


def _is_significant(spec: JSONObject, old: JSONObject) -> bool:
    """Return whether an update of a pod has another container or image."""
    for field in ("containers", "initContainers"):
        images, before = ([each.get("image") for each in part.get(field) or ()] for part in (spec, old))
        if images != before:
            return True
    known = {each["name"]: each.get("image") for each in containers_of(old, ("ephemeralContainers",))}
    ephemeral = containers_of(spec, ("ephemeralContainers",))
    return any(each["name"] not in known or known[each["name"]] != each.get("image") for each in ephemeral)


def _violations(namespace: str, enforce: _Mode, pods: list[JSONObject]) -> Iterator[str]:
    """Yield warnings about existing pods that violate a newly enforced level."""
    names: dict[str, list[str]] = {}
    ordered = _one_of_each_controller_first(pods)
    for pod in ordered[:_MAX_PODS]:
        if found := findings(enforce.level, enforce.minor, pod["metadata"], pod["spec"]):
            names.setdefault(reasons(found), []).append(pod["metadata"]["name"])
    if len(ordered) > _MAX_PODS:
        checked = f"{_MAX_PODS} of {len(ordered)} existing pods"
        yield f"new PodSecurity enforce level only checked against the first {checked}"
    if names:
        yield f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{enforce}"'
    more = {1: "", 2: " (and 1 other pod)"}
    yield from sorted(
        f"{min(found)}{more.get(len(found), f' (and {len(found) - 1} other pods)')}: {reason}"
        for reason, found in names.items()
    )


def _one_of_each_controller_first(pods: list[JSONObject]) -> list[JSONObject]:
    first, others, seen = list[JSONObject](), list[JSONObject](), set[str]()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((owner["uid"] for owner in owners if owner.get("controller")), None)
        (others if controller in seen else first).append(pod)
        seen |= {controller} if controller is not None else set()
    return first + others
