"""Error responses with kube-apiserver's messages.

The functions return the error and do not raise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dynkube.errors import APIError, Gone, Invalid, Status, StatusCause
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._kinds.kinds import Kind

MAX_OBJECT: Final = 3 * 512 * 1024
"""Maximum size of a stored object in bytes: the default limit of etcd for a request."""

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


# Paths in etcd (after /registry) of resources whose path is not the resource name.
_FOLDERS = {
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
# Groups of built-in kinds whose paths in etcd contain the group, like those of custom resources.
_KEPT_BY_GROUP = {"apiextensions.k8s.io", "apiregistration.k8s.io"}


class ContinueExpired(Gone):
    """410 for an expired continue token, with a new token in ``metadata.continue``.

    The new token continues after the same key, but at the latest revision. A client that cannot restart the list can
    use it to get the remaining items, but the whole list is then inconsistent.
    """

    def __init__(self, status: Status, *, continue_token: str = "", request: str = "") -> None:
        super().__init__(status, request=request)
        self.continue_token = continue_token


# ── about one object ──────────────────────────────────────────────────────────────────────────


def not_found(kind: Kind, name: str) -> APIError:
    """Return 404 for an object that does not exist."""
    return _about(kind, name, 404, "NotFound", f'{kind.group_resource} "{name}" not found')


def already_exists(kind: Kind, name: str) -> APIError:
    """Return 409 for a create of an object that exists."""
    return _about(kind, name, 409, "AlreadyExists", f'{kind.group_resource} "{name}" already exists')


def conflict(kind: Kind, name: str, why: str = _MODIFIED, *causes: StatusCause) -> APIError:
    """Return 409 for an object that was modified since the client read it.

    ``why`` is another reason for the conflict.
    """
    message = f'Operation cannot be fulfilled on {kind.group_resource} "{name}": {why}'
    return _about(kind, name, 409, "Conflict", message, causes)


def other_object(kind: Kind, namespace: str, name: str, wanted: str, present: str) -> APIError:
    """Return 409 for an update whose UID differs from the UID of the stored object.

    As in kube-apiserver, the message contains the object's etcd key.

    Args:
        kind: The kind of the object.
        namespace: The namespace of the object.
        name: The name of the object.
        wanted: The UID in the request.
        present: The UID of the stored object; ``""`` if there is none.
    """
    resource, group = kind.gvr.resource, kind.gvr.group
    apart = kind.crd_uid is not None or group in _KEPT_BY_GROUP
    folder = f"{group}/{resource}" if apart else _FOLDERS.get(kind.group_resource, resource)
    key = "/".join(part for part in ("/registry", folder, namespace, name) if part)
    failed = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {present}"
    why = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {failed}"
    return conflict(kind, name, why)


def precondition_failed(kind: Kind, name: str, field: str, wanted: str, present: str, what: str) -> APIError:
    """Return 409 for a delete with a precondition that is not met.

    Unlike other conflicts, the response has the kind, not the resource.

    Args:
        kind: The kind of the object.
        name: The name of the object.
        field: The field of the precondition, ``"UID"`` or ``"ResourceVersion"``.
        wanted: The value in the precondition.
        present: The value in the stored object.
        what: What may have happened to the object, for the message.
    """
    message = (
        f'Operation cannot be fulfilled on {kind.group_kind} "{name}": the {field} in the precondition ({wanted}) does '
        f"not match the {field} in record ({present}). The object might have been {what}"
    )
    details = Status(code=409, reason="Conflict", message=message, kind=kind.kind, group=kind.gvr.group, name=name)
    return APIError.from_status(details)


def apply_conflict(causes: Sequence[StatusCause]) -> APIError:
    """Return 409 for an apply of fields that other managers own.

    Each cause has one field.
    """
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
    """Return 403 for an object that cannot be written or deleted.

    ``why`` is the reason in the message.
    """
    return _about(kind, name, 403, "Forbidden", f'{kind.group_resource} "{name}" is forbidden: {why}', causes)


def invalid(kind: Kind, name: str, causes: Sequence[StatusCause]) -> APIError:
    """Return 422 for an invalid object, with all ``causes``.

    It has the group in which the object is stored: none for an Event of events.k8s.io.
    """
    return invalid_object((kind.stored_as or kind.gvk).group, kind.kind, name, causes)


def invalid_object(group: str, kind: str, name: str, causes: Sequence[StatusCause]) -> APIError:
    """Return 422 for an object that is not of the requested kind, such as the options of a request."""
    # The message contains each cause only once, even if it occurs several times in "causes".
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


def invalid_patch(result: str, why: str) -> APIError:
    """Return 422 for a patch whose ``result`` is not a valid object of its kind."""
    return invalid_object("", "", "", [bad_value("patch", result, why)])


def must_be_locked(kind: Kind, name: str) -> APIError:
    """Return 422 for an update without resourceVersion, if the resource requires one.

    Unlike in other 422 responses, the resource is in the place of the kind.
    """
    cause = bad_value("metadata.resourceVersion", 0, "must be specified for an update")
    return invalid_object(kind.gvr.group, kind.gvr.resource, name, [cause])


def invalid_options(options: str, causes: Sequence[StatusCause]) -> APIError:
    """Return 422 for invalid ``options``, such as ``"ListOptions"``."""
    return invalid_object("meta.k8s.io", options, "", causes)


# ── about the request ─────────────────────────────────────────────────────────────────────────


def bad_request(message: str) -> APIError:
    """Return 400 with ``message``."""
    return plain(400, "BadRequest", message)


def verb_not_supported(kind: Kind, verb: str) -> APIError:
    """Return 405 for a custom resource.

    ``verb`` is ``""`` for HTTP methods without a verb.
    """
    message = f'{verb} is not supported on resources of kind "{kind.group_resource}"'
    return _about(kind, "", 405, "MethodNotAllowed", message)


def other_kind(kind: Kind, field: str, given: object) -> APIError:
    """Return 400 for a body with another ``apiVersion`` or ``kind`` than the path.

    ``field`` is ``"apiVersion"`` or ``"kind"``.
    """
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
    """Return 401 for missing or invalid credentials."""
    return plain(401, "Unauthorized", "Unauthorized")


def method_not_allowed(
    message: str = "the server does not allow this method on the requested resource",
) -> APIError:
    """Return 405 for an existing path that does not support the method."""
    return plain(405, "MethodNotAllowed", message)


def unsupported_media_type(accepted: Sequence[str]) -> APIError:
    """Return 415 for a body or a patch whose content type is not one of ``accepted``."""
    message = "the body of the request was in an unknown format - accepted media types include: "
    return plain(415, "UnsupportedMediaType", message + ", ".join(accepted))


class Undetailed(APIError):
    """An error response with empty ``details``, where others of its reason have none."""


class Unprocessable(Undetailed, Invalid):
    """422 with empty ``details``."""


def unprocessable() -> APIError:
    """Return 422 for a patch that cannot be applied.

    As in kube-apiserver, it has no details.
    """
    message = "the server rejected our request due to an error in our request"
    return Unprocessable(Status(code=422, reason="Invalid", message=message))


def out_of_time() -> APIError:
    """Return 504 for a patch that would exceed the request timeout.

    The timeout of kube-apiserver is 34 seconds.
    """
    return plain(
        504, "Timeout", "Timeout: request did not complete within requested timeout - context deadline exceeded"
    )


def internal(why: str) -> APIError:
    """Return 500 for an internal error, with ``why`` in the message."""
    causes = (StatusCause("", "", why),)
    message = f"Internal error occurred: {why}"
    return APIError.from_status(Status(code=500, reason="InternalError", message=message, causes=causes))


def failed(message: str) -> APIError:
    """Return 500 without a reason.

    It is for errors that kube-apiserver does not convert to a Status.
    """
    return plain(500, "", message)


def too_large() -> APIError:
    """Return 500 for an object of more than :data:`MAX_OBJECT` bytes."""
    return failed("etcdserver: request is too large")


def too_many(message: str, *causes: StatusCause, retry_after: int = 0) -> APIError:
    """Return 429 for a request that is not allowed now and can be retried.

    ``retry_after`` is in seconds; 0 for no Retry-After.
    """
    status = Status(code=429, reason="TooManyRequests", message=message, causes=causes)
    return APIError.from_status(replace(status, retry_after=retry_after) if retry_after else status)


# ── about history ─────────────────────────────────────────────────────────────────────────────


def expired(message: str) -> APIError:
    """Return 410 for a resourceVersion that has been compacted."""
    return plain(410, "Expired", message)


def continue_expired(token: str) -> ContinueExpired:
    """Return 410 for a continue token of a compacted revision.

    ``token`` is a new token, which continues the list at the latest revision.
    """
    return ContinueExpired(Status(code=410, reason="Expired", message=_CONTINUE_EXPIRED), continue_token=token)


def revision_too_large(requested: int, current: int) -> APIError:
    """Return 504 for a resourceVersion that is higher than the latest one."""
    return APIError.from_status(
        Status(
            code=504,
            reason="Timeout",
            message=f"Timeout: Too large resource version: {requested}, current: {current}",
            causes=(StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version"),),
            retry_after=1,
        )
    )


# ── common functions ──────────────────────────────────────────────────────────────────────────


def _about(kind: Kind, name: str, code: int, reason: str, message: str, causes: Sequence[StatusCause] = ()) -> APIError:
    # As in kube-apiserver, "kind" in the details is the resource.
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


def plain(code: int, reason: str, message: str) -> APIError:
    """Return an error response with a reason and a message, but without details."""
    return APIError.from_status(Status(code=code, reason=reason, message=message))
