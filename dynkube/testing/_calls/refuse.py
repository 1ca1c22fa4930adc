"""Error responses with kube-apiserver's messages, and causes of a 422."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from dynkube.errors import APIError, Gone, Invalid, Status, StatusCause
from dynkube.testing._kinds.kinds import Kind

MAX_OBJECT: Final = 3 * 512 * 1024
"""Bytes of an object that can be stored: what etcd takes in one request, unless told otherwise."""

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


# Storage paths in etcd that differ from the resource name.
_FOLDERS = {
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
_KEPT_BY_GROUP = {"apiextensions.k8s.io", "apiregistration.k8s.io"}


class ContinueExpired(Gone):
    """410 for an expired continue token, with a new token in ``metadata.continue``.

    The new token continues after the same key at the latest revision, so that a client that cannot restart the list can
    get the rest of an inconsistent list.
    """

    def __init__(self, status: Status, *, continue_token: str = "", request: str = "") -> None:
        super().__init__(status, request=request)
        self.continue_token = continue_token


# ── about one object ──────────────────────────────────────────────────────────────────────────


def not_found(kind: Kind, name: str) -> APIError:
    """404: no such object."""
    return _about(kind, name, 404, "NotFound", f'{kind.group_resource} "{name}" not found')


def already_exists(kind: Kind, name: str) -> APIError:
    """409 on create."""
    return _about(kind, name, 409, "AlreadyExists", f'{kind.group_resource} "{name}" already exists')


def conflict(kind: Kind, name: str, why: str = _MODIFIED, *causes: StatusCause) -> APIError:
    """409: the object was modified since the client read it."""
    message = f'Operation cannot be fulfilled on {kind.group_resource} "{name}": {why}'
    return _about(kind, name, 409, "Conflict", message, causes)


def other_object(kind: Kind, namespace: str, name: str, wanted: str, present: str) -> APIError:
    """409 on update: the object has another UID. The message has its etcd key."""
    resource, group = kind.gvr.resource, kind.gvr.group
    apart = kind.crd_uid is not None or group in _KEPT_BY_GROUP
    folder = f"{group}/{resource}" if apart else _FOLDERS.get(kind.group_resource, resource)
    key = "/".join(part for part in ("/registry", folder, namespace, name) if part)
    failed = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {present}"
    why = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {failed}"
    return conflict(kind, name, why)


def precondition_failed(kind: Kind, name: str, field: str, wanted: str, present: str, what: str) -> APIError:
    """409 on delete: a precondition failed; the message has the kind."""
    message = (
        f'Operation cannot be fulfilled on {kind.group_kind} "{name}": the {field} in the precondition ({wanted}) does '
        f"not match the {field} in record ({present}). The object might have been {what}"
    )
    details = Status(code=409, reason="Conflict", message=message, kind=kind.kind, group=kind.gvr.group, name=name)
    return APIError.from_status(details)


def apply_conflict(causes: Sequence[StatusCause]) -> APIError:
    """409 on apply: other managers own the fields of ``causes``."""
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = []
        for who in dict.fromkeys(cause.message for cause in causes):
            lines.append(f"{who.replace('conflict', 'conflicts', 1)}:")
            lines += [f"- {cause.field}" for cause in causes if cause.message == who]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return APIError.from_status(Status(code=409, reason="Conflict", message=message, causes=tuple(causes)))


def forbidden(kind: Kind, name: str, why: str, *causes: StatusCause) -> APIError:
    """403: the object cannot be written (namespace being deleted, object protected)."""
    return _about(kind, name, 403, "Forbidden", f'{kind.group_resource} "{name}" is forbidden: {why}', causes)


def invalid(kind: Kind, name: str, causes: Sequence[StatusCause]) -> APIError:
    """422 for the object ``name``, with every cause listed."""
    return _invalid(kind.gvr.group, kind.kind, name, causes)


def invalid_kind(group: str, given: str, name: str, expected: str) -> APIError:
    """422 for a custom resource of another kind than the path's."""
    return _invalid(group, given, name, [bad_value("kind", given, f"must be {expected}")])


