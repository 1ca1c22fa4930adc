"""Validation of a resource's schema: structure, defaults, keywords, CEL rules."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed
from dynkube_testing._definitions.defaults import default_causes
from dynkube_testing._definitions.internal_form import bad_struct
from dynkube_testing._definitions.schema_rules import schema_causes
from dynkube_testing._definitions.shapes import Ref, fields_of
from dynkube_testing._definitions.structural import structural_causes, unsupported_keyword

# The keywords allowed at the root if the status subresource is enabled, by their names in Go, as in the error message.
_WITH_STATUS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_AT_ROOT = "at the root of the schema if the status subresource is enabled"


def resource_schema_causes(holder: JSONObject | None, field: str, *, has_status: bool) -> list[StatusCause]:
    """Return the causes for an invalid ``openAPIV3Schema`` in ``holder``.

    ``field`` is the path of ``holder``; ``has_status`` is whether the status subresource is enabled.
    """
    schema = (holder or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    field = f"{field}.openAPIV3Schema"
    causes = [*_root_causes(schema, field, has_status)]
    unsupported = unsupported_keyword(schema)
    if not unsupported:
        causes += structural_causes(schema, field) or default_causes(schema, field)
    causes += schema_causes(schema, field)
    if not causes and unsupported:
        causes.append(bad_value(field, "", unsupported))
    return causes


def _root_causes(schema: JSONObject, field: str, has_status: bool) -> Iterator[StatusCause]:
    if has_status:
        yield from _status_causes(schema, field)
    if schema.get("nullable"):
        yield not_allowed(f"{field}.nullable", "nullable cannot be true at the root")


def _status_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield a cause for the first keyword that the status subresource does not allow.

    Only keywords at the root of the schema are checked.
    """
    for keyword, known in fields_of("JSONSchemaProps").items():
        if keyword not in schema:
            continue
        if keyword == "type" and schema["type"] != "object":
            detail = f'only "object" is allowed as the type {_AT_ROOT}'
            yield bad_value(f"{field}.type", schema["type"], detail)
            return
        if known.go not in _WITH_STATUS.split():
            detail = f"only [{_WITH_STATUS}] fields are allowed {_AT_ROOT}"
            yield bad_struct(field, Ref(struct="JSONSchemaProps"), schema, detail)
            return
