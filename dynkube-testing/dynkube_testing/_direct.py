"""Direct access to an engine's objects, for test setup and assertions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from dynkube.errors import AlreadyExists, APIError, InvalidInput, NoMatch
from dynkube.meta import GVR, ResourceArg
from dynkube.meta._arguments import a_type
from dynkube.meta._gvr import version_priority
from dynkube.meta._shape import check_shape
from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.api import APPLY_PATCH, Call, JSONObject, Result, Verb
from dynkube_testing._calls.nesting import MAX_DEPTH
from dynkube_testing._definitions.crds import DEFINITIONS
from dynkube_testing._engine import Engine
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._manifests import Manifest as LoadedManifest
from dynkube_testing._manifests import Source, read_manifests
from dynkube_testing._verbs.namespaces import NAMESPACES

Manifest: TypeAlias = Mapping[str, object] | str
Objects: TypeAlias = list[JSONObject]

# Storage groups whose status is written by this server's own controllers; load() ignores the status of their objects.
_OWN_STATUS = (NAMESPACES, DEFINITIONS)


class DirectAccess:
    """Methods that read and write the objects of ``engine`` without HTTP.

    Objects are validated and get resourceVersions as in HTTP requests. They are passed as mappings, or as YAML or JSON
    strings with one document. Resources are named as in kubectl (``"pods"``, ``"deploy"``,
    ``"httproutes.gateway.networking.k8s.io"``) or by GVR.

    They act as the administrator. Admission plugins and policies apply, but webhooks are not called, since that needs
    an event loop.

    Every method raises :class:`~dynkube.errors.APIError` if the server responds with an error,
    :class:`~dynkube.errors.InvalidInput` for a malformed argument, and :class:`~dynkube.errors.NoMatch` for a resource
    that is not currently served.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._observers: list[Callable[[Call], None]] = []

    @contextmanager
    def _observed(self, observer: Callable[[Call], None]) -> Iterator[None]:
        """Inside the block, call ``observer`` with each call of these methods that has succeeded."""
        self._observers.append(observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def create(self, obj: Manifest) -> JSONObject:
        """Create ``obj`` and return the stored object.

        A namespaced object without a namespace is created in ``default``.

        Raises:
            APIError: The server responds with an error.
            InvalidInput: ``obj`` is malformed.
            NoMatch: The kind is not served.
        """
        body = _mapping(obj)
        kind = self._kind_of(body)
        return self._call("create", kind, namespace=_namespace(kind, body), body=body)

    def update(self, obj: Manifest, *, subresource: str = "") -> JSONObject:
        """Replace an object and return the stored object.

        With ``subresource="status"`` only its status is replaced. If ``obj`` has a ``metadata.resourceVersion``, it
        must be the current one. Otherwise the object is replaced unconditionally, even if its resource requires a
        resourceVersion in updates.

        Raises:
            APIError: The server responds with an error.
            InvalidInput: ``obj`` is malformed.
            NoMatch: The kind is not served.
        """
        body = _mapping(obj)
        kind = self._kind_of(body)
        namespace, name = _namespace(kind, body), _name(body)
        if not _metadata(body).get("resourceVersion"):
            present = self._call("get", kind, namespace=namespace, name=name)["metadata"]["resourceVersion"]
            body["metadata"] = {**_metadata(body), "resourceVersion": present}
        return self._call("update", kind, namespace=namespace, name=name, subresource=subresource, body=body)

    def apply(self, obj: Manifest, *, field_manager: str = "dynkube-testing", force: bool = True) -> JSONObject:
        """Server-side apply ``obj``, and return the stored object.

        Raises:
            APIError: The server responds with an error.
            InvalidInput: ``obj`` is malformed.
            NoMatch: The kind is not served.
        """
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
        """Return one object.

        ``namespace=None`` means ``default`` for namespaced resources.

        Raises:
            NotFound: The object does not exist.
            InvalidInput: ``resource`` is malformed.
            NoMatch: The resource is not served.
        """
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
        """Return the objects of a resource. ``namespace=None`` means all namespaces.

        Raises:
            APIError: The server responds with an error, for example to an invalid selector.
            InvalidInput: ``resource`` is malformed.
            NoMatch: The resource is not served.
        """
        kind = self.kind(resource)
        params = {"labelSelector": label_selector, "fieldSelector": field_selector}
        answer = self._call("list", kind, namespace=namespace or "", params={k: v for k, v in params.items() if v})
        # Servers may omit apiVersion and kind from list items; add them for the caller.
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in answer["items"]]

    def delete(self, resource: str | GVR, name: str, namespace: str | None = None) -> JSONObject:
        """Delete an object and return the server's response.

        The response is a Status, or the object if finalizers keep it. ``namespace=None`` means ``default`` for
        namespaced resources.

        Raises:
            NotFound: The object does not exist.
            APIError: The server responds with another error.
            InvalidInput: ``resource`` is malformed.
            NoMatch: The resource is not served.
        """
        kind = self.kind(resource)
        return self._call("delete", kind, namespace=_place(kind, namespace), name=name)

    def load(self, source: Source) -> Objects:
        """Create all objects in ``source`` and return the stored objects, in that order.

        ``source`` is the path of a YAML or JSON file or of a folder of such files, a YAML string (a ``str`` with a line
        break or a brace in it), an object, or an iterable of these. Namespaces and CustomResourceDefinitions are
        created before the rest. Existing objects are replaced, so loading is idempotent. Output of
        ``kubectl get -o yaml`` can be loaded: its ``status`` is stored too, and its resourceVersions are ignored.

        If an error is raised, the objects created before it stay. This is blocking file I/O.

        Raises:
            OSError: A path does not exist or cannot be read.
            InvalidInput: Invalid YAML, or not a Kubernetes object; the message begins with file and line.
            NoMatch: The server does not serve a kind; the message begins with file and line.
            APIError: The server rejects an object; a note (``error.__notes__``) has file and line.
        """
        return [self._load(manifest) for manifest in read_manifests(source)]

    def kind(self, resource: str | GVR) -> Kind:
        """Return the kind served as ``resource``.

        ``resource`` is a plural, singular, short name or kind, with or without version and group, or a GVR.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: ``resource`` is malformed.
        """
        if isinstance(resource, GVR):
            if (served := self._served_as(resource)) is not None:
                return served
            arg = ResourceArg(resource.resource, resource.version, resource.group)
        else:
            arg = ResourceArg.parse(str(resource))
        matches = [kind for kind in self._kinds() if _matches(kind, arg)]
        if not matches:
            raise NoMatch(f"the embedded server does not serve {str(resource)!r} now")
        # The registry is ordered by group: take the preferred version in the first matching group.
        group = matches[0].gvr.group
        return min((m for m in matches if m.gvr.group == group), key=lambda m: version_priority(m.gvr.version))

    def _load(self, manifest: LoadedManifest) -> JSONObject:
        try:
            return self._create_or_replace(manifest.body)
        except APIError as error:
            if manifest.origin:
                error.add_note(f"in {manifest.origin}")
            raise
        except (InvalidInput, NoMatch) as error:
            known = NoMatch if isinstance(error, NoMatch) else InvalidInput
            raise known(f"{manifest.origin}: {error}" if manifest.origin else str(error)) from None

    def _create_or_replace(self, body: JSONObject) -> JSONObject:
        kind = self._kind_of(body)
        metadata = {key: value for key, value in _metadata(body).items() if key != "resourceVersion"}
        body = {**body, "metadata": metadata} if metadata else body
        try:
            stored = self.create(body)
        except AlreadyExists:
            stored = self.update(body)
        if body.get("status") and "status" in kind.subresources and kind.storage_group not in _OWN_STATUS:
            stored = self.update({**stored, "status": body["status"]}, subresource="status")
        return stored

    def _kind_of(self, body: JSONObject) -> Kind:
        api_version, kind_name = body.get("apiVersion"), body.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind_name, str):
            raise InvalidInput(f"the object must have apiVersion and kind as strings: {api_version!r}, {kind_name!r}")
        if (kind := self._find(api_version, kind_name)) is not None:
            return kind
        raise NoMatch(f"the embedded server does not serve {api_version} {kind_name} now")

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
        data = self._handle(call).document.data
        for observer in self._observers:
            observer(call)
        return data

    # The only methods that access the engine. ServerThread overrides them to call it in the server's thread.

    def _handle(self, call: Call) -> Result:
        return self._engine.handle(call)

    def _kinds(self) -> Iterable[Kind]:
        return self._engine.registry

    def _find(self, api_version: str, kind: str) -> Kind | None:
        return self._engine.registry.find(api_version, kind)

    def _served_as(self, gvr: GVR) -> Kind | None:
        return self._engine.registry.get(gvr)


def _mapping(obj: Manifest) -> JSONObject:
    if isinstance(obj, str):
        try:
            obj = yaml.load_document(obj)  # type: ignore[assignment]  # checked on the next line
        except ValueError as error:
            raise InvalidInput(f"the object is not YAML: {error}") from None
    if not isinstance(obj, Mapping):
        raise InvalidInput(f"the object is {a_type(obj)}, not a mapping with apiVersion, kind and metadata")
    body = dict(obj)
    check_shape(body, "the object", max_depth=MAX_DEPTH)
    return body


def _metadata(body: JSONObject) -> Mapping[str, object]:
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _name(body: JSONObject) -> str:
    name = _metadata(body).get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput("the object requires metadata.name")
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
