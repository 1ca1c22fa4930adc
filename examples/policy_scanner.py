"""A controller that checks objects of any kind against rules in ConfigMaps, and reports violations.

    python -m examples.policy_scanner        # needs google-re2, for rules with regular expressions

Rules are YAML in ConfigMaps with the label ``policy.example.com/rules: "true"``, one list in each key:

    - name: two-replicas
      resource: deployments.apps                     # need not be installed: RESOURCE.VERSION.GROUP or RESOURCE.GROUP
      path: "{.spec.replicas}"
      equals: 2                                      # or matches: "^[2-9]$" (RE2), or exists: true (or false)
      message: run two replicas

``equals`` and ``matches`` hold if the path finds a value and each value matches. For an object that violates rules, the
controller creates an Event, and, while that CRD is installed, a PolicyReport (wgpolicyk8s.io/v1alpha2, as Kyverno and
Trivy do; ClusterPolicyReport if the object has no namespace). The ConfigMap ``NAME-status`` beside the rules contains
their errors, the state of the scanned resources, and the first violations. The test is in test_policy_scanner.py.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import re2
import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, Watch, run, to_all
from dynkube.errors import DynkubeError, InvalidInput
from dynkube.meta import yaml

RULES = "policy.example.com/rules"
STATUS = "policy.example.com/status"
RESOURCE = "policy.example.com/resource"
MANAGED = {"app.kubernetes.io/managed-by": "policy-scanner"}
CRDS = "customresourcedefinitions.v1.apiextensions.k8s.io"
REPORTS = ("policyreports.wgpolicyk8s.io", "clusterpolicyreports.wgpolicyk8s.io")
INTERVAL = 10.0  # seconds between two writes of a status whose numbers change
SIZE = 32 << 10  # characters of YAML, which is parsed without a checkpoint
MOST = 100  # rules in a ConfigMap, and violations in a status


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rule as it is written in YAML."""

    name: str
    resource: str
    path: str
    message: str = ""
    exists: bool | msgspec.UnsetType = msgspec.UNSET
    equals: str | bool | int | float | msgspec.UnsetType | None = msgspec.UNSET
    matches: str | msgspec.UnsetType = msgspec.UNSET

    def check(self) -> None:
        """Raise InvalidInput, InvalidJSONPath or re2.error if the rule is invalid."""
        Watch(self.resource)
        dynkube.JSONPath.compile(self.path)
        if [self.exists, self.equals, self.matches].count(msgspec.UNSET) != 2:
            raise InvalidInput("pass one of exists, equals and matches")
        if isinstance(self.matches, str):
            re2.compile(self.matches, QUIET)

    def holds(self, obj: dynkube.Unstructured) -> bool:
        """Return whether an object follows the rule."""
        found = obj.jsonpath(self.path)
        if isinstance(self.exists, bool):
            return bool(found) is self.exists
        if isinstance(self.matches, str):
            pattern = re2.compile(self.matches, QUIET)  # compiled once: re2 has a cache
            return bool(found) and all(pattern.search(text_of(value)) for value in found)
        return bool(found) and all(text_of(value) == text_of(self.equals) for value in found)


QUIET = re2.Options()
QUIET.log_errors = False


