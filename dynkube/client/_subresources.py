"""What is known of subresources by their names. Pure."""

from __future__ import annotations

from dynkube.errors import InvalidInput

# The subresources that are a part of the object itself; others answer objects of their own kinds.
_SAME_KIND = frozenset({"status", "ephemeralcontainers", "resize"})


def shows_whole_object(subresource: str | None) -> bool:
    """Whether it takes and answers the object itself, as ``status`` does, and not one of a kind of its own."""
    return subresource is None or subresource in _SAME_KIND


def check_subresource(name: object) -> None:
    """Refuse what is no name of a subresource.

    Raises:
        InvalidInput: it is empty, or a path.
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise InvalidInput(f"subresource {name!r} is not the name of one, like 'status' or 'scale'")
