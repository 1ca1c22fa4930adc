"""Arguments of ``get`` in the notations of other tools, refused with the form to write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dynkube.discovery import ResourceLike
from dynkube.errors import InvalidInput, NoMatch
from dynkube.meta import GroupVersion
from dynkube.meta._gvr import is_version

_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")


@contextmanager
def other_notations(resource: ResourceLike, name: object) -> Iterator[None]:
    """Explain an apiVersion and a kind, or kubectl's TYPE/NAME, where ``get`` takes a resource and a name.

    ``"example.com/v1"`` may also be the resource ``example`` of the group ``com``, so it is refused only if there is no
    such resource.

    Args:
        resource: the resource as given to ``get``.
        name: the name as given to ``get``; ``None`` for a collection.

    Raises:
        InvalidInput: on entry for what cannot be a resource; on exit if the block raised NoMatch.
    """
    api_version = _api_version(resource)
    if api_version is None:
        _refuse_pair(resource)
    elif "." not in api_version.group:
        raise InvalidInput(_is_api_version(api_version, name))
    try:
        yield
    except NoMatch:
        if api_version is None:
            raise
        raise InvalidInput(_is_api_version(api_version, name)) from None


def _api_version(resource: ResourceLike) -> GroupVersion | None:
    """Return the resource as a group and version, if it has the form of an apiVersion."""
    if not isinstance(resource, str):
        return None
    try:
        found = GroupVersion.parse(resource.strip())
    except InvalidInput:
        return None
    return found if is_version(found.version) else None


def _is_api_version(given: GroupVersion, name: object) -> str:
    if not isinstance(name, str) or not _KIND.match(name):
        example = f"Website.{given.version}.{given.group}".rstrip(".")
        return f"resource {str(given)!r} is an apiVersion: add the kind or the plural, as in get({example!r})"
    form = f"{name}.{given.version}.{given.group}".rstrip(".")
    return (
        f"resource {str(given)!r} is an apiVersion, and {name!r} a kind or a plural: "
        f"use get({form!r}) for the collection, or get({form!r}, NAME) for one object"
    )


def _refuse_pair(resource: ResourceLike) -> None:
    """Reject kubectl's TYPE/NAME, which would be parsed as a malformed GROUP/VERSION/RESOURCE."""
    if isinstance(resource, str) and resource.count("/") == 1:
        kind, name = resource.split("/")
        if kind and name and not is_version(kind) and not is_version(name):
            raise InvalidInput(
                f"resource {resource!r} contains a slash: use get({kind!r}, {name!r}) for one object, "
                f"or {f'{name}.{kind}'!r} for a resource of a group"
            )
