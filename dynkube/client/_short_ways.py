"""The short ways in: what people type first at a prompt, for one client and whatever its cluster serves."""

from __future__ import annotations

from typing import ClassVar, overload

from dynkube.client._access import Permission, Question, UserInfo, can, whoami
from dynkube.client._client import APIClient
from dynkube.client._deadline import within
from dynkube.client._options import FieldSelectorLike, LabelSelectorLike, check_timeout
from dynkube.client._resource import ResourceClient
from dynkube.client._resources import Resources
from dynkube.discovery import (
    EVERYTHING,
    APIResources,
    ResourceLike,
    RESTMapper,
    completions,
    listing,
    plain_failures,
)
from dynkube.errors import ClosedError, DiscoveryFailed, InvalidInput
from dynkube.meta import Unstructured, UnstructuredTable, is_version


class ShortWays:
    """What a client gives besides its parts. Names of resources are kubectl's throughout."""

    __iter__: ClassVar[None] = None  # or Python would go through client[0], client[1], ...
    __contains__: ClassVar[None] = None

    @property
    def api(self) -> APIClient:
        """The verbs without informers, and requests of your own (``client.api.raw``)."""
        raise NotImplementedError

    def __getitem__(self, resource: ResourceLike) -> ResourceClient:
        """The verbs on a resource: ``client["deploy"]`` is ``client.resource("deploy")``.

        A plain call that asks nobody: a name that the server does not serve is
        :class:`~dynkube.errors.NoMatch` when a verb is used. Notebooks and IPython complete the names after ``["``,
        as soon as the client has asked the server what it serves.

        Raises:
            InvalidInput: it cannot name a resource.
            ClosedError: the client is not open.
        """
        return self.api.resource(resource)

    @property
    def resources(self) -> Resources[ResourceClient]:
        """The resources as attributes, for prompts that complete them: ``client.resources.deployments``.

        What of it is known is shown and completed without asking the server; :meth:`api_resources` asks.

        Raises:
            ClosedError: the client is not open.
        """
        return Resources(self.api.resource, self._known)

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
        """Objects as ``kubectl get`` shows them, or one object.

        ::

            await client.get("pods", namespace="shop", label_selector={"app": "web"})
            await client.get("deploy", "web", namespace="shop")

        Args:
            resource: what kubectl takes: plural, singular, short name or kind, with group or version and group.
            name: of one object; ``None`` for the collection.
            namespace: ``None`` means all namespaces for a collection, and the context's for one object.
            label_selector: which objects of a collection: ``"app=web,tier in (fe,be)"`` or ``{"app": "web"}``.
            field_selector: likewise by fields: ``"status.phase=Running"``.
            limit: of a collection no more than so many objects.
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            Of a collection a table: the objects, and the columns that the server prints. Else the object.

        Raises:
            InvalidInput: the call cannot be right; the message names the argument and the fix.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
            NoMatch: the server serves no such resource; the message has the nearest names.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: discovery failed for a group that may serve that name.
            NotFound: there is no object of that name, or the resource is gone.
            APIError: any other error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        _refuse_pair(resource)
        if name is None:
            return await self.api.resource(resource).table(
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                timeout=timeout,
            )
        given = {"label_selector": label_selector, "field_selector": field_selector, "limit": limit}
        for what, value in given.items():
            if value is not None:
                raise InvalidInput(f"{what} chooses from many objects, and name={name!r} is one: leave one of them out")
        return await self.api.resource(resource).get(name, namespace=namespace, timeout=timeout)

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
        """What the server serves, asked now, as ``kubectl api-resources`` lists it.

        Args:
            group: only of this API group, by its full name; ``""`` is the core group. Of a group that is not served
                nothing is listed, as with kubectl; likewise for the next ones.
            namespaced: only those that live in namespaces, or only those that do not.
            verb: only those that can do this: ``"list"``.
            category: only those in it: ``"all"``.
            all_versions: each version that is served, and not only the preferred one.
            timeout: seconds for everything that is read; ``None`` means the client's default for each request.

        Returns:
            The resources in order of priority: of several that a name fits, the first is meant. ``failures`` says
            what could not be read, such as the group of an aggregated API that is down.

        Raises:
            InvalidInput: an argument is of the wrong type, or a timeout that is none.
            DeadlineExceeded: not within ``timeout``.
            DiscoveryFailed: the server answered, and did not tell what it serves.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        check_timeout(timeout)
        mapper = self.api.mapper
        mapper.invalidate()
        with within(timeout, "the server has not told what it serves"), plain_failures():
            found = (await mapper.load()).discovery
            if EVERYTHING in found.failures:  # what is known from before is no answer to what is served now
                raise DiscoveryFailed("cannot tell what the server serves", failures=found.failures)
        return listing(
            found,
            group=group,
            namespaced=namespaced,
            verb=verb,
            category=category,
            all_versions=all_versions,
        )

    async def whoami(self, *, timeout: float | None = None) -> UserInfo:
        """Who one is for the API server: its name for one, and the groups (``kubectl auth whoami``).

        Args:
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            Name, groups and what else the server knows; ``str()`` of it is the name.

        Raises:
            InvalidInput: ``timeout`` is no number of seconds.
            NoMatch: the server does not tell; Kubernetes does since 1.28.
            DiscoveryFailed: nobody could say whether the server tells.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        return await whoami(self.api, timeout)

    async def can(
        self,
        verb: str,
        resource: ResourceLike,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
        timeout: float | None = None,
    ) -> Permission:
        """Whether one may do something: ``if await client.can("create", "pods", "shop"): ...``.

        Asks the server (``kubectl auth can-i``), which answers from all its rules. The answer may be another one by
        the time of the request itself.

        Args:
            verb: the API's word: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch`` (apply is one, too),
                ``delete``, ``deletecollection``, ``"*"`` for all; or one of authorization's own (``bind``, ...).
            resource: as for :meth:`get`. One that is not served yet has to be named in full
                (``"widgets.v1.example.com"``). ``"*"`` is every resource; a text that begins with ``/`` is a path
                (``"/metrics"``). What only rules of access know goes with its own verbs: ``impersonate`` with
                ``users``, ``groups``, ``uids`` and ``userextras``; ``approve`` and ``sign`` with ``signers``.
            namespace: ``None`` means what the call itself would: all namespaces for ``list`` and ``watch`` without a
                name, else the context's. ``"*"`` means all.
            name: of the object.
            subresource: ``"log"``, ``"scale"``, ...
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            The answer, true or false, with the server's reason.

        Raises:
            InvalidInput: there is no such verb or subresource, nothing can have that name or be that namespace, or the
                arguments do not fit each other.
            WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
            NoMatch: the server serves no such resource.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: discovery failed for a group that may serve that name.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        question = Question(verb=verb, resource=resource, namespace=namespace, name=name, subresource=subresource)
        return await can(self.api, question, timeout)

    def _ipython_key_completions_(self) -> list[str]:
        """The names that fit after ``client["``: what is known of the server by now, without asking it."""
        known = self._known()
        return [] if known is None else completions(known.discovery)

    def _known(self) -> RESTMapper | None:
        try:
            return self.api.mapper.loaded
        except ClosedError:
            return None


def _refuse_pair(resource: ResourceLike) -> None:
    """Refuse kubectl's TYPE/NAME, which would be read as a malformed GROUP/VERSION/RESOURCE."""
    if isinstance(resource, str) and resource.count("/") == 1:
        kind, name = resource.split("/")
        if kind and name and not is_version(kind) and not is_version(name):
            raise InvalidInput(
                f"resource {resource!r} has a slash in it: write get({kind!r}, {name!r}) for one object, "
                f"or {f'{name}.{kind}'!r} for a resource of a group"
            )
