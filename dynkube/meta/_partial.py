"""Read one field out of JSON without building the rest: what filters and indexes run on every object.

A msgspec decoder for nested one-field structs skips everything that is not on the way: a third of the
cost of decoding the body, and no garbage.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from dynkube.errors import InvalidObject
from dynkube.meta._json import UNREADABLE

# Names that JSON must escape; msgspec refuses them for fields, and Kubernetes has none.
_NOT_A_FIELD = re.compile(r'[\\"\x00-\x1f\ud800-\udfff]')


class Missing(enum.Enum):
    """The type of :data:`MISSING`."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING
"""What a reader returns where the path leads nowhere; ``None`` would be a JSON ``null`` found there."""


@lru_cache(maxsize=256)
def partial_reader(path: tuple[str, ...]) -> Callable[[bytes], object]:
    """A function that reads the value at ``path`` out of a JSON document.

    Args:
        path: the names of the members to follow, outermost first; the empty path is the whole document.

    Returns:
        A function of the document's bytes. It returns the decoded value, private to the caller, or
        :data:`MISSING` if a member on the way is absent or is no object. It is a plain function, safe to
        call from any thread, and raises :exc:`~dynkube.errors.InvalidObject` if the bytes are not JSON.
    """
    if any(map(_NOT_A_FIELD.search, path)):
        return lambda raw: _read_whole(raw, path)
    shape: Any = Any
    for name in reversed(path):
        # A step on the way may be null, as Kubernetes writes empty objects; anything else is rare.
        inner = shape if shape is Any else shape | None
        shape = msgspec.defstruct("Step", [("value", inner, MISSING)], rename={"value": name}, gc=False, frozen=True)
    decode = msgspec.json.Decoder(shape).decode
    depth = range(len(path))

    def read(raw: bytes) -> object:
        try:
            found: Any = decode(raw)
            for _ in depth:
                if found is None or found is MISSING:
                    return MISSING
                found = found.value
        except msgspec.ValidationError:
            return _read_whole(raw, path)
        except UNREADABLE as error:
            raise _not_json(error) from error
        return found

    return read


def _read_whole(raw: bytes, path: tuple[str, ...]) -> object:
    """The slow way, for a document that has a list or a scalar where the path asks for an object.

    Not simply :data:`MISSING`: of a member that occurs twice the last one counts.
    """
    try:
        found = msgspec.json.decode(raw)
    except UNREADABLE as error:
        raise _not_json(error) from error
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return MISSING
        found = found[name]
    return found


def _not_json(error: Exception) -> InvalidObject:
    return InvalidObject(f"the document is not JSON: {error}")
