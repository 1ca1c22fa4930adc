"""Small changes of one object: its replicas by the scale subresource, its labels and annotations.

Without a precondition each is one patch. With one, the object is read first and the write is conditional on what was
read; after a concurrent write, also of the status, this is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from dynkube.client._deadline import Deadline
from dynkube.client._options import GetOptions, WriteOptions
from dynkube.client._requests import read, write
from dynkube.client._target import Target
from dynkube.errors import Conflict, InvalidInput, InvalidObject, NotFound, PreconditionFailed
from dynkube.meta import PatchType, Unstructured
from dynkube.meta._arguments import a_type, brief
from dynkube.meta._encode import encode_json
from dynkube.meta._names import label_key_problem, label_value_problem

_ATTEMPTS: Final = 5
_ALWAYS_CHANGED: Final = frozenset({"kubernetes.io/change-cause"})  # by kubectl as well
Texts = Literal["labels", "annotations"]


async def scale(
    target: Target, name: str, replicas: int, current: int | None, namespace: str | None, options: WriteOptions
) -> Unstructured:
    """Set the replicas of an object by its scale subresource."""
    for argument, number in (("replicas", replicas), ("current", current)):
        _check_count(argument, number)
    try:
        if current is None:
            patch = {"spec": {"replicas": replicas}}
            return await write.patch(target, name, patch, PatchType.MERGE, namespace, options, subresource="scale")
        return await _scale_from(target, name, replicas, current, namespace, options)
    except NotFound as exc:
        resource = await target.resolve(options.timeout)
        if "scale" in resource.subresources:
            raise
        raise InvalidInput(
            f"{resource} have no scale subresource: scale an object that has one, or patch the field that holds the "
            "number of replicas"
        ) from exc


async def _scale_from(
    target: Target, name: str, replicas: int, current: int, namespace: str | None, options: WriteOptions
) -> Unstructured:
    deadline = Deadline.after(options.timeout)
    attempts = _ATTEMPTS
    while True:
        reading = GetOptions(resource_version=None, timeout=deadline.left())
        live = await read.get(target, name, namespace, reading, subresource="scale")
        found = _replicas(live)
        if found != current:
            raise PreconditionFailed(f"{target.spec} {name!r} has {found} replicas, not {current}: it was not scaled")
        scaled = live.transform(["spec", "replicas"], replicas)
        attempts -= 1
        try:
            return await write.send_body(
                target,
                "PUT",
                scaled.json,
                replace(options, timeout=deadline.left()),
                lambda found: target.path(found, name, namespace, subresource="scale"),
            )
        except Conflict:
            if not attempts:
                raise


def _replicas(scale: Unstructured) -> int:
    spec = scale.get("spec")
    found = spec.get("replicas", 0) if isinstance(spec, Mapping) else 0  # 0 is omitted
    if not isinstance(found, int):
        raise InvalidObject(f"{scale!r} has spec.replicas {brief(found)}, which is not a number")
    return found


async def set_texts(
    target: Target,
    name: str,
    field: Texts,
    texts: Mapping[str, str | None],
    namespace: str | None,
    options: WriteOptions,
    *,
    overwrite: bool,
) -> Unstructured:
    """Add, change and remove labels or annotations of an object."""
    wanted = checked_texts(field, texts)
    patch: dict[str, Any] = {"metadata": {field: wanted}}
    if overwrite:
        return await write.patch(target, name, patch, PatchType.MERGE, namespace, options)
    deadline = Deadline.after(options.timeout)
    attempts = _ATTEMPTS
    while True:
        live = await read.get(target, name, namespace, GetOptions(timeout=deadline.left()))
        now = live.labels if field == "labels" else live.annotations
        _check_new(target, name, field, wanted, now)
        if all(now.get(key) == text for key, text in wanted.items()):
            return live
        patch["metadata"]["resourceVersion"] = live.resource_version
        attempts -= 1
        try:
            left = replace(options, timeout=deadline.left())
            return await write.patch(target, name, encode_json(patch), PatchType.MERGE, namespace, left)
        except Conflict:
            if not attempts:
                raise


def checked_texts(field: Texts, texts: object) -> dict[str, str | None]:
    """Return valid labels or annotations, and the keys to remove with ``None``.

    Raises:
        InvalidInput: not a mapping of keys to strings or ``None``, empty, or a key or value that the server rejects.
    """
    what = field.removesuffix("s")
    if not isinstance(texts, Mapping) or not texts:
        raise InvalidInput(f"{field} is {brief(texts)}: pass a dict like {{'tier': 'web', 'old': None}}")
    for key, text in texts.items():
        if not isinstance(key, str):
            raise InvalidInput(f"the {what} key {key!r} is {a_type(key)}: pass a string")
        if problem := label_key_problem(key if field == "labels" else key.lower()):
            raise InvalidInput(f"the {what} key {key!r} {problem}")
        if text is not None and not isinstance(text, str):
            raise InvalidInput(
                f"the value of the {what} {key!r} is {a_type(text)}: pass a string, or None to remove it"
            )
        if field == "labels" and text is not None and (problem := label_value_problem(text)):
            raise InvalidInput(f"the value {text!r} of the label {key!r} {problem}")
    return dict(texts)


def _check_new(
    target: Target, name: str, field: Texts, wanted: Mapping[str, str | None], now: Mapping[str, str]
) -> None:
    """Refuse to change a value that is there already."""
    taken = [
        f"{key}={now[key]}"
        for key, text in wanted.items()
        if text is not None and now.get(key, text) != text and not (field == "annotations" and key in _ALWAYS_CHANGED)
    ]
    if taken:
        raise PreconditionFailed(
            f"{target.spec} {name!r} already has other values of these {field}: {', '.join(taken)}; pass "
            "overwrite=True to change them"
        )


def _check_count(argument: str, number: object) -> None:
    if number is None and argument == "current":
        return
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InvalidInput(f"{argument} is {brief(number)}: pass a number of replicas >= 0")
