"""ResourceClient: the verbs on one resource, family by family."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from dynkube._display import Shown, printable
from dynkube.client import _availability, _wait, _watching
from dynkube.client._apply_verbs import ApplyVerbs
from dynkube.client._conditions import ConditionLike, parse_condition
from dynkube.client._options import FieldSelectorLike, LabelSelectorLike, Selection, check_timeout
from dynkube.client._ownership_verbs import OwnershipVerbs
from dynkube.client._read_verbs import ReadVerbs
from dynkube.client._subresource import SubresourceClient
from dynkube.client._watch import Watch
from dynkube.client._write_verbs import WriteVerbs
from dynkube.discovery import APIResource, ResourceAvailability
from dynkube.meta import Unstructured

if TYPE_CHECKING:
    from dynkube._display import Card


class ResourceClient(Shown, ReadVerbs, WriteVerbs, ApplyVerbs, OwnershipVerbs):
    """The verbs on one resource; made by :meth:`APIClient.resource`, which does no I/O.

    What the resource is (its group and version, whether it lives in namespaces) is asked of the mapper when
    a verb needs it, so a CRD that is created later, or again with another scope, is simply found.

    ``namespace=None`` means **all namespaces** for collections (``list``, ``iterate``, ``watch``) and **the
    context's namespace** for single objects. A namespace for a cluster-scoped resource is refused before
    anything is sent. An object that is written may say its namespace itself.

    Verbs block until the server answered; cancelling one leaves open whether the server did it. Common to all:

    - ``timeout``: seconds for everything, retries and what is read to know the resource included; ``None`` means the
      client's default for each request.
    - ``dry_run``: the server checks, defaults and answers, and changes nothing.
    - ``field_manager``: who is recorded as owner of the fields; ``None`` means the client's.
    - ``field_validation``: what the server does about unknown and doubled fields: ``"Ignore"``, ``"Warn"``
      (its default) or ``"Strict"``.

    Besides what each says of itself, all of them raise :class:`~dynkube.errors.DynkubeError`, which is one of

    - :class:`~dynkube.errors.InvalidInput` where the call cannot be right, before anything is sent;
      :class:`~dynkube.errors.InvalidSelector` and :class:`~dynkube.errors.WrongScope` (a namespace for a
      cluster-scoped resource, or none to be had for a namespaced one) are such;
    - :class:`~dynkube.errors.MappingError` where it is not known which resource is meant: ``NoMatch``,
      ``AmbiguousMatch`` or ``DiscoveryFailed``, see :meth:`resolve`;
    - :class:`~dynkube.errors.APIError` where the server says no: ``Unauthorized``, ``Forbidden``, ``NotFound``, also
      for a resource that is gone, ``TooManyRequests``, ...;
    - :class:`~dynkube.errors.TransportError` where there is no usable answer: ``ConnectFailed``,
      ``DeadlineExceeded``, ...;
    - :class:`~dynkube.errors.CredentialError` where there is no credential to send;
    - :class:`~dynkube.errors.ClosedError` where the client is not open.
    """

    __slots__ = ()

    async def resolve(self, *, timeout: float | None = None) -> APIResource:
        """What the resource is: its GVR, kind, scope and verbs.

        Args:
            timeout: seconds for everything that is read for it; ``None`` means the client's default for each request.

        Returns:
            It, as the server serves it now.

        Raises:
            NoMatch: the server does not serve it.
            AmbiguousMatch: the name means several resources.
            DiscoveryFailed: the server answered, and not for what could have it.
            DynkubeError: as the class says.
        """
        check_timeout(timeout)
        return await self._target.resolve(timeout)

    async def availability(self, *, timeout: float | None = None) -> ResourceAvailability:
        """Whether the resource is installed, asked now: scope, verbs, versions, and the conditions of its definition.

        ::

            if not await client["httproutes.gateway.networking.k8s.io"].availability():
                ...

        That it is not served is an answer, and no error. A definition that is there and does not count yet is found
        by a plural with its whole group. Notebooks show the answer; what the verbs show of themselves
        asks nobody, and has no more than was read before. Where the definition cannot be read, for whichever reason,
        the answer says so in its ``message``, and has what discovery told.

        Args:
            timeout: see the class.

        Returns:
            The answer, true or false.

        Raises:
            AmbiguousMatch: the name means several resources.
            DiscoveryFailed: the server answered, and not for what could have it.
            APIError: discovery was refused in another way.
            TransportError: no usable answer of discovery.
        """
        return await _availability.availability(self._target, timeout)

    def subresource(self, name: str) -> SubresourceClient:
        """The verbs on a subresource. A plain call: whether the server has it shows when a verb is used.

        Args:
            name: ``"status"``, ``"scale"``, ``"eviction"``, ...

        Raises:
            InvalidInput: it cannot be the name of one.
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
        """Follow a collection; resumes by itself.

        ::

            async with resource.watch(namespace="shop") as events:
                async for event in events:      # Added | Modified | Deleted | Bookmark
                    ...

        Begins with an Added for each object that is there. When a request ends, breaks, goes silent or is
        refused for a while (429, 5xx), the next one goes on from the last version seen. When the server no
        longer has the history since (410 in any form), the collection is listed again, and what differs
        from what was shown comes as Added, Modified and Deleted; such a Deleted carries the object's
        identity and not its last state. For that, key, uid and resourceVersion of each object are kept.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: which objects, by labels; one that is no longer selected comes as Deleted.
            field_selector: likewise by fields.
            resource_version: of a list you have: only what happened since comes, and nothing is kept, so
                that lost history is :class:`~dynkube.errors.Gone`. ``"0"`` begins as ``None`` does, with
                whatever the server has at hand.
            bookmarks: also hand out bookmarks, about one a minute: everything up to their version was seen.

        Returns:
            A context manager. Entering it makes the first contact and raises whatever prevents that, the
            network included; leaving it ends the request at once.

        Raises:
            InvalidSelector: a selector does not parse.
            Unauthorized: on entering, and while iterating, as all that follow.
            Forbidden: the user may not list or watch.
            NotFound: the resource is gone.
            Gone: see ``resource_version``.
            ProtocolError: answers stay unreadable although the watch was tried anew.
            DynkubeError: as the class says.
        """
        selection = Selection.parse(label_selector, field_selector)
        return _watching.open_watch(
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
        """Wait until an object is as wanted. It need not exist yet.

        Lists and watches this one object, so the user needs those verbs; resumes as :meth:`watch` does.

        Args:
            name: of the object.
            condition: as for ``kubectl wait --for``: ``"condition=Ready"``, ``"condition=Ready=False"``,
                ``"jsonpath={.status.phase}=Running"``, ``"jsonpath={.status.loadBalancer.ingress}"`` (is
                there at all), ``"create"``, ``"delete"``; or a function of the object.
            namespace: ``None`` means the context's.
            timeout: seconds; ``None`` waits for ever.
            uid: with ``"delete"``: which object is meant; without it, the first one that is seen. Another
                object of the same name does not keep this waiting.

        Returns:
            The object for which the condition holds. For ``"delete"`` the object as last seen, or ``None``
            if it was not there to begin with.

        Raises:
            DeadlineExceeded: it did not come true in time; the message says what was seen last.
            InvalidInput: the condition is none of these.
            DynkubeError: as the class says.
        """
        return await _wait.wait_for(self._target, name, parse_condition(condition, uid=uid), namespace, timeout)

    def __repr__(self) -> str:
        return printable(f"<ResourceClient {self._target.spec}>")

    def _card(self, now: datetime) -> Card:
        session = self._target.session
        return session.mapper.card_of(self._target.spec, session.definition)
