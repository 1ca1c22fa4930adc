"""Causes of a 422: what is wrong with one field, with the messages of a real server."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dynkube.errors import StatusCause


def required(field: str, detail: str = "") -> StatusCause:
    """Return the cause for a missing required field."""
    return StatusCause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def bad_value(field: str, value: object, detail: str) -> StatusCause:
    """Return the cause for an invalid value of a field."""
    return StatusCause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def not_supported(field: str, value: object, supported: Sequence[str]) -> StatusCause:
    """Return the cause for a value that is not one of ``supported``."""
    listed = ", ".join(f'"{item}"' for item in supported)
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return StatusCause(field, "FieldValueNotSupported", text)


def not_allowed(field: str, detail: str) -> StatusCause:
    """Return the cause for a field that must not be set, or not to this value."""
    return StatusCause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def too_long(field: str, detail: str) -> StatusCause:
    """Return the cause for a value that is too long."""
    return StatusCause(field, "FieldValueTooLong", f"Too long: {detail}")


def duplicate(field: str, value: object) -> StatusCause:
    """Return the cause for a duplicate entry in a list."""
    return StatusCause(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def shown(value: object) -> str:
    """Format a value as JSON, with keys in their order."""
    return msgspec.json.encode(value).decode()
