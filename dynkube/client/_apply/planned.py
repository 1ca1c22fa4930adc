"""One object to be applied: validated, with its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.client._deadline import Deadline
from dynkube.client._objects import (
    ObjectLike,
    as_object,
    check_complete,
    check_kind,
    check_name,
    namespace_of_object,
)
from dynkube.client._options import WriteOptions
from dynkube.client._requests.write import write_request
from dynkube.client._subresource_names import check_subresource, shows_whole_object
from dynkube.client._target import Target
from dynkube.discovery import APIResource
from dynkube.errors import APIError, ApplyConflict, FieldConflict, InvalidInput, InvalidObject, NotFound
from dynkube.errors._evidence import proves_deletion
from dynkube.fields._diff.yaml_json import readable_as_yaml
from dynkube.fields._redaction import without_values
from dynkube.meta import Missing, PatchType, Unstructured
from dynkube.meta._arguments import a_type
from dynkube.rest import Answer
from dynkube.rest._messages import Request

_READ = (
    "so it was read from a server: applying it would take ownership of every field in it. Write an object with only "
    "the fields you want to own; to change what you read and send all of it back, use update()"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One validated object to be applied; each async method sends one request."""

    target: Target
    body: Unstructured
    subresource: str | None
    path: str
    live_path: str
    options: WriteOptions
    deadline: Deadline

    def check_live(self, live: object) -> None:
        """Validate the live object given by the caller.

        Args:
            live: the object, or MISSING if it does not exist.

        Raises:
            InvalidInput: ``live`` was not read from a server, or is another object than the one to be applied.
        """
        if isinstance(live, Missing):
            return
        if not isinstance(live, Unstructured) or not live.resource_version:
            shown = repr(live) if isinstance(live, Unstructured) else f"{a_type(live)}"  # without Secret values
            raise InvalidInput(
                f"live is {shown}: pass the object as it was read or watched, with its resourceVersion, or leave it out"
            )
        if live.metadata_only:
            raise InvalidInput(f"live is {live!r}: pass the whole object, or leave it out, so that it is read")
        obj = self.body
        if live.name != obj.name or (obj.namespace and live.namespace != obj.namespace):
            raise InvalidInput(f"live is {live!r}, not {obj!r}: pass the object to be compared, or leave live out")

    async def read(self) -> Unstructured | None:
        """Read the live object; ``None`` if it does not exist.

        Raises:
            NotFound: the response does not prove that.
            APIError: any other error response.
        """
        request = Request(method="GET", path=self.live_path, timeout=self.deadline.left())
        try:
            return await self.target.send(request)
        except NotFound as exc:
            if proves_deletion(exc):
                return None
            raise

    async def send(self, *, force: bool, dry_run: bool, resource_version: str = "") -> Answer:
        """Send the apply.

        Args:
            force: take over conflicting fields.
            dry_run: do not persist anything.
            resource_version: apply only to the object as it was read; see :func:`guarded`.

        Raises:
            ApplyConflict: other managers own fields with other values. The error has the paths and managers from the
                response, but not the values.
            Conflict: the object has another resourceVersion.
        """
        document = await run_in_thread_if_large(partial(_document, self.body, resource_version), self.body)
        options = replace(self.options, force=force, dry_run=dry_run, timeout=self.deadline.left())
        content_type = PatchType.APPLY.content_type
        request = write_request("PATCH", self.path, document, options, content_type=content_type)
        try:
            return await self.target.answer(request)
        except APIError as error:
            shown = await run_in_thread_if_large(partial(without_values, error, self.body), self.body)
            if shown is error:
                raise
            raise shown from None

    async def conflicts(self, resource_version: str = "") -> tuple[FieldConflict, ...]:
        """Return the conflicts that the server reports for a dry run without force.

        Args:
            resource_version: expected resourceVersion of the live object (a precondition); ``""`` for any.

        Raises:
            Conflict: the object has another resourceVersion.
        """
        try:
            await self.send(force=False, dry_run=True, resource_version=resource_version)
        except ApplyConflict as error:
            return error.conflicts
        return ()


async def prepare(
    target: Target, obj: ObjectLike, namespace: str | None, options: WriteOptions, *, subresource: str | None
) -> Application:
    """Validate an object to be applied, and resolve its resource and path.

    Raises:
        InvalidInput: the name of the subresource is invalid.
        InvalidObject: the object is invalid.
        WrongScope: the object has a namespace but its resource is cluster-scoped, or the reverse.
    """
    if subresource is not None:
        check_subresource(subresource)
    deadline = Deadline.after(options.timeout)
    body = as_object(obj)
    await run_in_thread_if_large(partial(_check_one, body), body)
    await run_in_thread_if_large(partial(_check_applicable, body), body)
    whole = shows_whole_object(subresource)
    if not whole:
        check_complete(body, str(subresource))

    def place(resource: APIResource) -> tuple[str, str]:
        if whole:
            check_kind(body, resource)
        where = namespace_of_object(body, resource, namespace, default=target.session.namespace)
        path = target.path(resource, body.name, where, subresource=subresource)
        return path, target.path(resource, body.name, where) if whole else path

    _, (path, live_path) = await target.resolve_for(place, deadline.left())
    return Application(
        target=target,
        body=body,
        subresource=subresource,
        path=path,
        live_path=live_path,
        options=options,
        deadline=deadline,
    )


def seen(live: Unstructured | Missing) -> Unstructured | None:
    """Return the live object given by a caller; ``None`` instead of MISSING."""
    return None if isinstance(live, Missing) else live


def guarded(obj: Unstructured, resource_version: str) -> Unstructured:
    """Return ``obj`` with ``resource_version`` in its metadata, as a precondition.

    The server responds 409 to an apply whose resourceVersion differs from that of the live object. If there is no live
    object, it ignores the precondition and creates one. A resourceVersion that ``obj`` already has is kept.
    """
    return obj if obj.resource_version else obj.transform(["metadata", "resourceVersion"], resource_version)


def _document(obj: Unstructured, resource_version: str) -> bytes:
    return readable_as_yaml((guarded(obj, resource_version) if resource_version else obj).json)


def _check_one(obj: Unstructured) -> None:
    # A custom kind may also end in "List", but lists have no name, except for core's own List.
    may_be = obj.kind.endswith("List") and ((obj.api_version, obj.kind) == ("v1", "List") or not obj.name)
    if may_be and isinstance(obj.get("items"), list):
        raise InvalidObject(f"{obj.kind} is a list of objects, but an apply takes one: apply each of its items")


def _check_applicable(obj: Unstructured) -> None:
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    if not obj.name and metadata.get("generateName"):
        raise InvalidObject(
            f"{obj.kind} has metadata.generateName and no metadata.name: add metadata.name, an apply requires it; "
            "create() creates a new object with a name generated by the server"
        )
    check_name(obj)
    if metadata.get("managedFields"):
        raise InvalidObject(
            f"{obj.kind} {obj.name!r} has metadata.managedFields, {_READ}. "
            "The server refuses managedFields in an apply."
        )
    if metadata.get("uid") and metadata.get("creationTimestamp"):
        raise InvalidObject(
            f"{obj.kind} {obj.name!r} has metadata.uid and metadata.creationTimestamp, {_READ}. Informers and "
            "'kubectl get -o yaml' omit its managedFields, for which the server would have refused it."
        )
