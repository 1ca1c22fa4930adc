"""The engine's refusals, worded as kube-apiserver words them, and the causes that go into a 422."""

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


# Where a real server keeps objects in its etcd: by their resource, except for these.
_FOLDERS = {
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
_KEPT_BY_GROUP = {"apiextensions.k8s.io", "apiregistration.k8s.io"}


class ContinueExpired(Gone):
    """410 for a continue token; ``continue_token`` goes into the Status' ``metadata.continue``.

    The new token continues after the same key in the present state, so that a client which cannot start over may
    have the rest at the price of consistency.
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
    """409: the object is not what the caller believes."""
    message = f'Operation cannot be fulfilled on {kind.group_resource} "{name}": {why}'
    return _about(kind, name, 409, "Conflict", message, causes)


def other_object(kind: Kind, namespace: str, name: str, wanted: str, present: str) -> APIError:
    """409 on update: the object of that name is not the one meant. The real server shows where it keeps it."""
    resource, group = kind.gvr.resource, kind.gvr.group
    apart = kind.crd_uid is not None or group in _KEPT_BY_GROUP
    folder = f"{group}/{resource}" if apart else _FOLDERS.get(kind.group_resource, resource)
    key = "/".join(part for part in ("/registry", folder, namespace, name) if part)
    failed = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {present}"
    why = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {failed}"
    return conflict(kind, name, why)


def precondition_failed(kind: Kind, name: str, field: str, wanted: str, present: str, what: str) -> APIError:
    """409 on delete: the object is not the one meant. The real server names the kind here, not the resource."""
    message = (
        f'Operation cannot be fulfilled on {kind.group_kind} "{name}": the {field} in the precondition ({wanted}) does '
        f"not match the {field} in record ({present}). The object might have been {what}"
    )
    details = Status(code=409, reason="Conflict", message=message, kind=kind.kind, group=kind.gvr.group, name=name)
    return APIError.from_status(details)


def apply_conflict(causes: Sequence[StatusCause]) -> APIError:
    """409 on apply: other managers own the fields of ``causes``, which come manager by manager."""
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
    """403: the object may not be written (the namespace goes away, the object is protected)."""
    return _about(kind, name, 403, "Forbidden", f'{kind.group_resource} "{name}" is forbidden: {why}', causes)


def invalid(kind: Kind, name: str, causes: Sequence[StatusCause]) -> APIError:
    """422 for the object ``name``, with every cause listed."""
    return _invalid(kind.gvr.group, kind.kind, name, causes)


def invalid_kind(group: str, given: str, name: str, expected: str) -> APIError:
    """422 for a custom resource of another kind than the path's."""
    return _invalid(group, given, name, [bad_value("kind", given, f"must be {expected}")])


def invalid_patch(result: str, why: str) -> APIError:
    """422 for a patch whose ``result`` is no object of its kind."""
    return _invalid("", "", "", [bad_value("patch", result, why)])


def must_be_locked(kind: Kind, name: str) -> APIError:
    """422 for an update without a resourceVersion; the real server names the resource here, not the kind."""
    cause = bad_value("metadata.resourceVersion", 0, "must be specified for an update")
    return _invalid(kind.gvr.group, kind.gvr.resource, name, [cause])


def invalid_options(options: str, causes: Sequence[StatusCause]) -> APIError:
    """422 for query parameters or a body of ``options`` (``"ListOptions"``, ``"DeleteOptions"``, ...)."""
    return _invalid("meta.k8s.io", options, "", causes)


def invalid_scale(name: str, *causes: StatusCause) -> APIError:
    """422 for a Scale."""
    return _invalid("autoscaling", "Scale", name, causes)


def invalid_token_request(name: str, cause: StatusCause) -> APIError:
    """422 for a TokenRequest."""
    return _invalid("authentication.k8s.io", "TokenRequest", name, [cause])


def invalid_review(cause: StatusCause) -> APIError:
    """422 for an access review; the real server names no kind there."""
    return _invalid("authorization.k8s.io", "", "", [cause])


# ── about the request ─────────────────────────────────────────────────────────────────────────


def bad_request(message: str) -> APIError:
    """400."""
    return plain(400, "BadRequest", message)


def verb_not_supported(kind: Kind, verb: str) -> APIError:
    """405 for a custom resource; ``verb`` is ``""`` for methods that mean none, as the real server has it."""
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
    """401: no credentials, or none that are known."""
    return plain(401, "Unauthorized", "Unauthorized")


def method_not_allowed(message: str) -> APIError:
    """405."""
    return plain(405, "MethodNotAllowed", message)


def unsupported_patch(accepted: Sequence[str]) -> APIError:
    """415: a kind of patch that the resource does not take."""
    message = "the body of the request was in an unknown format - accepted media types include: "
    return plain(415, "UnsupportedMediaType", message + ", ".join(accepted))


class Unprocessable(Invalid):
    """422 that tells nothing, in ``details`` that are there and empty."""


def unprocessable() -> APIError:
    """422 for a patch that cannot be carried out on the object as it is; a real server does not say why."""
    message = "the server rejected our request due to an error in our request"
    return Unprocessable(Status(code=422, reason="Invalid", message=message))


def out_of_time() -> APIError:
    """504 for a patch that takes longer than the real server gives a request (34 seconds)."""
    return plain(
        504, "Timeout", "Timeout: request did not complete within requested timeout - context deadline exceeded"
    )


def internal(why: str) -> APIError:
    """500 for an object that does not have what its definition promises."""
    causes = (StatusCause("", "", why),)
    message = f"Internal error occurred: {why}"
    return APIError.from_status(Status(code=500, reason="InternalError", message=message, causes=causes))


def version_set_on_create() -> APIError:
    """500, and without a reason: this is what the real server's storage layer lets through."""
    return plain(500, "", "resourceVersion should not be set on objects to be created")


def failed(message: str) -> APIError:
    """500 without a reason: an error that the real server passes on as it is."""
    return plain(500, "", message)


def too_large() -> APIError:
    """500: an object of more than :data:`MAX_OBJECT` bytes."""
    return failed("etcdserver: request is too large")


def too_many(message: str, cause: StatusCause, retry_after: int = 0) -> APIError:
    """429: the request would do harm now, and may be tried again."""
    status = Status(code=429, reason="TooManyRequests", message=message, causes=(cause,))
    return APIError.from_status(replace(status, retry_after=retry_after) if retry_after else status)


# ── about history ─────────────────────────────────────────────────────────────────────────────


def revision_expired(requested: int, compacted: int) -> APIError:
    """410 for a watch from a resourceVersion that history has forgotten."""
    return plain(410, "Expired", f"too old resource version: {requested} ({compacted})")


def list_expired() -> APIError:
    """410 for a list of a state that history has forgotten."""
    return plain(410, "Expired", "The resourceVersion for the provided list is too old.")


def version_unreadable(problem: str) -> APIError:
    """500, and without a reason: a resourceVersion that is no number, where only the storage layer looks at it."""
    return plain(500, "", problem)


def continue_expired(token: str) -> ContinueExpired:
    """410 for a continue token whose snapshot is gone; ``token`` continues inconsistently."""
    return ContinueExpired(Status(code=410, reason="Expired", message=_CONTINUE_EXPIRED), continue_token=token)


def revision_too_large(requested: int, current: int) -> APIError:
    """504 for a resourceVersion that has not happened yet."""
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
    """A field that must be given."""
    return StatusCause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def bad_value(field: str, value: object, detail: str) -> StatusCause:
    """A field with a value that is not allowed."""
    return StatusCause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def not_supported(field: str, value: object, supported: Sequence[str]) -> StatusCause:
    """A field whose value is not one of ``supported``."""
    listed = ", ".join(f'"{item}"' for item in supported)
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return StatusCause(field, "FieldValueNotSupported", text)


def not_allowed(field: str, detail: str) -> StatusCause:
    """A field that may not be set, or not so."""
    return StatusCause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def too_long(field: str, detail: str) -> StatusCause:
    """A field with a value that is longer than it may be."""
    return StatusCause(field, "FieldValueTooLong", f"Too long: {detail}")


def duplicate(field: str, value: object) -> StatusCause:
    """A list entry that is there twice."""
    return StatusCause(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


# ── inside ────────────────────────────────────────────────────────────────────────────────────


def _about(kind: Kind, name: str, code: int, reason: str, message: str, causes: Sequence[StatusCause] = ()) -> APIError:
    # In details the real server calls the resource "kind".
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
    # The message says each cause once, whatever is listed.
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
    """A refusal without details."""
    return APIError.from_status(Status(code=code, reason=reason, message=message))


def shown(value: object) -> str:
    """A value as messages quote it."""
    return msgspec.json.encode(value).decode()