def invalid_patch(result: str, why: str) -> APIError:
    """422 for a patch whose ``result`` is not an object of its kind."""
    return _invalid("", "", "", [bad_value("patch", result, why)])


def must_be_locked(kind: Kind, name: str) -> APIError:
    """422 for an update without resourceVersion; it has the resource, not the kind."""
    cause = bad_value("metadata.resourceVersion", 0, "must be specified for an update")
    return _invalid(kind.gvr.group, kind.gvr.resource, name, [cause])


def invalid_options(options: str, causes: Sequence[StatusCause]) -> APIError:
    """422 for invalid ``options`` (``"ListOptions"``, ``"DeleteOptions"``, ...)."""
    return _invalid("meta.k8s.io", options, "", causes)


def invalid_scale(name: str, *causes: StatusCause) -> APIError:
    """422 for a Scale."""
    return _invalid("autoscaling", "Scale", name, causes)


def invalid_token_request(name: str, cause: StatusCause) -> APIError:
    """422 for a TokenRequest."""
    return _invalid("authentication.k8s.io", "TokenRequest", name, [cause])


def invalid_review(cause: StatusCause) -> APIError:
    """422 for an access review; the message has no kind."""
    return _invalid("authorization.k8s.io", "", "", [cause])


# ── about the request ─────────────────────────────────────────────────────────────────────────


def bad_request(message: str) -> APIError:
    """400."""
    return plain(400, "BadRequest", message)


def verb_not_supported(kind: Kind, verb: str) -> APIError:
    """405 for a custom resource; ``verb`` is ``""`` for methods without a verb."""
    message = f'{verb} is not supported on resources of kind "{kind.group_resource}"'
    return _about(kind, "", 405, "MethodNotAllowed", message)


def other_kind(kind: Kind, field: str, given: object) -> APIError:
    """400: the body's ``apiVersion`` or ``kind`` is not that of the path."""
    if field == "apiVersion":
        expected = kind.api_version
        return bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({expected})"
        )
    return bad_request(
        f'{given} in version "{kind.gvr.version}" cannot be handled as a {kind.kind}: '
        f'no kind "{given}" is registered for version "{kind.api_version}" in scheme "pkg/runtime/scheme.go:111"'
    )


def unauthorized() -> APIError:
    """401: missing or invalid credentials."""
    return plain(401, "Unauthorized", "Unauthorized")


def method_not_allowed(message: str) -> APIError:
    """405."""
    return plain(405, "MethodNotAllowed", message)


def unsupported_patch(accepted: Sequence[str]) -> APIError:
    """415: a patch type that the resource does not support."""
    message = "the body of the request was in an unknown format - accepted media types include: "
    return plain(415, "UnsupportedMediaType", message + ", ".join(accepted))


class Unprocessable(Invalid):
    """422 with empty ``details``."""


def unprocessable() -> APIError:
    """422 for a patch that cannot be applied; kube-apiserver sends no reason."""
    message = "the server rejected our request due to an error in our request"
    return Unprocessable(Status(code=422, reason="Invalid", message=message))


def out_of_time() -> APIError:
    """504 for a patch that exceeds kube-apiserver's request timeout (34 seconds)."""
    return plain(
        504, "Timeout", "Timeout: request did not complete within requested timeout - context deadline exceeded"
    )


def internal(why: str) -> APIError:
    """500: an internal error with the message ``why``."""
    causes = (StatusCause("", "", why),)
    message = f"Internal error occurred: {why}"
    return APIError.from_status(Status(code=500, reason="InternalError", message=message, causes=causes))


def version_set_on_create() -> APIError:
    """500 without a reason: kube-apiserver does not convert this storage error."""
    return plain(500, "", "resourceVersion should not be set on objects to be created")


