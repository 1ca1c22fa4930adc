"""Bindings, which assign a pod to a node, and Evictions, which delete a pod.

Evictions respect the status of PodDisruptionBudgets. No controller of this server updates that status; tests must set
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.documents import PlainDocument
from dynkube_testing._store.selectors import selects
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version
from dynkube_testing._verbs.deleting import Deletes
from dynkube_testing._verbs.writing import Writes

_SUCCESS = PlainDocument({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
_OVER = {"Pending", "Succeeded", "Failed"}
_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@dataclass(frozen=True, slots=True)
class PodRequests:
    """Handles bindings and evictions of pods."""

    storage: Storage
    writes: Writes
    deletes: Deletes
    registry: Registry

    # ── bindings ──────────────────────────────────────────────────────────────────────────

    def bind(self, call: Call) -> Result:
        """Assign a pod to a node: ``create`` of ``pods/binding`` or ``bindings``.

        Raises:
            BadRequest: The body is not a Binding, or has another name than the path.
            NotFound: The pod does not exist.
            Conflict: The pod is already assigned to a node.
        """
        binding = _body(call, "v1", "Binding")
        metadata, target = binding["metadata"], binding.get("target")
        name = call.name or metadata.get("name", "")
        if metadata.get("name", name) != name:
            raise refuse.bad_request("name in URL does not match name in Binding object")
        node = _node_of(target if isinstance(target, dict) else {})
        pods, version = self._pod(call, name)
        pod = version.decode(pods)
        if assigned := pod["spec"].get("nodeName"):
            why = f'pod {name} is already assigned to node "{assigned}"'
            raise refuse.conflict(_named(pods, "pods/binding"), name, why)
        pod["spec"]["nodeName"] = node
        for field in ("labels", "annotations"):
            if given := metadata.get(field):
                pod["metadata"][field] = {**pod["metadata"].get(field, {}), **given}
        self._set_condition(pod, {"type": "PodScheduled", "status": "True"})
        if not call.options.dry_run:
            self.storage.put(pods, pod)
        return Result(document=_SUCCESS, status=201)

    # ── evictions ─────────────────────────────────────────────────────────────────────────

    def evict(self, call: Call) -> Result:
        """Delete a pod if its disruption budget allows it.

        This is ``create`` of ``pods/eviction``.

        Raises:
            BadRequest: The body is not an Eviction, or has another name than the path.
            NotFound: The pod does not exist.
            TooManyRequests: The PodDisruptionBudget of the pod does not allow the eviction now.
        """
        eviction = _body(call, "policy/v1", "Eviction")
        if eviction["metadata"].get("name", "") != call.name:
            raise refuse.bad_request("name in URL does not match name in Eviction object")
        pods, version = self._pod(call, call.name)
        pod, dry_run = version.decode(pods), call.options.dry_run
        options = dict(eviction.get("deleteOptions") or {})
        if dry_run:
            options["dryRun"] = ["All"]
        dry_run = bool(options.get("dryRun"))
        if pod.get("status", {}).get("phase") not in _OVER and "deletionTimestamp" not in pod["metadata"]:
            self._spend_budget(pod, dry_run=dry_run)
        if not dry_run:
            message = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
            self._set_condition(pod, {"type": "DisruptionTarget", "status": "True", **message})
            self.storage.put(pods, pod)
        self.deletes.delete(replace(call, verb="delete", kind=pods, subresource="", params={}, body=options))
        return Result(document=_SUCCESS, status=201)

    def _spend_budget(self, pod: JSONObject, *, dry_run: bool) -> None:
        budgets = self.registry.find("policy/v1", "PodDisruptionBudget")
        matching = self._budgets_of(budgets, pod) if budgets is not None else []
        if len(matching) > 1:
            raise refuse.failed(_SEVERAL)
        if not matching or budgets is None:
            return
        budget = matching[0]
        status = budget["status"]
        if not _ready(pod):
            always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
            if always or status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0:
                return
        _check_budget(budget)
        status["disruptionsAllowed"] -= 1
        status.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = self.writes.identity.timestamp()
        if not dry_run:
            self.storage.put(budgets, budget)

    def _budgets_of(self, kind: Kind, pod: JSONObject) -> list[JSONObject]:
        storage, namespace = self.storage, pod["metadata"]["namespace"]
        versions = storage.collection(kind.storage_group).at(storage.revision, f"{namespace}/")
        found = [version.decode(kind) for version in versions]
        return [budget for budget in found if _covers(budget.get("spec", {}).get("selector"), pod)]

    # ── common to both ────────────────────────────────────────────────────────────────────

    def _pod(self, call: Call, name: str) -> tuple[Kind, Version]:
        pods = self.registry.find("v1", "Pod") or call.kind
        version = self.storage.get(pods, call.namespace, name)
        if version is None:
            raise refuse.not_found(pods, name)
        return pods, version

    def _set_condition(self, pod: JSONObject, condition: JSONObject) -> None:
        status = pod.setdefault("status", {})
        times = {"lastProbeTime": None, "lastTransitionTime": self.writes.identity.timestamp()}
        others = [entry for entry in status.get("conditions") or () if entry.get("type") != condition["type"]]
        status["conditions"] = [*others, {**condition, **times}]


def _body(call: Call, api_version: str, kind: str) -> JSONObject:
    body = call.body
    if not isinstance(body, dict):
        raise refuse.bad_request(f"the body of the request must be a {kind}")
    given, version = body.get("kind", kind), body.get("apiVersion", api_version)
    if given != kind or version.rpartition("/")[0] != api_version.rpartition("/")[0]:
        short = version.rpartition("/")[2]
        raise refuse.bad_request(f'{given} in version "{short}" cannot be handled as a {kind}: it is no {kind}')
    metadata = body.get("metadata")
    return {**body, "metadata": metadata if isinstance(metadata, dict) else {}}


def _node_of(target: JSONObject) -> str:
    # For these errors the real server sends 500 and not 422, because it finds them only after its validation.
    if target.get("kind", "") not in {"", "Node"}:
        raise refuse.failed(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    name = target.get("name")
    if not isinstance(name, str) or not name:
        raise refuse.failed("target.name: Required value")
    return name


def _named(kind: Kind, resource: str) -> Kind:
    return replace(kind, gvr=replace(kind.gvr, resource=resource))


def _ready(pod: JSONObject) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(entry.get("type") == "Ready" and entry.get("status") == "True" for entry in conditions)


def _covers(selector: object, pod: JSONObject) -> bool:
    """Return whether a budget's selector selects a pod; in policy/v1 an empty one does, and a missing one does not."""
    return isinstance(selector, dict) and selects(selector, pod["metadata"].get("labels") or {})


def _check_budget(budget: JSONObject) -> None:
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        detail = f"The disruption budget {name} is still being processed by the server."
        raise refuse.too_many(_VIOLATED, StatusCause(reason="DisruptionBudget", message=detail), retry_after=10)
    if status.get("disruptionsAllowed", 0) <= 0:
        wanted, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        detail = f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        raise refuse.too_many(_VIOLATED, StatusCause(reason="DisruptionBudget", message=detail))
