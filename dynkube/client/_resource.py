"""``ResourceClient``: the verbs of one resource."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from dynkube._displayable import Displayable
from dynkube._text.tables import printable
from dynkube.client import _availability
from dynkube.client._conditions import ConditionLike, parse_condition
from dynkube.client._options import FieldSelectorLike, LabelSelectorLike, Selection, check_timeout
from dynkube.client._subresource import SubresourceClient
from dynkube.client._verbs import wait_for
from dynkube.client._verbs.apply import ApplyVerbs
from dynkube.client._verbs.change import ChangeVerbs
from dynkube.client._verbs.ownership import OwnershipVerbs
from dynkube.client._verbs.read import ReadVerbs
from dynkube.client._verbs.write import WriteVerbs
from dynkube.client._watch import opening
from dynkube.client._watch.stream import Watch
from dynkube.discovery import APIResource, ResourceAvailability
from dynkube.meta import Unstructured


class ResourceClient(Displayable, ReadVerbs, WriteVerbs, ChangeVerbs, ApplyVerbs, OwnershipVerbs):
    """The verbs of one resource; created by :meth:`APIClient.resource`.

    Group, version and scope are looked up in the REST mapper when a verb is called, so a CRD that is created
    later, or recreated with another scope, is found without making a new client.

    ``namespace=None`` means **all namespaces** for collections (``list``, ``iterate``, ``watch``) and **the
    context's namespace** for single objects. A namespace for a cluster-scoped resource is rejected before any
    request is sent. An object to be written may carry its namespace in its metadata.

    Verbs block until the server has responded. After a verb was cancelled it is unknown whether the server executed
    the request. Arguments that several verbs have in common:

    - ``timeout``: seconds for the whole call, including retries and discovery; ``None`` means the client's default
      for each request.
    - ``dry_run``: the server validates, applies defaults and responds, but persists nothing.
    - ``field_manager``: recorded as owner of the written fields; ``None`` means the client's field manager.
    - ``field_validation``: how the server treats unknown and duplicate fields: ``"Ignore"``, ``"Warn"``
      (the server's default) or ``"Strict"``.

    All verbs raise subclasses of :class:`~dynkube.errors.DynkubeError`:

    - :class:`~dynkube.errors.InvalidInput`: an argument is invalid; nothing was sent.
      :class:`~dynkube.errors.InvalidSelector` and :class:`~dynkube.errors.WrongScope` (a namespace for a
      cluster-scoped resource, or no namespace for a namespaced one) are subclasses;
    - :class:`~dynkube.errors.MappingError`: the name does not resolve to one resource: ``NoMatch``,
      ``AmbiguousMatch`` or ``DiscoveryFailed``, see :meth:`resolve`;
    - :class:`~dynkube.errors.APIError`: the server returned an error response: ``Unauthorized``, ``Forbidden``,
      ``NotFound``, ``TooManyRequests``, ... A 404 for the resource, not the object, makes a verb discover the resource
      again and repeat the request once, as the CRD may serve another version now, or the server is just starting.
      ``NotFound`` is about the object if ``error.status.name`` is its name;
    - :class:`~dynkube.errors.TransportError`: no usable response: ``ConnectFailed``, ``DeadlineExceeded``, ...;
    - :class:`~dynkube.errors.CredentialError`: no credential could be obtained;
    - :class:`~dynkube.errors.ClosedError`: the client is not open.
    """

    __slots__ = ()

    async def resolve(self, *, timeout: float | None = None) -> APIResource:
        """Return the resource's GVR, kind, scope and verbs.

        Args:
            timeout: seconds for all discovery requests together; ``None`` means the client's default for each request.

        Returns:
            The resource as the server serves it now.

        Raises:
            NoMatch: the server does not serve it.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: discovery failed for a group that may serve it.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        return await self._target.resolve(timeout)

    async def availability(self, *, timeout: float | None = None) -> ResourceAvailability:
        """Ask the server whether the resource is served.

        The result has scope, verbs, versions and the conditions of its CRD.

        ::

            if not await client["httproutes.gateway.networking.k8s.io"].availability():
                ...

        A resource that is not served is a false result, not an error. A CRD that exists but is not established yet is
        found if the resource is given as plural and full group. If the CRD cannot be read, ``message`` gives the reason
        and the result has what discovery returned. Notebooks render the result; the display of a ResourceClient
        sends no requests and shows only what was read before.

        Args:
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The availability; true if the resource is served.

        Raises:
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: discovery failed for a group that may serve it.
            APIError: any other error response to discovery.
            TransportError: no usable response to discovery.
        """
        return await _availability.availability(self._target, timeout)

    def subresource(self, name: str) -> SubresourceClient:
        """Return the verbs of a subresource.

        Does no I/O: an unknown subresource is an error when a verb is called.

        Args:
            name: ``"status"``, ``"scale"``, ``"eviction"``, ...

        Raises:
            InvalidInput: not a valid subresource name.
        """
        return SubresourceClient(self._target, name)

    def watch(
        self,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        resource_version: str | None = None,
        bookmarks: bool = True,
    ) -> AbstractAsyncContextManager[Watch]:
        """Watch a collection, reconnecting as needed.

        ::

            async with resource.watch(namespace="shop") as events:
                async for event in events:      # Added | Modified | Deleted | Bookmark
                    ...

        Starts with an Added event for each existing object. When a request ends, breaks, idles too long or gets a
        transient error response (429, 5xx), the next one resumes from the last resourceVersion seen. So it does after
        a 401, 403 or 404, which an API server sends while it starts, too; if the CRD serves another version meanwhile,
        and ``client.resource`` was called without one, the watch goes on in that version. When the
        resourceVersion has expired (410, as a response or as an event), the collection is listed again and the
        difference to the events so far is emitted as Added, Modified and Deleted events. Such a Deleted event has the
        object's identity but not its last state. For this purpose key, uid and resourceVersion of each object are kept
        in memory.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: restrict by labels; an object that stops matching is emitted as Deleted.
            field_selector: restrict by fields; an object that stops matching is emitted as Deleted.
            resource_version: start after this resourceVersion, as returned by a list. No state is kept then, so an
                expired resourceVersion raises :class:`~dynkube.errors.Gone`. ``"0"`` starts like ``None``, but from
                any state the server has cached.
            bookmarks: also yield bookmarks (about one a minute): all events up to their resourceVersion were seen.

        Returns:
            A context manager. Entering it sends the first request and raises any error of that request, including
            connection failures; leaving it closes the request at once.

        Raises:
            InvalidSelector: a selector is malformed.
            Unauthorized: authentication failed. This and the next two are raised on entering; and while iterating, once
                each request of a minute got such a response.
            Forbidden: RBAC does not allow list or watch.
            NotFound: the resource is no longer served.
            Gone: ``resource_version`` was given and has expired.
            ProtocolError: responses are still unreadable after the watch was restarted.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        selection = Selection.parse(label_selector, field_selector)
        return opening.open_watch(
            self._target, namespace, selection, resource_version=resource_version, bookmarks=bookmarks
        )

    async def wait_for(
        self,
        name: str,
        condition: ConditionLike,
        *,
        namespace: str | None = None,
        timeout: float | None = 30.0,
        uid: str | None = None,
    ) -> Unstructured | None:
        """Wait until an object meets a condition, like ``kubectl wait``.

        It need not exist yet. Lists and watches this single object, which requires RBAC permission for both verbs.
        Reconnects like :meth:`watch`.

        Args:
            name: name of the object.
            condition: as for ``kubectl wait --for``: ``"condition=Ready"``, ``"condition=Ready=False"``,
                ``"jsonpath={.status.phase}=Running"``, ``"jsonpath={.status.loadBalancer.ingress}"`` (any
                non-empty value), ``"create"``, ``"delete"``; or a predicate called with the object.
            namespace: ``None`` means the context's namespace.
            timeout: seconds; ``None`` waits forever.
            uid: with ``"delete"``: uid of the object that has to be deleted; by default that of the first object seen.
                A new object of the same name does not prolong the wait.

        Returns:
            The object that met the condition. For ``"delete"`` the object as last seen, or ``None`` if it did not
            exist at the start.

        Raises:
            DeadlineExceeded: the condition was not met in time; the message has the last state seen.
            InvalidInput: the condition is malformed.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        return await wait_for.wait_for(self._target, name, parse_condition(condition, uid=uid), namespace, timeout)

    def __repr__(self) -> str:
        return printable(f"<ResourceClient {self._target.spec}>")