def text_of(value: object) -> str:
    """Return a value as a rule compares it: strings unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


CLEAN_UP = ObjectKey("", "clean-up")
"""Reconciled when there are reports, also if there are no rules any more: reports may be left from an earlier run."""

Named = tuple[str, Rule]
"""A rule with the namespace and name of its ConfigMap, which is the policy in reports."""


@dataclass(frozen=True)
class Parsed:
    """The rules and errors of one version of a ConfigMap."""

    version: str = ""
    rules: tuple[Rule, ...] = ()
    errors: tuple[str, ...] = ()


def parse(config: dynkube.Unstructured) -> Parsed:
    """Return the valid rules of a ConfigMap, and the errors of the others."""
    rules: list[Rule] = []
    errors: list[str] = []
    for key, text in sorted(config.get("data", {}).items()):
        if len(text) > SIZE:
            errors.append(f"{key}: {len(text)} characters, of at most {SIZE}")
            continue
        try:
            documents = msgspec.convert(yaml.load_document(text), list[object])
        except (ValueError, msgspec.ValidationError) as error:
            errors.append(f"{key}: {error}")
            continue
        for index, document in enumerate(documents):
            try:
                rule = msgspec.convert(document, Rule)
                rule.check()
            except (DynkubeError, msgspec.ValidationError, re2.error) as error:
                errors.append(f"{key}[{index}]: {error}")
            else:
                rules.append(rule)
    if len(rules) > MOST:
        errors.insert(0, f"{len(rules)} rules, of which the first {MOST} are followed")
    return Parsed(config.resource_version, tuple(rules[:MOST]), tuple(errors[:MOST]))


# ── scanning ─────────────────────────────────────────────────────────────────────────────────


@dataclass(eq=False)
class Scan:
    """A controller of one resource, which checks its objects against some rules."""

    resource: str
    rules: tuple[Named, ...]
    known: Mapping[ObjectKey, tuple[Named, ...]]  # violations that have an Event
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    violations: dict[ObjectKey, tuple[Named, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reports = [Watch(name, label_selector=MANAGED) for name in REPORTS]
        crds = [Watch(CRDS, field_selector=f"metadata.name={name}", to=to_all()) for name in REPORTS]
        self.controller = Controller(
            self.resource, self.reconcile, name="policy-scanner", watches=reports + crds, concurrency=4
        )

    async def run(self, client: dynkube.Client) -> None:
        """Scan until the scope is cancelled."""
        with self.scope:
            await run(client, self.controller, shutdown_timeout=0)

    async def reconcile(self, ctx: Context, key: ObjectKey) -> None:
        """Check one object."""
        obj = ctx.get()
        if obj is None:
            self.violations.pop(key, None)  # its report is deleted with it
            return
        violated = tuple(named for named in self.rules if not named[1].holds(obj))
        known = self.violations.get(key, self.known.get(key, ()))
        if new := [f"{policy}/{rule.name}: {rule.message}" for policy, rule in violated if (policy, rule) not in known]:
            # A single Event, as several would be counted as a series.
            ctx.event("PolicyViolation", "; ".join(new), type="Warning")
        self.violations[key] = violated
        installed = ctx.get(REPORTS[0 if obj.namespace else 1], resource=CRDS) is not None
        await ctx.apply_owned([self.report(obj, violated)] if violated and installed else [])

    def violating(self, named: Named) -> list[ObjectKey]:
        """Return the objects that violate a rule."""
        if any(state.phase is dynkube.ABSENT for _, state in self.controller.status().informers[:1]):
            self.violations.clear()  # the CRD was deleted with all objects, which are no longer reconciled
        return sorted(key for key, violated in self.violations.items() if named in violated)

    @property
    def state(self) -> str:
        """Whether the objects can be read; the reason if not."""
        status = self.controller.status()
        return status.problem or next((str(state) for _, state in status.informers), str(status.phase))

    def report(self, obj: dynkube.Unstructured, violated: tuple[Named, ...]) -> dict[str, object]:
        """Return the report about one object."""
        where = {"namespace": obj.namespace} if obj.namespace else {}
        results = [
            {
                "source": "policy-scanner",
                "policy": policy,
                "rule": rule.name,
                "message": rule.message,
                "result": "fail" if (policy, rule) in violated else "pass",
            }
            for policy, rule in self.rules
        ]
        return {
            "apiVersion": "wgpolicyk8s.io/v1alpha2",
            "kind": "PolicyReport" if obj.namespace else "ClusterPolicyReport",
            "metadata": {"name": obj.uid, **where, "labels": MANAGED, "annotations": {RESOURCE: self.resource}},
            "scope": {"apiVersion": obj.api_version, "kind": obj.kind, "name": obj.name, **where, "uid": obj.uid},
            "summary": {"pass": len(results) - len(violated), "fail": len(violated)},
            "results": results,
        }


class PolicyScanner:
    """Follows the rules: parses them, keeps a scan of each resource that they name, and writes their status."""

    def __init__(self, client: dynkube.Client, nursery: trio.Nursery) -> None:
        self._client = client
        self._nursery = nursery
        self._parsed: dict[ObjectKey, Parsed] = {}
        self._scans: dict[str, Scan] = {}
        reports = [Watch(name, to=lambda _: [CLEAN_UP], label_selector=MANAGED) for name in REPORTS]
        status = Watch("configmaps.v1", label_selector=f"{STATUS}=true")
        self.controller = Controller(
            "configmaps.v1",
            self.reconcile,
            name="policy-rules",
            label_selector=f"{RULES}=true",
            watches=[status, *reports],
            resync=INTERVAL,
        )

    async def reconcile(self, ctx: Context, key: ObjectKey) -> None:
        """Update the scans from the rules of all ConfigMaps, and write the status of one."""
        for each in (configs := {ObjectKey.of(config): config for config in ctx.list()}):
            if each not in self._parsed or self._parsed[each].version != configs[each].resource_version:
                self._parsed[each] = parse(configs[each])
        self._parsed = {each: self._parsed[each] for each in configs}
        self._follow_rules()
        for report in (report for name in REPORTS for report in ctx.list(name)):
            if report.annotations.get(RESOURCE) not in self._scans:
                await ctx.delete(report)
        if key in configs:
            metadata = {"name": f"{key.name}-status", "labels": {STATUS: "true"}}
            data = {"status.yaml": yaml.dump(self._status(key)).decode()}
            await ctx.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def _follow_rules(self) -> None:
        """Start, replace and cancel scans so that there is one for each resource."""
        wanted: dict[str, list[Named]] = {}
        for key, parsed in sorted(self._parsed.items()):
            for rule in parsed.rules:
                wanted.setdefault(rule.resource, []).append((str(key), rule))
        for resource in self._scans.keys() | wanted.keys():
            rules, old = tuple(wanted.get(resource, ())), self._scans.get(resource)
            if old is not None and old.rules != rules:
                old.scope.cancel()
                del self._scans[resource]
            if rules and resource not in self._scans:
                self._scans[resource] = Scan(resource, rules, {} if old is None else old.violations)
                self._nursery.start_soon(self._scans[resource].run, self._client)

    def _status(self, key: ObjectKey) -> dict[str, object]:
        parsed = self._parsed[key]
        rules: list[dict[str, object]] = []
        violations: list[str] = []
        for rule in parsed.rules:
            scan = self._scans[rule.resource]
            objects = scan.violating((str(key), rule))
            rules.append({"name": rule.name, "scan": scan.state, "violations": len(objects)})
            violations += [f"{rule.name}: {rule.resource} {each}: {rule.message}" for each in objects[:MOST]]
        return {"rules": rules, "errors": list(parsed.errors), "violations": violations[:MOST]}


async def scan(client: dynkube.Client) -> None:
    """Scan until cancelled."""
    async with trio.open_nursery() as nursery:
        await run(client, PolicyScanner(client, nursery).controller)


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    async with dynkube.connect() as client:
        await scan(client)


if __name__ == "__main__":
    trio.run(main)
