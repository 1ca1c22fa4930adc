"""Validation of embedded objects (``x-kubernetes-embedded-resource``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.causes import bad_value, required
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.structural import Node, walk


def embedded_causes(value: Any, node: Node | None, path: str = "") -> Iterator[StatusCause]:
    """Yield the causes for invalid embedded objects in ``value`` with schema ``node``."""
    for part, schema, at in walk(value, node, path):
        if schema.embedded and isinstance(part, dict):
            yield from _object_causes(part, at)


def _object_causes(value: dict[str, Any], path: str) -> Iterator[StatusCause]:
    for name in ("apiVersion", "kind"):
        content, field = value.get(name), f"{path}.{name}"
        if name not in value:
            yield required(field)
        elif not isinstance(content, str):
            yield bad_value(field, content, "must be a string")
        elif not content:
            yield bad_value(field, content, "must not be empty")
        elif name == "apiVersion" and content.count("/") > 1:
            yield bad_value(field, content, f"unexpected GroupVersion string: {content}")
        elif name == "kind" and (problem := naming.dns1035_problem(content.lower())):
            detail = f"may have mixed case, but should otherwise match: {problem}"
            yield bad_value(field, content, detail)
    if isinstance(metadata := value.get("metadata"), dict):
        yield from _metadata_causes(metadata, f"{path}.metadata")


def _metadata_causes(metadata: dict[str, Any], path: str) -> Iterator[StatusCause]:
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if isinstance(name, str) and (problem := naming.path_segment_problem(name)):
        yield bad_value(f"{path}.name", name, problem)
    if isinstance(namespace, str) and namespace and (problem := naming.label_problem(namespace)):
        yield bad_value(f"{path}.namespace", namespace, problem)
    for key, value in _texts(metadata.get("labels")):
        if problem := naming.qualified_name_problem(key):
            yield bad_value(f"{path}.labels", key, problem)
        if problem := naming.label_value_problem(value):
            yield bad_value(f"{path}.labels", value, problem)
    for key, _ in _texts(metadata.get("annotations")):
        if problem := naming.qualified_name_problem(key.lower()):
            yield bad_value(f"{path}.annotations", key, problem)


def _texts(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((key, text) for key, text in value.items() if isinstance(text, str))
