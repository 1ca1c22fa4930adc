"""AdmissionRequests: what expressions and webhooks are told about a request."""

from __future__ import annotations

from dynkube_testing._calls.api import APPLY_PATCH, JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._verbs.admission import Attributes

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


def admission_request(attributes: Attributes, kind: Kind) -> JSONObject:
    """Return the AdmissionRequest of a request that was matched as ``kind``, without UID and objects."""
    subresource, asked, user = attributes.subresource, attributes.kind, attributes.call.user
    shown = {
        "kind": _gvk(kind, subresource),
        "resource": _gvr(kind),
        "subResource": subresource,
        "requestKind": _gvk(asked, subresource),
        "requestResource": _gvr(asked),
        "requestSubResource": subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": user.info,
        "dryRun": attributes.dry_run,
        "options": _options(attributes),
    }
    return {field: value for field, value in shown.items() if value != ""}


def _gvk(kind: Kind, subresource: str) -> JSONObject:
    found = kind.subresource(subresource)
    gvk = found.gvk if found is not None else kind.gvk
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _gvr(kind: Kind) -> JSONObject:
    return {"group": kind.gvr.group, "version": kind.gvr.version, "resource": kind.gvr.resource}


def _options(attributes: Attributes) -> JSONObject | None:
    call = attributes.call
    if attributes.operation == "CONNECT":
        return None
    # An update or apply that creates the object has the options of a create.
    verb = "create" if attributes.operation == "CREATE" else call.verb
    options: JSONObject = {"kind": _OPTIONS.get(verb, "DeleteOptions"), "apiVersion": "meta.k8s.io/v1"}
    if verb not in _OPTIONS:
        body = call.body if isinstance(call.body, dict) else {}
        return {**body, **options, **({"dryRun": ["All"]} if attributes.dry_run else {})}
    fields = {field: call.params[field] for field in ("fieldManager", "fieldValidation") if call.params.get(field)}
    forced = call.params.get("force", "").lower() in {"1", "true"} and call.content_type == APPLY_PATCH
    force = {"force": True} if forced and verb == "patch" else {}
    return {**options, **fields, **force, **({"dryRun": ["All"]} if attributes.dry_run else {})}
