"""Shortcuts for interactive use: ``client["deploy"]``, ``get``, ``whoami``, ..."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, overload

from dynkube.client._client import APIClient
from dynkube.client._completion import Resources
from dynkube.client._deadline import within
from dynkube.client._notations import other_notations
from dynkube.client._options import FieldSelectorLike, LabelSelectorLike, check_timeout
from dynkube.client._permissions import Permission, Question, UserInfo, can, whoami
from dynkube.client._resource import ResourceClient
from dynkube.client._several_resources import Collections, read_tables
from dynkube.discovery import APIResources, ResourceLike, RESTMapper
from dynkube.discovery._failures import plain_failures
from dynkube.discovery._listing import completions, listing
from dynkube.discovery._resources import EVERYTHING
from dynkube.errors import ClosedError, DiscoveryFailed, InvalidInput
from dynkube.meta import JSONLike, Unstructured, UnstructuredTable
from dynkube.rest import Answer


class Shortcuts:
    """Shortcuts that a client offers besides its components.

    Resource names are as with kubectl.
    """

    __iter__: ClassVar[None] = None  # otherwise iteration would fall back to client[0], client[1], ...
    __contains__: ClassVar[None] = None

    @property
    def _api(self) -> APIClient:
        raise NotImplementedError

    def __getitem__(self, resource: ResourceLike) -> ResourceClient:
        """Return the verbs of a resource.

        ``client["deploy"]`` is ``client.resource("deploy")``.

        Does no I/O: a name that the server does not serve raises :class:`~dynkube.errors.NoMatch` when a verb is
        called. Notebooks and IPython complete the names after ``["`` once discovery has been read.

        Raises:
            InvalidInput: it cannot name a resource.
            ClosedError: the client is not open.
        """
        return self._api.resource(resource)

    @property
    def resources(self) -> Resources[ResourceClient]:
        """The resources as attributes: ``client.resources.deployments``.

        They are completed at a prompt.

        Shows and completes only what was discovered already, without a request; :meth:`api_resources` sends one.

        Raises:
            ClosedError: the client is not open.
        """
        return Resources(self._api.resource, self._known)

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
        """Send an arbitrary request (like ``kubectl get --raw``).

        It has the client's credentials, retries and errors.

        Args:
            method: ``"GET"``, ``"POST"``, ...
            path: absolute and percent-encoded: ``"/healthz"``, ``"/api/v1/namespaces/shop/pods/web/log"``.
            params: query parameters, not encoded.
            body: bytes to send unchanged, or data to send as JSON; ``None`` for no body.
            content_type: media type of the body.
            accept: acceptable media types; if these include JSON, an HTML response is an error, as proxies send it.
            headers: additional header fields.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            Status, header fields and the body as bytes.

        Raises:
            InvalidInput: method, path, parameters, body, header fields or ``timeout`` is invalid.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        return await self._api.raw(
            method,
            path,
            params=params,
            body=body,
            content_type=content_type,
            accept=accept,
            headers=headers,
            timeout=timeout,
        )

    @overload
    async def get(
        self,
        resource: ResourceLike,
        name: None = None,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> UnstructuredTable: ...
    @overload
    async def get(
        self,
        resource: ResourceLike,
        name: str,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    async def get(
        self,
        resource: ResourceLike,
        name: str | None = None,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> UnstructuredTable | Unstructured:
        """Read objects with the columns of ``kubectl get``, or one object.

        ::

            await client.get("pods", namespace="shop", label_selector={"app": "web"})
            await client.get("deploy", "web", namespace="shop")
            await client.get("po,svc", namespace="shop")

        Args:
            resource: as with kubectl: plural, singular, short name or kind, optionally with group or version and group.
                For a collection also several (``"po,svc"``), or a category (``"all"``): then the table has the objects
                of all, :attr:`UnstructuredTable.tables` one table for each resource, and ``errors`` the resources that
                could not be read, and for a category the group-versions whose discovery failed. ``namespace`` is
                ignored for resources that are cluster-scoped.
            name: name of one object; ``None`` for the collection.
            namespace: ``None`` means all namespaces for a collection, and the context's namespace for one object.
            label_selector: restrict a collection by labels: ``"app=web,tier in (fe,be)"`` or ``{"app": "web"}``.
            field_selector: restrict a collection by fields: ``"status.phase=Running"``.
            limit: maximum number of objects of a collection (of each resource).
            timeout: seconds for the whole call; ``None`` means the client's default for each resource.

        Returns:
            For a collection a table: the objects, and the columns that the server prints. Else the object.

        Raises:
            InvalidInput: an argument is invalid; the message names it and the fix.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
            NoMatch: the server serves no such resource; the message suggests similar names.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: discovery failed for a group that may serve that name.
            NotFound: there is no object of that name, or the resource is no longer served.
            APIError: any other error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        if name is None:
            wanted = Collections(
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                timeout=timeout,
            )
            return await read_tables(self._api, resource, wanted)
        given = {"label_selector": label_selector, "field_selector": field_selector, "limit": limit}
        for what, value in given.items():
            if value is not None:
                raise InvalidInput(f"{what} selects among many objects, name={name!r} only one: leave one of them out")
        with other_notations(resource, name):
            return await self._api.resource(resource).get(name, namespace=namespace, timeout=timeout)

    async def api_resources(
        self,
        *,
        group: str | None = None,
        namespaced: bool | None = None,
        verb: str | None = None,
        category: str | None = None,
        all_versions: bool = False,
        timeout: float | None = None,
    ) -> APIResources:
        """Request the served resources, as ``kubectl api-resources`` lists them.

        Args:
            group: only this API group, by its full name; ``""`` is the core group. A group that is not served
                gives an empty result, as with kubectl; likewise for the other filters.
            namespaced: only namespaced resources (``True``), or only cluster-scoped ones (``False``).
            verb: only resources that support this verb: ``"list"``.
            category: only resources of this category: ``"all"``.
            all_versions: all served versions instead of the preferred one.
            timeout: seconds for the whole call; ``None`` means the client's default for each request.

        Returns:
            The resources in order of priority: a name that matches several means the first. ``failures`` has the
            groups that could not be read, such as that of an aggregated API that is down.

        Raises:
            InvalidInput: an argument is of the wrong type, or ``timeout`` is not a positive number.
            DeadlineExceeded: not complete within ``timeout``.
            DiscoveryFailed: the server responded, but no resource could be discovered.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        check_timeout(timeout)
        mapper = self._api.mapper
        mapper.invalidate()
        with within(timeout, "discovery of the served resources did not complete"), plain_failures():
            found = (await mapper.load()).discovery
            if not {EVERYTHING, "v1"}.isdisjoint(found.failures):  # stale data must not pass as the current state
                raise DiscoveryFailed("the served resources could not be discovered", failures=found.failures)
        return listing(
            found,
            group=group,
            namespaced=namespaced,
            verb=verb,
            category=category,
            all_versions=all_versions,
        )

    async def whoami(self, *, timeout: float | None = None) -> UserInfo:
        """Request the client's user name and groups (``kubectl auth whoami``).

        Args:
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            User name, groups, uid and extra attributes; ``str()`` of it is the name.

        Raises:
            InvalidInput: ``timeout`` is not a positive number.
            NoMatch: the server does not support it; Kubernetes does since 1.28.
            DiscoveryFailed: discovery failed, so it is unknown whether the server supports it.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        return await whoami(self._api, timeout)

    async def auth_can_i(
        self,
        verb: str,
        resource: ResourceLike,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
        timeout: float | None = None,
    ) -> Permission:
        """Check whether the user is allowed to do something.

        ``if await client.auth_can_i("create", "pods", "shop"): ...``

        Sends a SelfSubjectAccessReview (``kubectl auth can-i``), which the server evaluates with all its authorizers.
        The result may have changed by the time of the request itself.

        Args:
            verb: an API verb: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch`` (also for apply),
                ``delete``, ``deletecollection``, ``"*"`` for all; or one that only authorization knows (``bind``, ...).
            resource: as with kubectl: plural, singular, short name or kind, optionally with group or version and
                group. One that is not served yet must be given in full (``"widgets.v1.example.com"``). ``"*"``
                means every resource; a string that starts with ``/`` is a
                non-resource path (``"/metrics"``). Virtual resources are known for their verbs: ``impersonate`` with
                ``users``, ``groups``, ``uids`` and ``userextras``; ``approve`` and ``sign`` with ``signers``.
            namespace: ``None`` means the default of the call in question: all namespaces for ``list`` and ``watch``
                without a name, else the context's namespace. ``"*"`` means all.
            name: name of the object.
            subresource: ``"log"``, ``"scale"``, ...
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The result, true or false, with the server's reason.

        Raises:
            InvalidInput: no such verb or subresource, an impossible name or namespace, or arguments that exclude each
                other.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
            NoMatch: the server serves no such resource.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: discovery failed for a group that may serve that name.
            APIError: any other error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        question = Question(verb=verb, resource=resource, namespace=namespace, name=name, subresource=subresource)
        return await can(self._api, question, timeout)

    def _ipython_key_completions_(self) -> list[str]:
        """Names to complete after ``client["``, from discovery data read so far; sends no request."""
        known = self._known()
        return [] if known is None else completions(known.discovery)

    def _known(self) -> RESTMapper | None:
        try:
            return self._api.mapper.loaded
        except ClosedError:
            return None
