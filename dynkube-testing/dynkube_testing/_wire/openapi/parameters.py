"""Parameters of requests, as listed by both versions of OpenAPI."""

from __future__ import annotations

from typing import NamedTuple


class Parameter(NamedTuple):
    """One parameter of a request.

    ``place`` is ``"query"`` or ``"path"``; path parameters are required. ``type`` is a type of JSON schema.
    """

    name: str
    type: str
    description: str
    place: str = "query"


NAMESPACE = Parameter("namespace", "string", "The namespace of the object.", "path")
PRETTY = Parameter("pretty", "string", "Accepted, and makes no difference: clients indent what they show.")

_DRY_RUN = Parameter("dryRun", "string", "'All' carries out everything but the storing.")
_FIELD_MANAGER = Parameter("fieldManager", "string", "Who makes the change, for metadata.managedFields.")
_APPLY_MANAGER = Parameter("fieldManager", "string", "Who makes the change; required for apply.")
_FIELD_VALIDATION = Parameter(
    "fieldValidation", "string", "What to do about unknown and duplicate fields: 'Ignore', 'Warn' or 'Strict'."
)
_FORCE = Parameter("force", "boolean", "Take over fields that other managers own; for apply only.")
_VERSION = Parameter("resourceVersion", "string", "How fresh the answer has to be, or where a watch starts.")

READ = (_VERSION,)
WRITE = (_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION)
PATCH = (_DRY_RUN, _APPLY_MANAGER, _FIELD_VALIDATION, _FORCE)
DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "Seconds until the object goes; zero for at once."),
    Parameter("orphanDependents", "boolean", "Whether dependents stay; superseded by propagationPolicy."),
    Parameter("propagationPolicy", "string", "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'."),
)
_SELECT = (
    Parameter("continue", "string", "Where the last chunk of the list ended."),
    Parameter("fieldSelector", "string", "Only objects with these values in fields."),
    Parameter("labelSelector", "string", "Only objects with these labels."),
    Parameter("limit", "integer", "How many objects an answer has at most."),
    _VERSION,
    Parameter("resourceVersionMatch", "string", "How resourceVersion is meant: 'Exact' or 'NotOlderThan'."),
    Parameter("sendInitialEvents", "boolean", "Whether a watch begins with the objects there are."),
    Parameter("timeoutSeconds", "integer", "How long the request may take."),
)
LIST = (
    Parameter("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
    *_SELECT,
    Parameter("watch", "boolean", "Send changes as they happen instead of a list."),
)
DELETE_COLLECTION = tuple(sorted({*_SELECT, *DELETE}))

#: Parameters of many operations. OpenAPI v2 has their definitions once for all paths.
SHARED = {parameter: parameter.name for parameter in (*WRITE, *DELETE, *LIST, _FORCE, NAMESPACE, PRETTY)} | {
    _APPLY_MANAGER: "applyFieldManager"
}


def name_of_object(kind: str) -> Parameter:
    """Return the path parameter for the name of an object."""
    return Parameter("name", "string", f"name of the {kind}", "path")
