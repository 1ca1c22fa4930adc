"""Common to all verbs: settings, the resource, and how requests are sent."""

from __future__ import annotations

import random as random_module
from collections.abc import Awaitable, Callable
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
from dynkube.discovery import APIResource, DeferredRESTMapper, ResourceLike
from dynkube.discovery._failures import plain_failures
from dynkube.errors import DynkubeError, InvalidInput, InvalidObject, NotFound, ProtocolError, WrongScope
from dynkube.errors._evidence import Evidence, evidence_of
from dynkube.meta import Unstructured
from dynkube.meta._arguments import brief
from dynkube.meta._path import resource_path
from dynkube.rest import Answer
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Settings and components shared by the resources of one client."""

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
    """One resource by the name that the caller gave.

    The mapper resolves the name at each use, as CRDs may change.
    """

    session: Session
    spec: ResourceLike

    async def resolve(self, timeout: float | None = None) -> APIResource:
        """Resolve the resource; see :meth:`~dynkube.discovery.DeferredRESTMapper.resolve`.

        Args:
            timeout: seconds for all discovery requests together; ``None`` means the client's default for each request.

        Raises:
            DynkubeError: an error of the mapper; if discovery failed completely, the error of the request.
        """
        with within(timeout, f"{self.spec}: discovery did not complete"), plain_failures():
            return await self.session.mapper.resolve(self.spec)

    async def resolve_for(self, use: Callable[[APIResource], T], timeout: float | None = None) -> tuple[APIResource, T]:
        """Resolve the resource, and return it with the result of ``use``.

        Discovery is cached, and the CRD may have been replaced since by one with another scope or kind. So if ``use``
        rejects the resource, its group is discovered again and ``use`` is called once more. The group is discovered at
        most once per ``negative_ttl`` of the mapper, however many calls are rejected.

        Args:
            use: validates the call against the resource. Does no I/O.
            timeout: seconds for all discovery requests together; ``None`` means the client's default for each request.

        Raises:
            WrongScope: from ``use``, after rediscovery.
            InvalidObject: from ``use``, after rediscovery.
            DynkubeError: any error of :meth:`resolve`.
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
        """Like :meth:`resolve_for`; also return the options for the request.

        Their timeout is the time that is left after discovery.

        Raises:
            DynkubeError: any error of :meth:`resolve_for`.
        """
        deadline = Deadline.after(options.timeout)
        resource, used = await self.resolve_for(use, options.timeout)
        return resource, used, options if deadline.at is None else replace(options, timeout=deadline.left())

    async def carry_out(self, options: OptionsT, attempt: Callable[[OptionsT], Awaitable[T]]) -> T:
        """Return the result of ``attempt``, which resolves the resource and sends requests.

        If the server responds that it does not know the resource, its group is discovered again, and ``attempt`` is
        made once more: the CRD may have changed its version or scope since, or the API server has just started and did
        not serve the resource yet. Such a request was not carried out. Other errors are raised as they are.

        Args:
            options: the options of the call; the second attempt has the time that is left.
            attempt: one attempt. Sends nothing that must not be sent twice before such a response.

        Raises:
            NotFound: both attempts, or the resource is not served any more.
            DynkubeError: any other error of ``attempt``.
        """
        deadline = Deadline.after(options.timeout)
        try:
            return await attempt(options)
        except NotFound as exc:
            if evidence_of(exc) is not Evidence.RESOURCE_UNKNOWN:
                raise
            failure = exc
        mapper = self.session.mapper
        mapper.recheck(self.spec, at_once=True)
        try:
            await self.resolve(deadline.left())
        except DynkubeError as exc:  # not served any more, or that is not known: the response says as much
            raise failure from exc
        try:
            return await attempt(options if deadline.at is None else replace(options, timeout=deadline.left()))
        except NotFound as exc:
            if evidence_of(exc) is Evidence.RESOURCE_UNKNOWN:
                mapper.recheck(self.spec)
            raise

    async def collection(self, namespace: str | None, selection: Selection) -> ListWatch:
        """Return the collection in ``namespace``, or in all namespaces.

        Raises:
            WrongScope: a namespace for a cluster-scoped resource.
        """
        _, collection = await self.resolve_for(lambda resource: self.collection_of(resource, namespace, selection))
        return collection

    def collection_of(self, resource: APIResource, namespace: str | None, selection: Selection) -> ListWatch:
        """Return the collection of a resolved resource. Does no I/O."""
        return ListWatch(
            self.session.rest,
            resource.gvr,
            namespace=namespace_of_many(resource, namespace),
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
        )

    def path(self, resource: APIResource, name: str, namespace: str | None, *, subresource: str | None = None) -> str:
        """Return the path of one object, or of a subresource of it.

        The object is in ``namespace``, or the context's.

        Raises:
            InvalidInput: the name is empty or cannot be part of a path.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
        """
        if not isinstance(name, str):  # None would address the collection, also for DELETE
            raise InvalidInput(f"name is {brief(name)}: pass metadata.name of the object")
        namespace = self.namespace_of(resource, namespace)
        return resource_path(resource.gvr, namespace=namespace, name=name, subresource=subresource)

    def namespace_of(self, resource: APIResource, namespace: str | None) -> str | None:
        """Return the namespace of one object: the one given, else the context's.

        ``None`` if the resource is cluster-scoped.

        Raises:
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
        """
        return namespace_of_one(resource, namespace, default=self.session.namespace)

    def path_of(
        self, resource: APIResource, obj: Unstructured, namespace: str | None, *, subresource: str | None = None
    ) -> str:
        """Return the path of ``obj``, in its own namespace, else in the one given.

        Raises:
            InvalidObject: apiVersion, kind or name is missing or wrong, or ``obj`` has another namespace.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
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
        """Return validated options; the default field manager is the client's."""
        return WriteOptions(
            dry_run=dry_run,
            field_manager=self.session.field_manager if field_manager is None else field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=force,
        )

    async def send(self, request: Request) -> Unstructured:
        """Send a request whose response is one object (including ``Status``)."""
        return as_answered(await self.answer(request))

    async def answer(self, request: Request) -> Answer:
        """Send a request."""
        return await self.session.rest.request(request)


def as_answered(answer: Answer) -> Unstructured:
    """Return the object in a response. Raises ProtocolError if it has none."""
    try:
        return Unstructured(answer.body)
    except InvalidObject as exc:
        kind = sanitized(answer.headers.get("content-type", "unknown type"), 100)
        answer.redact.error(exc)
        raise ProtocolError(
            f"{answer.request}: the response is {len(answer.body)} bytes of {kind} instead of an object; "
            f"client.raw() accepts any response: {exc}"
        ) from exc


class Verbs(Bound):
    """Base class of the groups of verbs: holds their resource."""

    __slots__ = ("_target",)

    def __init__(self, target: Target) -> None:
        self._target = target
