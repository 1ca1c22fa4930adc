"""``APIClient``: the verbs of any resource, and arbitrary requests."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable, Mapping

from dynkube._bound import Bound
from dynkube.client._options import check_field_manager
from dynkube.client._resource import ResourceClient
from dynkube.client._target import Session, Target
from dynkube.client._watch_settings import WatchSettings
from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient, ResourceLike, ServerVersion
from dynkube.meta import JSONLike, ResourceArg, Unstructured
from dynkube.meta._encode import json_of
from dynkube.meta._gvr import check_resource
from dynkube.rest import Answer
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request


class APIClient(Bound):
    """Reads and writes objects of any resource on one API server.

    The ``rest`` client is not closed by this one. Creating it does no I/O.

    Args:
        rest: sends the requests.
        mapper: resolves names to resources.
        namespace: default namespace of single objects.
        field_manager: recorded as owner of written fields, unless a call overrides it.
        watch_settings: timing of watches.
        random: source of jitter; pass a seeded one for reproducible delays.
        definition: returns the cached CRD of that name, or ``None``. Used to display a resource; called on any thread.

    Raises:
        InvalidInput: the server would reject ``field_manager``.
    """

    def __init__(
        self,
        rest: RESTClient,
        mapper: DeferredRESTMapper,
        *,
        namespace: str = "default",
        field_manager: str = "dynkube",
        watch_settings: WatchSettings = WatchSettings(),  # noqa: B008  # frozen
        random: random_module.Random | None = None,
        definition: Callable[[str], Unstructured | None] = lambda name: None,
    ) -> None:
        check_field_manager(field_manager)
        self._session = Session(
            rest=rest,
            mapper=mapper,
            namespace=namespace,
            field_manager=field_manager,
            watch=watch_settings,
            random=random or random_module.Random(),
            definition=definition,
        )

    @property
    def rest(self) -> RESTClient:
        """The client that sends the requests."""
        return self._session.rest

    @property
    def mapper(self) -> DeferredRESTMapper:
        """The REST mapper, which resolves names to resources."""
        return self._session.mapper

    @property
    def namespace(self) -> str:
        """The default namespace for verbs on single objects."""
        return self._session.namespace

    @property
    def field_manager(self) -> str:
        """The field manager of writes that do not specify one."""
        return self._session.field_manager

    @property
    def random(self) -> random_module.Random:
        """The source of jitter."""
        return self._session.random

    def resource(self, resource: ResourceLike) -> ResourceClient:
        """Return the verbs of a resource.

        Does no I/O: an unknown resource is an error when a verb is called.

        Args:
            resource: a name as kubectl takes it (``"deploy"``, ``"Deployment"``, ``"deployments.apps"``,
                ``"deployments.v1.apps"``), a :class:`~dynkube.meta.GVR`, a :class:`~dynkube.meta.GVK`
                (such as ``obj.gvk``), or a resource returned by discovery.

        Raises:
            InvalidInput: ``resource`` is not a valid resource name.
        """
        if isinstance(resource, APIResource):
            resource = resource.gvr
        check_resource(resource)
        parsed = ResourceArg.parse(resource) if isinstance(resource, str) else resource
        return ResourceClient(Target(self._session, parsed))

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | JSONLike = None,
        content_type: str = "application/json",
        accept: str = "application/json, */*",
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Send an arbitrary request; the arguments are those of ``Client.raw``."""
        data = body if body is None or isinstance(body, bytes) else json_of(body, "body")
        request = Request(
            method=method,
            path=path,
            params=params or {},
            body=data,
            content_type=content_type,
            accept=accept,
            headers=headers or {},
            timeout=timeout,
        )
        return await self.rest.request(request)

    async def server_version(self, *, timeout: float | None = None) -> ServerVersion:
        """Request the server's version.

        Args:
            timeout: seconds for the request; ``None`` means the client's default.

        Returns:
            The version and build information; ``str()`` of it is like ``"v1.34.1"``.

        Raises:
            InvalidInput: ``timeout`` is not a positive number.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        return await DiscoveryClient(self.rest).server_version(timeout=timeout)

    def __repr__(self) -> str:
        return f"<APIClient of {self.rest!r}, namespace {self.namespace!r}>"
