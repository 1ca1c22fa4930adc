"""Validation of a version: deprecation, columns, scale, selectable fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, duplicate, required
from dynkube_testing._schemas.json_paths import PathProblem, follow, simple_path_causes

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_SELECTABLE_FIELDS = 8
_MAX_WARNING = 256
_SELECTABLE_TYPES = {"string", "boolean", "integer"}


def deprecation_causes(version: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield causes for a ``deprecationWarning`` that cannot be sent as a header.

    It must be one line of printable characters, not empty, and at most 256 bytes.
    """
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    field = f"{field}.deprecationWarning"
    if not version.get("deprecated"):
        yield bad_value(field, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _MAX_WARNING:
        yield bad_value(field, warning, f"must be <= {_MAX_WARNING} characters long")
    if not warning:
        yield bad_value(field, warning, "must not be an empty string")
    at = next((index for index, character in enumerate(warning) if not character.isprintable()), None)
    if at is not None:
        detail = "must only contain printable UTF-8 characters; non-printable character found at index"
        yield bad_value(field, warning, f"{detail} {len(warning[:at].encode())}")


def column_causes(columns: Sequence[JSONObject], field: str) -> Iterator[StatusCause]:
    """Yield the causes for invalid printer columns."""
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    for index, column in enumerate(columns):
        at = f"{field}[{index}]"
        if not column["name"]:
            yield required(f"{at}.name")
        if not column["type"]:
            yield required(f"{at}.type", types)
        elif column["type"] not in _COLUMN_TYPES:
            yield bad_value(f"{at}.type", column["type"], types)
        if column.get("format", "int32") not in _COLUMN_FORMATS:
            yield bad_value(f"{at}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not column["jsonPath"]:
            yield required(f"{at}.JSONPath")
        else:
            yield from simple_path_causes(column["jsonPath"], f"{at}.JSONPath")


def subresource_causes(subresources: JSONObject | None, field: str) -> Iterator[StatusCause]:
    """Yield the causes for invalid paths in the ``scale`` subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, under in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        at, path = f"{field}.scale.{name}", scale[name]
        if not path:
            yield required(at)
        else:
            yield from _path_causes(path, at, [under], f"should be a json path under {under}")
    if path := scale.get("labelSelectorPath"):
        detail = "should be a json path under either .spec or .status"
        yield from _path_causes(path, f"{field}.scale.labelSelectorPath", [".spec", ".status"], detail)


def _path_causes(path: str, field: str, under: Sequence[str], detail: str) -> list[StatusCause]:
    causes = list(simple_path_causes(path, field))
    if not causes and not path.startswith(tuple(f"{root}." for root in under)):
        causes.append(bad_value(field, path, detail))
    return causes


def selectable_causes(
    fields: Sequence[JSONObject], schema: JSONObject, field: str, *, unchanged: bool
) -> Iterator[StatusCause]:
    """Yield causes for selectable fields: too many, duplicates, or not scalars.

    ``unchanged`` is whether the fields are the same as in the old CRD; the limit of 8 does not apply to them then.
    """
    seen: set[str] = set()
    for index, selectable in enumerate(fields):
        at, path = f"{field}[{index}].jsonPath", selectable["jsonPath"]
        if not path:
            yield required(at)
            continue
        try:
            target = follow(path, schema, brackets=False)
        except PathProblem as problem:
            yield bad_value(at, path, f"is an invalid path: {problem}")
            continue
        if target.root == "metadata":
            yield bad_value(at, path, "must not point to fields in metadata")
        if target.schema.get("type") not in _SELECTABLE_TYPES:
            detail = "must point to a field of type string, boolean or integer."
            yield bad_value(at, path, f"{detail} Enum string fields and strings with formats are allowed.")
        if target.path in seen:
            yield duplicate(at, path)
        seen.add(target.path)
    if len(seen) > _MAX_SELECTABLE_FIELDS and not unchanged:
        message = f"Too many: {len(seen)}: must have at most {_MAX_SELECTABLE_FIELDS} items"
        yield StatusCause(field, "FieldValueTooMany", message)
