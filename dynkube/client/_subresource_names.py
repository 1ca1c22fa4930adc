"""Properties of subresources that follow from their names. Pure."""

from __future__ import annotations

from dynkube.errors import InvalidInput

# Subresources that are part of the object itself; others have kinds of their own.
_SAME_KIND = frozenset({"status", "ephemeralcontainers", "resize"})


def shows_whole_object(subresource: str | None) -> bool:
    """Whether a subresource takes and returns the object itself, like ``status``.

    Other subresources have a kind of their own. ``None`` means the object, so the result is true.
    """
    return subresource is None or subresource in _SAME_KIND


def check_subresource(name: object) -> None:
    """Reject invalid names of subresources.

    Raises:
        InvalidInput: the name is empty, or has a slash.
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise InvalidInput(f"invalid subresource {name!r}: pass a name like 'status' or 'scale'")
