"""The objects of a server as they are compared between runs: without what differs from run to run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynkube.errors import InvalidInput

if TYPE_CHECKING:
    from dynkube_testing._server import APIServer

#: Objects by ``PLURAL.GROUP NAMESPACE/NAME``.
Objects: TypeAlias = dict[str, dict[str, Any]]
#: Changes objects such that those are equal whose differences do not matter.
Adjust: TypeAlias = Callable[[list[dict[str, Any]]], Iterable[dict[str, Any]]]
#: Values by place: the name of the object, and the path in it.
Flat: TypeAlias = dict[str, object]

TOUCHED: Final = "perturbation.dynkube/touched"
_SERVER_SET: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"),
    "generateName",
)
#: Records of what programs do, and objects that the server writes by itself.
_LEFT_OUT: Final = frozenset(
    {
        *("events", "leases.coordination.k8s.io", "controllerrevisions.apps"),
        *("customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io"),
    }
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MISSING: Final = "(missing)"


def objects_of(server: APIServer) -> Objects:
    """Return all objects of a server."""
    found: Objects = {}
    kinds = {kind.storage_group: kind for kind in server._engine.registry}  # one of the versions of each resource
    for group, versions in server.snapshot().resources.items():
        if group not in _LEFT_OUT and group in kinds:
            for version in versions:
                found[f"{group} {version.namespace}/{version.name}"] = version.decode(kinds[group])
    return found


def adjusted(objects: Objects, adjust: Adjust) -> Objects:
    """Return the objects that ``adjust`` returns for a list of these, which it may change.

    Raises:
        InvalidInput: It returns something else than objects of these kinds, or two with the same name.
    """
    resources = {(obj["apiVersion"], obj["kind"]): name.partition(" ")[0] for name, obj in objects.items()}
    found: Objects = {}
    for obj in adjust([*objects.values()]):
        try:
            metadata, resource = obj["metadata"], resources[obj["apiVersion"], obj["kind"]]
            name = f"{resource} {metadata.get('namespace', '')}/{metadata['name']}"
        except (KeyError, TypeError):
            raise InvalidInput(f"normalize: its function returned {obj!r}: return objects that it was given") from None
        if name in found:
            raise InvalidInput(f"normalize: its function returned two objects {name}: leave one out, or rename it")
        found[name] = obj
    return found


def normalized(objects: Objects) -> Objects:
    """Return objects without UIDs, times and versions, and with generated names replaced.

    A generated name becomes its prefix and a number: objects with the same prefix are numbered in the order of their
    content. An owner is compared by kind and name, and by whether the object with its UID exists. Other UIDs, also in
    names, are replaced by what they belong to.
    """
    uids = {obj["metadata"].get("uid") for obj in objects.values()}
    marks = _uid_marks(objects)
    bare = {
        _UID.sub(lambda found: marks.get(found[0], found[0]), name): _without_uids(_bare(obj, uids), marks)
        for name, obj in objects.items()
    }
    renamed: dict[str, str] = {}
    for prefix, names in _generated(objects).items():
        for number, name in enumerate(sorted(names, key=lambda each: repr(_nameless(bare[each]))), 1):
            renamed[name] = f"{prefix}<{number}>"
    by_name = {old.partition("/")[2]: new.partition("/")[2] for old, new in renamed.items()}
    return {renamed.get(name, name): _replaced(obj, by_name) for name, obj in bare.items()}


def flattened(objects: Objects) -> Flat:
    """Return all scalars of objects, by place."""
    # A path has no spaces that are not escaped, so a place can be split at its last space.
    return {f"{name} {path}": value for name, obj in objects.items() for path, value in _scalars(obj, "")}


def differences(found: Flat, expected: Flat, masked: frozenset[str] = frozenset()) -> list[str]:
    """Return a line for each place where two states differ; places that are masked are ignored.

    An object that only one of them has is one line.
    """
    ours, theirs = ({_object(place) for place in state} for state in (found, expected))
    hidden = {_object(place) for place in masked if place.endswith(" .kind")}
    lines = [f"{name} is missing" for name in sorted(theirs - ours - hidden)]
    lines += [f"{name} exists, unexpectedly" for name in sorted(ours - theirs - hidden)]
    for place in sorted(found.keys() | expected.keys()):
        if _object(place) in ours & theirs and place not in masked:
            ours_there, theirs_there = found.get(place, _MISSING), expected.get(place, _MISSING)
            if ours_there != theirs_there:
                lines.append(f"{place}: {_shown(ours_there)}, expected {_shown(theirs_there)}")
    return lines


def varying(states: list[Flat]) -> frozenset[str]:
    """Return the places that differ between runs without perturbations."""
    places = {place for state in states for place in state}
    return frozenset(place for place in places if len({repr(state.get(place, _MISSING)) for state in states}) > 1)


def _object(place: str) -> str:
    """Return the name of the object that a place is in."""
    return place.rpartition(" ")[0]


def _shown(value: object) -> str:
    return _MISSING if value is _MISSING else repr(value)


def _uid_marks(objects: Objects) -> dict[str, str]:
    """Return what replaces the UIDs of objects: like ``<uid of pods/default/web>``, without the spaces."""
    marks: dict[str, str] = {}
    for name, obj in objects.items():
        metadata = obj["metadata"]
        generated = metadata.get("generateName")
        shown = f"{name.partition('/')[0]}/{generated}" if generated else name
        marks[metadata.get("uid", "")] = f"<uid-of-{shown.replace(' ', '/')}>"
    return marks


def _without_uids(value: Any, marks: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {name: _without_uids(each, marks) for name, each in value.items()}
        case list():
            return [_without_uids(each, marks) for each in value]
        case str():
            return _UID.sub(lambda found: marks.get(found[0], "<uid>"), value)
    return value


def _bare(obj: Mapping[str, Any], uids: set[object]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _SERVER_SET}
    metadata["deleting"] = "deletionTimestamp" in obj["metadata"]
    if owners := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [
            {**{name: value for name, value in owner.items() if name != "uid"}, "exists": owner.get("uid") in uids}
            for owner in owners
        ]
    annotations = {name: value for name, value in (metadata.pop("annotations", None) or {}).items() if name != TOUCHED}
    if annotations:
        metadata["annotations"] = annotations
    bare: dict[str, Any] = _without_times({**obj, "metadata": metadata})
    return bare


def _without_times(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_times(each) for name, each in value.items() if name != "observedGeneration"}
        case list():
            return [_without_times(each) for each in value]
        case str() if _TIME.match(value):
            return "(a time)"
    return value


def _generated(objects: Objects) -> dict[str, list[str]]:
    """Return the names of objects whose names were generated, by what they have in common."""
    found: dict[str, list[str]] = {}
    for name, obj in objects.items():
        prefix = obj["metadata"].get("generateName")
        if prefix and obj["metadata"]["name"].startswith(prefix):
            found.setdefault(f"{name.partition('/')[0]}/{prefix}", []).append(name)
    return found


def _nameless(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "name": ""}}


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {name: _replaced(each, names) for name, each in value.items()}
        case list():
            return [_replaced(each, names) for each in value]
        case str():
            return names.get(value, value)
    return value


def _scalars(value: object, path: str) -> Iterator[tuple[str, object]]:
    match value:
        case dict() if value:
            for name, each in value.items():
                yield from _scalars(each, f"{path}.{str(name).replace(' ', '%20')}")
        case list() if value:
            for number, each in enumerate(value):
                yield from _scalars(each, f"{path}[{number}]")
        case _:
            yield path, value
