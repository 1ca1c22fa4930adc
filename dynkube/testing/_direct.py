"""Plain verbs on an engine, for tests and scripts that prepare or check what the server holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from dynkube.errors import AlreadyExists, InvalidInput, NoMatch
from dynkube.meta import GVR, ResourceArg, version_priority
from dynkube.testing._calls.api import APPLY_PATCH, Call, JSONObject, Verb
from dynkube.testing._engine import Engine
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._wire import yaml

Manifest: TypeAlias = Mapping[str, object] | str
Objects: TypeAlias = list[JSONObject]

# What others need goes in first, whatever the order of the files.
_FIRST = ("Namespace", "CustomResourceDefinition")


class DirectAccess:
    """Plain functions over ``engine``: the same validation and the same history as requests have, and no HTTP.

    Objects are mappings, or YAML (or JSON) text with one document. Resources are named as kubectl names them
    (``"pods"``, ``"deploy"``, ``"httproutes.gateway.networking.k8s.io"``) or by GVR. Every function raises what the
    server would answer (:class:`~dynkube.errors.APIError`), :class:`~dynkube.errors.InvalidInput` for an argument
    that makes no request, and :class:`~dynkube.errors.NoMatch` for a resource that is not served now.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(self, obj: Manifest) -> JSONObject:
        """Create ``obj`` and return what was stored. A namespaced object without a namespace goes to ``default``."""
        body = _mapping(obj)
        kind = self._kind_of(body)
        return self._call("create", kind, namespace=_namespace(kind, body), body=body)

    def update(self, obj: Manifest, *, subresource: str = "") -> JSONObject:
        """Replace an object (or its ``status``), checking ``metadata.resourceVersion`` where ``obj`` has one."""
        body = _mapping(obj)
        kind = self._kind_of(body)
        namespace, name = _namespace(kind, body), _name(body)
        return self._call("update", kind, namespace=namespace, name=name, subresource=subresource, body=body)

    def apply(self, obj: Manifest, *, field_manager: str = "dynkube-testing", force: bool = True) -> JSONObject:
        """Server-side apply ``obj``: create it, or merge it into what is there."""
        body = _mapping(obj)
        kind = self._kind_of(body)
        return self._call(
            "patch",
            kind,
            namespace=_namespace(kind, body),
            name=_name(body),
            body=body,
            content_type=APPLY_PATCH,
            params={"fieldManager": field_manager, "force": str(force).lower()},
        )

    def get(self, resource: str | GVR, name: str, namespace: str | None = None) -> JSONObject:
        """One object. ``namespace=None`` means ``default`` for namespaced resources."""
        kind = self.kind(resource)
        return self._call("get", kind, namespace=_place(kind, namespace), name=name)

    def list(
        self,
        resource: str | GVR,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Objects:
        """The objects of a resource. ``namespace=None`` means all namespaces."""
        kind = self.kind(resource)
        params = {"labelSelector": label_selector, "fieldSelector": field_selector}
        answer = self._call("list", kind, namespace=namespace or "", params={k: v for k, v in params.items() if v})
        # Objects inside a list carry no apiVersion and kind where the server leaves them out; callers want them.
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in answer["items"]]

    def delete(self, resource: str | GVR, name: str, namespace: str | None = None) -> JSONObject:
        """Delete an object and return what the server answers: a Status, or the object where finalizers hold it."""
        kind = self.kind(resource)
        return self._call("delete", kind, namespace=_place(kind, namespace), name=name)

    def load(self, path: str | os.PathLike[str]) -> Objects:
        """Create everything in a YAML or JSON file, or in all such files below a directory, in sorted order.

        Namespaces and CustomResourceDefinitions go in before the rest; objects that are there already are
        replaced. Blocks on the file system.

        Raises:
            OSError: The path does not exist or cannot be read.
            InvalidInput: A file is not YAML; the message names the file, line and column.
        """
        documents = [document for file in _manifest_files(Path(path)) for document in _documents(file)]
        documents.sort(key=lambda body: body.get("kind") not in _FIRST)
        return [self._create_or_replace(body) for body in documents]

    def kind(self, resource: str | GVR) -> Kind:
        """What ``resource`` means now: by plural, singular, short name or kind, with or without version and group.

        Raises:
            NoMatch: The server does not serve it.
            InvalidInput: It is no resource name.
        """
        arg = ResourceArg(resource.resource, resource.version, resource.group) if isinstance(resource, GVR) else None
        arg = arg or ResourceArg.parse(str(resource))
        matches = [kind for kind in self._engine.registry if _matches(kind, arg)]
        if not matches:
            raise NoMatch(f"the embedded server does not serve {str(resource)!r} now")
        # The registry's order is the groups' order, and sorting is stable: the best version of the first group.
        group = matches[0].gvr.group
        return min((m for m in matches if m.gvr.group == group), key=lambda m: version_priority(m.gvr.version))

    def _create_or_replace(self, body: JSONObject) -> JSONObject:
        try:
            return self.create(body)
        except AlreadyExists:
            metadata = {**body["metadata"]}
            metadata.pop("resourceVersion", None)
            return self.update({**body, "metadata": metadata})

    def _kind_of(self, body: JSONObject) -> Kind:
        api_version, kind_name = body.get("apiVersion"), body.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind_name, str):
            raise InvalidInput(f"the object needs apiVersion and kind as text, and has {api_version!r}, {kind_name!r}")
        kind = self._engine.registry.find(api_version, kind_name)
        if kind is None:
            raise NoMatch(f"the embedded server does not serve {api_version} {kind_name} now")
        return kind

    def _call(
        self,
        verb: Verb,
        kind: Kind,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
    ) -> JSONObject:
        call = Call(
            verb=verb,
            kind=kind,
            namespace=namespace,
            name=name,
            subresource=subresource,
            params=params or {},
            body=body,
            content_type=content_type,
            user_agent="dynkube-testing",
        )
        return self._engine.handle(call).document.data


