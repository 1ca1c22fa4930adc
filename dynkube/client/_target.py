"""What all verbs share: the client's settings, the resource that is meant, and the way a request goes out."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from dynkube._bound import Bound
from dynkube._server_text import sanitized
from dynkube.client._deadline import Deadline, within
from dynkube.client._listwatch import ListWatch
from dynkube.client._objects import (
    WrongKind,
    check_kind,
    check_name,
    namespace_of_many,
    namespace_of_object,
    namespace_of_one,
)
from dynkube.client._options import DeleteOptions, FieldValidation, GetOptions, ListOptions, Selection, WriteOptions
from dynkube.client._watch_settings import WatchSettings
from dynkube.discovery import APIResource, DeferredRESTMapper, ResourceLike, plain_failures
from dynkube.errors import InvalidInput, InvalidObject, NotFound, ProtocolError, WrongScope
from dynkube.meta import GVR, Unstructured, resource_path
from dynkube.rest import Answer, Request, RESTClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the resources of one client have in common."""

    rest: RESTClient
    mapper: DeferredRESTMapper
    namespace: str
    field_manager: str
    watch: WatchSettings
    random: random_module.Random
    definition: Callable[[str], Unstructured | None]


T = TypeVar("T")
OptionsT = TypeVar("OptionsT", GetOptions, ListOptions, WriteOptions, DeleteOptions)


@dataclass(frozen=True, slots=True)
class Target:
    """One resource as the caller named it. What that means is asked of the mapper each time, as CRDs change."""

    session: Session
    spec: ResourceLike

    async def resolve(self, timeout: float | None = None) -> APIResource:
        """Which resource it is now; see :meth:`~dynkube.discovery.DeferredRESTMapper.resolve`.

        Args:
            timeout: seconds for everything that is read for it; ``None`` means the client's default for each request.

        Raises:
            DynkubeError: as there; where nothing could be read at all, what every request raises.
        """
        with within(timeout, f"{self.spec}: the server has not told whether it serves that"), plain_failures():
            return await self.session.mapper.resolve(self.spec)

    async def resolve_for(self, use: Callable[[APIResource], T], timeout: float | None = None) -> tuple[APIResource, T]:
        """Which resource it is now, and what ``use`` makes of it.

        Discovery is read when a name is used for the first time, and a CRD may have been replaced since by one with
        another scope or kind. So where ``use`` refuses what is known of the resource, its group is read again and
        ``use`` is called once more; at most once in the mapper's ``negative_ttl``, however many calls are refused.

        Args:
            use: Checks the call against the resource. Does no I/O.
            timeout: as for :meth:`resolve`.

        Raises:
            WrongScope: ``use`` raises it, also for the resource as read again.
            InvalidObject: likewise.
            DynkubeError: as for :meth:`resolve`.
        """
        deadline = Deadline.after(timeout)
        resource = await self.resolve(timeout)
        try:
            return resource, use(resource)
        except (WrongScope, WrongKind):
            self.session.mapper.recheck(self.spec)
        resource = await self.resolve(deadline.left())
        return resource, use(resource)

    async def resolve_within(
        self, options: OptionsT, use: Callable[[APIResource], T]
    ) -> tuple[APIResource, T, OptionsT]:
        """The same, and the options with what that leaves of their timeout: it is for everything.

        Raises:
            DynkubeError: as for :meth:`resolve_for`.
        """
        deadline = Deadline.after(options.timeout)
        resource, used = await self.resolve_for(use, options.timeout)
        return resource, used, options if deadline.at is None else replace(options, timeout=deadline.left())

    async def collection(self, namespace: str | None, selection: Selection) -> ListWatch:
        """The collection in ``namespace``, or in all.

        Raises:
            WrongScope: a namespace for a cluster-scoped resource.
        """
        _, collection = await self.resolve_for(lambda resource: self.collection_of(resource, namespace, selection))
        return collection

    def collection_of(self, resource: APIResource, namespace: str | None, selection: Selection) -> ListWatch:
        """The same of a resource that is known. Plain."""
        return ListWatch(
            self.session.rest,
            resource.gvr,
            namespace=namespace_of_many(resource, namespace),
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
        )

    def path(self, resource: APIResource, name: str, namespace: str | None, *, subresource: str | None = None) -> str:
        """The path of one object, in ``namespace`` or the context's, or of a subresource of it.

        Raises:
            InvalidInput: the name is empty or cannot be part of a path.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
        """
        if not isinstance(name, str):  # None would address the collection, of DELETE as well
            raise InvalidInput(f"name is {name!r}: pass metadata.name of the object")
        namespace = self.namespace_of(resource, namespace)
        return resource_path(resource.gvr, namespace=namespace, name=name, subresource=subresource)

    def namespace_of(self, resource: APIResource, namespace: str | None) -> str | None:
        """In which namespace one object is: the one given, else the context's; ``None`` if it is cluster-scoped.

        Raises:
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
        """
        return namespace_of_one(resource, namespace, default=self.session.namespace)

    def path_of(
        self, resource: APIResource, obj: Unstructured, namespace: str | None, *, subresource: str | None = None
    ) -> str:
        """The path of an object that says which one it is: its own namespace counts, then the one given.

        Raises:
            InvalidObject: it says that it is something else, has no name, or contradicts ``namespace``.
            WrongScope: as for :meth:`path`.
        """
        check_kind(obj, resource)
        check_name(obj)
        namespace = namespace_of_object(obj, resource, namespace, default=self.session.namespace)
        return self.path(resource, obj.name, namespace, subresource=subresource)

    def write_options(
        self,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
        force: bool | None = None,
    ) -> WriteOptions:
        """Checked options; without a field manager of its own the write goes out under the client's."""
        return WriteOptions(
            dry_run=dry_run,
            field_manager=self.session.field_manager if field_manager is None else field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=force,
        )

    async def send(self, request: Request, resource: APIResource) -> Unstructured:
        """Send a request that is answered with one object (a ``Status`` is one too)."""
        return as_answered(await self.answer(request, resource))

    async def answer(self, request: Request, resource: APIResource) -> Answer:
        """Send a request."""
        with self.noticing_absence(resource.gvr):
            return await self.session.rest.request(request)

    @contextmanager
    def noticing_absence(self, gvr: GVR) -> Iterator[None]:
        """Pass on errors; a 404 that is about no object says that the resource is gone, and the mapper out of date."""
        try:
            yield
        except NotFound as exc:
            if not exc.status.name:
                self.session.mapper.invalidate(gvr.group)
            raise


def as_answered(answer: Answer) -> Unstructured:
    """The object in an answer. Raises ProtocolError if there is none."""
    try:
        return Unstructured(answer.body)
    except InvalidObject as exc:
        kind = sanitized(answer.headers.get("content-type", "unknown type"), 100)
        answer.redact.error(exc)
        raise ProtocolError(
            f"{answer.request}: answered with {len(answer.body)} bytes of {kind} instead of an object; "
            f"client.raw() reads anything: {exc}"
        ) from exc


class Verbs(Bound):
    """What the families of verbs have in common: the resource they work on."""

    __slots__ = ("_target",)

    def __init__(self, target: Target) -> None:
        self._target = target
