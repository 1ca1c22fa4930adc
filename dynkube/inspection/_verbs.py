"""A client's verbs for looking at objects and kinds: events, descriptions, fields, usage."""

from __future__ import annotations

from dynkube.client import LabelSelectorLike
from dynkube.client._client import APIClient
from dynkube.client._deadline import within
from dynkube.client._options import check_timeout
from dynkube.discovery import ResourceLike
from dynkube.inspection._description import Description, describe
from dynkube.inspection._event_list import ObjectEvents
from dynkube.inspection._explanation import Explanation, explain
from dynkube.inspection._owned import owned_objects
from dynkube.inspection._reading import events_below, events_of, read_object
from dynkube.inspection._usage import SortBy, Usages, top_nodes, top_pods
from dynkube.meta import Unstructured


class InspectionVerbs:
    """The verbs of a client for looking at objects and kinds."""

    @property
    def _api(self) -> APIClient:
        raise NotImplementedError

    async def events_for(
        self,
        about: ResourceLike | Unstructured,
        name: str | None = None,
        *,
        namespace: str | None = None,
        owned: bool = False,
        timeout: float | None = None,
    ) -> ObjectEvents:
        """Return the events about an object, of any kind (``kubectl events --for``).

        ::

            print(await client.events_for("deploy", "web", namespace="shop", owned=True))

        Args:
            about: a resource as kubectl takes it, with ``name``; or an object as it was read, also of one that was
                deleted since.
            name: name of the object.
            namespace: ``None`` means the context's namespace.
            owned: also events about what it owns, such as the pods of a Deployment. Nothing tells which kinds it owns,
                so the metadata of all objects in its namespace is listed (for a cluster-scoped object, of all objects).
            timeout: seconds for the whole call; ``None`` means the client's default for each request.

        Returns:
            The events, the latest last; those that say the same are one, with their count. ``notes`` names resources
            that could not be listed.

        Raises:
            InvalidInput: neither an object nor a resource and a name.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        with within(timeout, "the events were not read"):
            if isinstance(about, Unstructured) and about.name and name is None and namespace is None:
                obj = about  # it may be deleted already
            else:
                obj = await read_object(self._api, about, name, namespace)
            if not owned:
                return await events_of(self._api, obj)
            return await events_below(self._api, await owned_objects(self._api, obj))

    async def describe(
        self,
        about: ResourceLike | Unstructured,
        name: str | None = None,
        *,
        namespace: str | None = None,
        owned: bool = True,
        events: bool = True,
        timeout: float | None = None,
    ) -> Description:
        """Return an object of any kind with what surrounds it (``kubectl describe``).

        Its fields as YAML, conditions, owners, the columns that the server prints (for custom resources those of their
        CRD), what it owns, and the events about all of these. Prints as text, and is a card in notebooks; values of
        Secrets are masked.

        Args:
            about: a resource as kubectl takes it, with ``name``; or an object as it was read, which is read again.
            name: name of the object.
            namespace: ``None`` means the context's namespace.
            owned: whether to look for what it owns: that lists the metadata of all objects in its namespace (for a
                cluster-scoped object, of all objects), and reads up to 50 of those found.
            events: whether to read events.
            timeout: seconds for the whole call; ``None`` means the client's default for each request.

        Returns:
            The description. What could not be read, for example because RBAC forbids it, is in its ``notes``.

        Raises:
            InvalidInput: neither an object nor a resource and a name.
            NotFound: there is no object of that name.
            DynkubeError: the object could not be read; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        with within(timeout, "the object was not described"):
            obj = await read_object(self._api, about, name, namespace)
            return await describe(self._api, obj, owned=owned, events=events)

    async def explain(
        self, what: str, *, recursive: bool = False, api_version: str | None = None, timeout: float | None = None
    ) -> Explanation:
        """Return the fields of a kind, or of one of its fields, with types and texts (``kubectl explain``).

        ::

            print(await client.explain("deploy.spec.template.spec.containers"))

        From the server's OpenAPI v3 (since Kubernetes 1.24), for built-in and custom resources alike; on older servers
        for custom resources from the schema of their CRD.

        Args:
            what: a resource as kubectl takes it, optionally with its group (``"widgets.example.com"``), and a path of
                fields below it; lists and maps are passed through.
            recursive: also the fields below, without their texts when printed.
            api_version: the version to explain, such as ``"apps/v1"``; ``None`` means the server's preferred one.
            timeout: seconds for the whole call; ``None`` means the client's default for each request.

        Returns:
            The explanation; its ``fields`` are sorted by name.

        Raises:
            InvalidInput: there is no such field; the message has similar ones. Or ``what`` is malformed.
            NoMatch: the server serves no such resource, or has no schema of it.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        with within(timeout, "nothing was explained"):
            return await explain(self._api, what, api_version, recursive=recursive)

    async def top_pods(
        self,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        containers: bool = False,
        sort_by: SortBy = "name",
        timeout: float | None = None,
    ) -> Usages:
        """Return the CPU and memory that pods use (``kubectl top pods``), from the metrics API.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: restrict by labels.
            containers: each container by itself.
            sort_by: ``"cpu"`` or ``"memory"`` for the largest first, or ``"name"``.
            timeout: seconds for the whole call; ``None`` means the client's default for each request.

        Returns:
            The usages; prints as a table.

        Raises:
            NoMatch: the metrics API is not installed; the message says how to get it.
            InvalidInput: an argument is invalid.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        with within(timeout, "the usage of pods was not read"):
            return await top_pods(self._api, namespace, label_selector, sort_by, containers=containers)

    async def top_nodes(
        self, *, label_selector: LabelSelectorLike = None, sort_by: SortBy = "name", timeout: float | None = None
    ) -> Usages:
        """Return the CPU and memory that nodes use (``kubectl top nodes``), from the metrics API.

        Args:
            label_selector: restrict by labels.
            sort_by: ``"cpu"`` or ``"memory"`` for the largest first, or ``"name"``.
            timeout: seconds for the whole call; ``None`` means the client's default for each request.

        Returns:
            The usages, with the percentage of what the node can allocate to pods. A node without metrics has ``None``.

        Raises:
            NoMatch: the metrics API is not installed; the message says how to get it.
            InvalidInput: an argument is invalid.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        with within(timeout, "the usage of nodes was not read"):
            return await top_nodes(self._api, label_selector, sort_by)
