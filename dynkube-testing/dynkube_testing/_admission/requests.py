"""AdmissionRequests: the description of a request that expressions and webhooks get."""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._verbs.admission import Attributes

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


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
    """Return the options of the operation, also if a patch asked for it."""
    call, dry_run = attributes.call, {"dryRun": ["All"]} if attributes.dry_run else {}
    kind = _OPTIONS.get(attributes.operation)
    if kind is None:
        return None
    options: JSONObject = {"kind": kind, "apiVersion": "meta.k8s.io/v1", **dry_run}
    if attributes.operation == "DELETE":
        body = call.body if isinstance(call.body, dict) else {}
        return {**body, **options}
    given = {field: call.params[field] for field in ("fieldManager", "fieldValidation") if call.params.get(field)}
    return {**options, **given}