def failed(message: str) -> APIError:
    """500 without a reason: an error that kube-apiserver does not convert."""
    return plain(500, "", message)


def too_large() -> APIError:
    """500: an object of more than :data:`MAX_OBJECT` bytes."""
    return failed("etcdserver: request is too large")


def too_many(message: str, cause: StatusCause, retry_after: int = 0) -> APIError:
    """429: the request is not allowed now, and can be retried later."""
    status = Status(code=429, reason="TooManyRequests", message=message, causes=(cause,))
    return APIError.from_status(replace(status, retry_after=retry_after) if retry_after else status)


# ── about history ─────────────────────────────────────────────────────────────────────────────


def revision_expired(requested: int, compacted: int) -> APIError:
    """410 for a watch from an expired resourceVersion."""
    return plain(410, "Expired", f"too old resource version: {requested} ({compacted})")


def list_expired() -> APIError:
    """410 for a list at a compacted revision."""
    return plain(410, "Expired", "The resourceVersion for the provided list is too old.")


def version_unreadable(problem: str) -> APIError:
    """500 without a reason: a malformed resourceVersion, found by the storage layer."""
    return plain(500, "", problem)


def continue_expired(token: str) -> ContinueExpired:
    """410 for a compacted continue token; ``token`` continues inconsistently."""
    return ContinueExpired(Status(code=410, reason="Expired", message=_CONTINUE_EXPIRED), continue_token=token)


def revision_too_large(requested: int, current: int) -> APIError:
    """504 for a resourceVersion newer than the latest one."""
    return APIError.from_status(
        Status(
            code=504,
            reason="Timeout",
            message=f"Timeout: Too large resource version: {requested}, current: {current}",
            causes=(StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version"),),
            retry_after=1,
        )
    )


# ── causes ────────────────────────────────────────────────────────────────────────────────────


def required(field: str, detail: str = "") -> StatusCause:
    """A required field is missing."""
    return StatusCause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def bad_value(field: str, value: object, detail: str) -> StatusCause:
    """The value of a field is invalid."""
    return StatusCause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def not_supported(field: str, value: object, supported: Sequence[str]) -> StatusCause:
    """The value of a field is not one of ``supported``."""
    listed = ", ".join(f'"{item}"' for item in supported)
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return StatusCause(field, "FieldValueNotSupported", text)


def not_allowed(field: str, detail: str) -> StatusCause:
    """A field must not be set, or not to this value."""
    return StatusCause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def too_long(field: str, detail: str) -> StatusCause:
    """The value of a field is too long."""
    return StatusCause(field, "FieldValueTooLong", f"Too long: {detail}")


def duplicate(field: str, value: object) -> StatusCause:
    """A list has a duplicate entry."""
    return StatusCause(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


# ── inside ────────────────────────────────────────────────────────────────────────────────────


def _about(kind: Kind, name: str, code: int, reason: str, message: str, causes: Sequence[StatusCause] = ()) -> APIError:
    # In details kube-apiserver puts the resource into "kind".
    details = Status(
        code=code,
        reason=reason,
        message=message,
        kind=kind.gvr.resource,
        group=kind.gvr.group,
        name=name,
        causes=tuple(causes),
    )
    return APIError.from_status(details)


def _invalid(group: str, kind: str, name: str, causes: Sequence[StatusCause]) -> APIError:
    # The message has each cause once, even if it is listed repeatedly.
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    return APIError.from_status(
        Status(
            code=422,
            reason="Invalid",
            message=f'{qualified} "{name}" is invalid: {listed}',
            kind=kind,
            group=group,
            name=name,
            causes=tuple(causes),
        )
    )


def plain(code: int, reason: str, message: str) -> APIError:
    """Return an error response without details."""
    return APIError.from_status(Status(code=code, reason=reason, message=message))


def shown(value: object) -> str:
    """Format a value for a message."""
    return msgspec.json.encode(value).decode()
