"""Reading and setting the status conditions of a CRD."""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject


def condition(definition: JSONObject, kind: str) -> str:
    """Return a condition's status: ``"True"``, ``"False"``, or ``""`` if absent."""
    for entry in (definition.get("status") or {}).get("conditions") or ():
        if entry.get("type") == kind:
            status: str = entry.get("status", "")
            return status
    return ""


def set_condition(definition: JSONObject, kind: str, status: bool, reason: str, message: str, time: str) -> None:
    """Set a condition; ``lastTransitionTime`` is kept if its status does not change."""
    entry = {"type": kind, "status": str(status), "lastTransitionTime": time, "reason": reason, "message": message}
    of_definition = definition.setdefault("status", {})
    conditions = of_definition["conditions"] = of_definition.get("conditions") or []
    for index, present in enumerate(conditions):
        if present.get("type") == kind:
            if present.get("status") == entry["status"]:
                entry["lastTransitionTime"] = present.get("lastTransitionTime", time)
            conditions[index] = entry
            return
    conditions.append(entry)
