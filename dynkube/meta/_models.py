"""Objects as models of the user's, and back: msgspec Structs, and pydantic models.

A Struct is decoded and encoded by msgspec, a pydantic model by its own methods, by which it is recognized: pydantic is
never imported here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.meta._encode import json_of
from dynkube.meta._json import UNREADABLE, complaint

T = TypeVar("T")

_SHOWN: Final = 5  # complaints of pydantic about one object


@runtime_checkable
class PydanticModel(Protocol):
    """The part of a pydantic model that writing an object needs."""

    def model_dump(self, *, mode: str, by_alias: bool | None, exclude_none: bool) -> dict[str, Any]:
        """Return the model as a dict of JSON values."""
        ...


ModelLike: TypeAlias = msgspec.Struct | PydanticModel
"""An object as a model: an instance of a msgspec Struct, or of a pydantic model."""


def decode_model(raw: bytes, model: type[T], called: str) -> T:
    """Decode an object as a model.

    Args:
        raw: the object as JSON.
        model: a msgspec Struct, or a pydantic model.
        called: description of the object, for the error message.

    Raises:
        InvalidInput: ``model`` is neither.
        InvalidObject: the object does not fit; the message has the path, what was found, and what was expected.
    """
    given: object = model  # callers are not always type-checked
    if not inspect.isclass(given):
        raise InvalidInput(f"{given!r} is not a class: pass a msgspec.Struct, or a pydantic model")
    if issubclass(given, msgspec.Struct) and not issubclass(given, Mapping):  # a Mapping is an Unstructured
        try:
            return msgspec.json.decode(raw, type=model)
        except UNREADABLE as exc:
            raise InvalidObject(f"{called} is not a {given.__name__}: {complaint(exc)}") from exc
    validate = getattr(given, "model_validate_json", None)
    if validate is None:
        raise InvalidInput(f"{given.__qualname__} is not a model: pass a msgspec.Struct, or a pydantic model")
    try:
        return cast("T", validate(raw))
    except ValueError as exc:
        if not hasattr(exc, "errors"):
            raise
        raise InvalidObject(f"{called} is not a {given.__name__}: {_complaints(exc.errors())}") from exc


def encode_model(model: ModelLike) -> bytes:
    """Encode a model as JSON.

    What is not set is left out: a field with ``msgspec.UNSET``, a field of a Struct that is ``None`` by default and
    still is, and a field of a pydantic model that is ``None``.

    Raises:
        InvalidObject: a part of it is not JSON.
    """
    called = f"the {type(model).__name__}"
    if isinstance(model, msgspec.Struct):
        try:
            return json_of(_built_in(model), called)
        except (TypeError, ValueError, RecursionError) as exc:
            if isinstance(exc, InvalidObject):
                raise
            raise InvalidObject(f"{called} cannot be written as JSON: {exc}") from exc
    try:
        document = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidObject(f"{called} cannot be written as JSON: {exc}") from exc
    return json_of(document, called)


def _built_in(value: object) -> object:
    """Return a value as dicts, lists and scalars, without the fields of Structs that are not set."""
    if isinstance(value, msgspec.Struct) and not value.__struct_config__.array_like:
        config = value.__struct_config__
        found: dict[str, object] = {} if config.tag_field is None else {config.tag_field: config.tag}
        for field in msgspec.structs.fields(value):
            part = getattr(value, field.name)
            if part is not msgspec.UNSET and not (part is None and field.default is None):
                found[field.encode_name] = _built_in(part)
        return found
    if isinstance(value, Mapping):
        return {name: _built_in(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_built_in(part) for part in value]
    return msgspec.to_builtins(value)


def _complaints(errors: list[dict[str, Any]]) -> str:
    texts = [f"{_path(error['loc']) or 'it'}: {error['msg']}" for error in errors[:_SHOWN]]
    more = len(errors) - len(texts)
    return "; ".join([*texts, f"and {more} more"] if more > 0 else texts)


def _path(steps: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
