"""APIClient: from a name of a resource to its verbs, and to everything else an API server answers."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable, Mapping

from dynkube._bound import Bound
from dynkube.client._options import check_field_manager
from dynkube.client._resource import ResourceClient
from dynkube.client._target import Session, Target
from dynkube.client._watch_settings import WatchSettings
from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient, ResourceLike, ServerVersion
from dynkube.meta import JSONLike, ResourceArg, Unstructured, check_resource, json_of
from dynkube.rest import Answer, Request, RESTClient


class APIClient(Bound):
    """Reads and writes objects of any type on one API server.

    It owns nothing: the ``rest`` client is closed by whoever made it. Making one does no I/O.

    Args:
        rest: where requests go.
        mapper: what names mean.
        namespace: of single objects for which a call names none.
        field_manager: who is recorded as owner of the fields that are written, where a call does not say.
        watch_settings: the numbers of the watches.
        random: source of jitter; give a seeded one for delays that repeat.
        definition: the CRD of a name, where somebody follows them; for what is shown of a resource, on any thread.

    Raises:
        InvalidInput: the server would refuse ``field_manager``.
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
        """The client that does the requests."""
        return self._session.rest

    @property
    def mapper(self) -> DeferredRESTMapper:
        """What says which resource a name means."""
        return self._session.mapper

    @property
    def namespace(self) -> str:
        """Where single objects are looked for if a call names no namespace."""
        return self._session.namespace

    @property
    def field_manager(self) -> str:
        """Who is recorded as owner of written fields if a call does not say."""
        return self._session.field_manager

    def resource(self, resource: ResourceLike) -> ResourceClient:
        """The verbs on a resource. A plain call: whether the server serves it shows when a verb is used.

        Args:
            resource: what kubectl takes (``"deploy"``, ``"Deployment"``, ``"deployments.apps"``,
                ``"deployments.v1.apps"``), or a :class:`~dynkube.meta.GVR` or :class:`~dynkube.meta.GVK`
                (``obj.gvk`` of an object to write), or one of the resources that discovery tells of.

        Raises:
            InvalidInput: it cannot name a resource.
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
        """One request of your own, with the client's credentials, retries and errors (``kubectl get --raw``).

        Args:
            method: ``"GET"``, ``"POST"``, ...
            path: absolute and quoted: ``"/healthz"``, ``"/api/v1/namespaces/shop/pods/web/log"``.
            params: query parameters, not quoted.
            body: bytes as they are, or data to send as JSON; ``None`` for none.
            content_type: of the body.
            accept: what may come back; where this names JSON, HTML is an error, as it comes from proxies.
            headers: further header fields.
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            Status, header fields and the body as bytes.

        Raises:
            InvalidInput: method, path, parameters, body, header fields or ``timeout`` cannot be sent.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
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
        """The server's version, asked now.

        Args:
            timeout: seconds for the request; ``None`` means the client's default.

        Returns:
            All that the server tells of its build; ``str()`` of it is like ``"v1.34.1"``.

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
