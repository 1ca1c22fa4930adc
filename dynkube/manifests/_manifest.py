"""Convert documents to objects. Pure.

Expand lists, keep locations, and mark objects that cannot be applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dynkube.errors import DynkubeError, InvalidInput, InvalidObject
from dynkube.manifests._applyset import ApplySet
from dynkube.manifests._documents import Document
from dynkube.manifests._location import Place
from dynkube.meta import GVK, Unstructured
from dynkube.meta._arguments import a_type
from dynkube.meta._encode import json_of

_MAX_LISTS = 10  # maximum nesting of lists; one is usual, and tools that wrap the output of other tools produce two

Identity = tuple[str, str, str, str]
"""Group, kind, namespace and name: identifies an object independently of the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One object of a source, or an element that is not a valid object.

    Attributes:
        place: its location.
        object: the object; ``None`` if it could not be read.
        error: why it cannot be applied, as far as this is known without a server.
        same_as: location of an earlier identical object, which is applied instead of this one.
    """

    place: Place
    object: Unstructured | None = None
    error: DynkubeError | None = None
    same_as: Place | None = None

    @property
    def gvk(self) -> GVK:
        """The object's kind."""
        return self.checked.gvk

    @property
    def checked(self) -> Unstructured:
        """The object, if the manifest has no error."""
        assert self.object is not None, "the manifest has no object"
        return self.object


def from_document(document: Document, lists: int = 0) -> Iterator[Manifest]:
    """Yield the objects of one document; for a ``List`` its items.

    Args:
        document: the document.
        lists: number of enclosing lists.
    """
    if document.error is not None:
        yield Manifest(place=document.place, error=document.error)
        return
    data = document.data
    if isinstance(data, Mapping) and _is_list(data):
        if lists < _MAX_LISTS:
            yield from _unfold(data, document, lists + 1)
        else:
            error = InvalidObject(f"it is a List nested in {_MAX_LISTS} others: put its items into one List")
            yield Manifest(place=document.place, error=error)
    else:
        yield from_data(data, document.place)


def from_data(data: object, place: Place) -> Manifest:
    """Return the manifest of one object, parsed or passed by the caller."""
    if not isinstance(data, Mapping):
        what = a_type(data) if data is not None else "empty"
        return Manifest(
            place=place, error=InvalidObject(f"it is {what}, not a Kubernetes object with apiVersion and kind")
        )
    try:
        obj = data if isinstance(data, Unstructured) else Unstructured(json_of(dict(data), "it"))
    except InvalidObject as error:
        return Manifest(place=place, error=error)
    return Manifest(place=place, object=obj, error=_problem(obj))


def _is_list(data: Mapping[str, object]) -> bool:
    """Whether ``data`` is a list of objects.

    For kubectl any object with ``items`` is a list. Here its kind must end in ``List``, and unless it is core's own
    ``List`` it must not have a name. Lists never have names, but a custom resource of a kind ShoppingList has one.
    """
    kind, items, metadata = data.get("kind"), data.get("items", ...), data.get("metadata")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return False
    if kind == "List" and data.get("apiVersion", "v1") == "v1":
        return items is None or isinstance(items, list)  # templates render empty lists as null
    return isinstance(items, list) and not (isinstance(metadata, Mapping) and metadata.get("name"))


def _unfold(data: Mapping[str, object], document: Document, lists: int) -> Iterator[Manifest]:
    kind, items, lines = data["kind"], data["items"] or [], document.item_lines
    assert isinstance(kind, str)
    assert isinstance(items, list)
    # The items of a typed list may omit apiVersion and kind.
    common = {} if kind == "List" else {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
    shared, outer = Counter(lines), f"{document.place.part}." if document.place.part else ""
    for index, item in enumerate(items):
        line = lines[index] if index < len(lines) else None
        alone = line is not None and shared[line] == 1
        place = replace(
            document.place,
            line=document.place.line if line is None else line,
            part="" if alone else f"{outer}items[{index}]",
        )
        body = {**common, **item} if isinstance(item, Mapping) else item
        yield from from_document(Document(place, body), lists)


def _problem(obj: Unstructured) -> DynkubeError | None:
    """Return why the object cannot be applied."""
    for name, value in (("apiVersion", obj.api_version), ("kind", obj.kind)):
        if not value:
            return InvalidObject(f"it has no {name}: add it, the server requires it")
    try:
        _ = obj.gvk
        metadata = obj.get("metadata")
    except InvalidInput as error:  # or its subclass InvalidObject, if the body is malformed
        return error
    if obj.name:
        return None
    if isinstance(metadata, Mapping) and metadata.get("generateName"):
        return InvalidObject(
            "it has metadata.generateName and no metadata.name: add metadata.name, an apply requires it"
        )
    return InvalidObject("it has no metadata.name: add it, it identifies the object")


def without_namespace(obj: Unstructured) -> Unstructured:
    """Return an object of a cluster-scoped kind without ``metadata.namespace``."""
    return obj.evolve(metadata={name: value for name, value in obj["metadata"].items() if name != "namespace"})


def identity(manifest: Manifest, namespace: str) -> Identity:
    """Return the identity of an object; ``namespace`` is used if it has none."""
    obj = manifest.checked
    return manifest.gvk.group, obj.kind, obj.namespace or namespace, obj.name


def check_not_empty(manifests: Sequence[Manifest], prune: ApplySet | None) -> None:
    """Reject pruning with an empty source, which would delete all members.

    Raises:
        InvalidInput: the source is empty.
    """
    if prune is not None and not manifests:
        raise InvalidInput(
            "source has no objects, so all members of the ApplySet would be pruned: delete them, if that is intended"
        )


def refuse_contradictions(manifests: Iterable[Manifest], namespace: str) -> list[Manifest]:
    """Mark objects that occur more than once.

    If all occurrences are identical, the first one is applied and the others refer to it. If they differ, each gets an
    error that lists the others, as it would be arbitrary which one is applied last.
    """
    manifests = list(manifests)
    places: dict[Identity, list[int]] = {}
    for index, manifest in enumerate(manifests):
        if manifest.error is None:
            places.setdefault(identity(manifest, namespace), []).append(index)
    for indexes in places.values():
        first = manifests[indexes[0]]
        if all(manifests[index].object == first.object for index in indexes[1:]):
            for index in indexes[1:]:
                manifests[index] = replace(manifests[index], same_as=first.place)
            continue
        all_places = [manifests[index].place for index in indexes]
        for index in indexes:
            others = ", ".join(str(place) for place in all_places if place != manifests[index].place)
            error = InvalidObject(f"the same object is defined at {others} with other content: keep one of them")
            manifests[index] = replace(manifests[index], error=error)
    return manifests
