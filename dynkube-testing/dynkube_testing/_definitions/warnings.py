"""Warnings about formats in a CRD that the server does not check."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.formats import checked_format


def definition_warnings(definition: JSONObject, old: JSONObject | None) -> list[str]:
    """Return the warnings for ``definition``; on an update, only for new formats."""
    before = set(_formats(old)) if old is not None else set()
    return [f'unrecognized format "{name}"' for name in dict.fromkeys(_formats(definition)) if name not in before]


def _formats(definition: JSONObject) -> Iterator[str]:
    for version in definition["spec"]["versions"] or ():
        if (schema := (version.get("schema") or {}).get("openAPIV3Schema")) is not None:
            yield from _unchecked(schema)


def _unchecked(schema: JSONObject) -> Iterator[str]:
    name, kind = schema.get("format", ""), schema.get("type", "")
    if name and not checked_format(name, (kind,)):
        yield name
    below = [schema.get("items"), *(branch for key in ("allOf", "anyOf", "oneOf") for branch in schema.get(key, ()))]
    below += [schema.get("not"), *schema.get("properties", {}).values(), schema.get("additionalProperties")]
    for part in below:
        if isinstance(part, dict):
            yield from _unchecked(part)
