"""A summary of a CustomResourceDefinition: the kind it defines, and its versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dynkube._display.cards import Line, Span, Tone, line, muted
from dynkube._display.health import mapping
from dynkube._display.values import inline
from dynkube._text.words import short

_MOST: Final = 20


def definition_facts(obj: Mapping[str, Any]) -> Iterator[tuple[str, Line]]:
    """Yield the facts about a CRD; nothing for any other object."""
    api_version = obj.get("apiVersion")
    if obj.get("kind") != "CustomResourceDefinition" or not str(api_version).startswith("apiextensions.k8s.io/"):
        return
    spec = mapping(obj, "spec")
    names = mapping(spec, "names")
    scope = {"Namespaced": "in namespaces", "Cluster": "cluster-wide"}.get(str(spec.get("scope")), "")
    group = inline(spec.get("group"), 120)
    plural = inline(names.get("plural"), 80)
    yield (
        "defines",
        line(
            Span(inline(names.get("kind"), 80), Tone.STRONG),
            muted(f"  {plural}.{group}" if plural else ""),
            muted(f"  {scope}"),
        ),
    )
    yield "short", line(_joined(names.get("shortNames")))
    yield "categories", line(_joined(names.get("categories")))
    yield "versions", definition_versions(obj)
    yield "columns", line(_columns(spec.get("versions")))


def definition_versions(obj: Mapping[str, Any]) -> Line:
    """Return the versions of a CRD: stored, deprecated, not served, subresources."""
    return tuple(_versions(mapping(obj, "spec").get("versions")))


def _versions(versions: object) -> Iterator[Span]:
    for number, version in enumerate(_maps(versions)):
        if number:
            yield Span(", ")
        is_served = version.get("served") is True
        remarks = [
            "stored" if version.get("storage") is True else "",
            "deprecated" if version.get("deprecated") is True else "",
            "" if is_served else "not served",
            *(name for name in ("status", "scale") if name in mapping(version, "subresources")),
        ]
        notes = ", ".join(filter(None, remarks))
        yield Span(inline(version.get("name"), 60), Tone.PLAIN if is_served else Tone.MUTED)
        if notes:
            yield muted(f" ({notes})")


def _columns(versions: object) -> str:
    """Return the names of the printer columns of the storage version."""
    stored = next((version for version in _maps(versions) if version.get("storage") is True), {})
    names = [inline(column.get("name"), 60) for column in _maps(stored.get("additionalPrinterColumns"))]
    return short(", ".join(names), 300)


def _maps(value: object) -> list[Mapping[str, Any]]:
    found = value[:_MOST] if isinstance(value, list | tuple) else ()
    return [each for each in found if isinstance(each, Mapping)]


def _joined(value: object) -> str:
    found = value[:_MOST] if isinstance(value, list | tuple) else ()
    return short(", ".join(inline(each, 60) for each in found), 300)