def _mapping(obj: Manifest) -> JSONObject:
    if isinstance(obj, str):
        try:
            obj = yaml.load_document(obj)  # type: ignore[assignment]  # checked on the next line
        except ValueError as error:
            raise InvalidInput(f"the object is not YAML: {error}") from None
    if not isinstance(obj, Mapping):
        raise InvalidInput(f"the object is a {type(obj).__name__}, not a mapping with apiVersion, kind and metadata")
    return dict(obj)


def _metadata(body: JSONObject) -> Mapping[str, object]:
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _name(body: JSONObject) -> str:
    name = _metadata(body).get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput("the object needs metadata.name")
    return name


def _namespace(kind: Kind, body: JSONObject) -> str:
    namespace = _metadata(body).get("namespace")
    return _place(kind, namespace if isinstance(namespace, str) and namespace else None)


def _place(kind: Kind, namespace: str | None) -> str:
    return (namespace or "default") if kind.namespaced else ""


def _matches(kind: Kind, arg: ResourceArg) -> bool:
    names = {kind.gvr.resource, kind.singular, kind.kind, kind.kind.lower(), *kind.short_names}
    return (
        arg.name in names
        and arg.version in {None, kind.gvr.version}
        and (arg.group is None or arg.group == kind.gvr.group)
    )


def _manifest_files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return (path,)
    return sorted(file for file in path.rglob("*") if file.suffix in {".yaml", ".yml", ".json"} and file.is_file())


def _documents(file: Path) -> list[JSONObject]:
    try:
        documents = list(yaml.load_documents(file.read_bytes()))
    except ValueError as error:
        raise InvalidInput(f"{file}: {error}") from None
    for document in documents:
        if not isinstance(document, dict):
            raise InvalidInput(f"{file}: a document is a {type(document).__name__}, not a Kubernetes object")
    return [body for document in documents for body in _flatten(document)]


def _flatten(document: object) -> Iterable[JSONObject]:
    """The objects of a document: itself, or the items of a ``kind: List``."""
    assert isinstance(document, dict)
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        return [item for item in document["items"] if isinstance(item, dict)]
    return [document]
