"""``Rollout``: status, history, restart, undo, pause and resume of one workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import trio

from dynkube._bound import Bound
from dynkube._text.tables import printable
from dynkube.client import ResourceClient
from dynkube.client._client import APIClient
from dynkube.client._deadline import Deadline
from dynkube.client._options import check_timeout
from dynkube.discovery import ResourceLike
from dynkube.errors import DeadlineExceeded, DynkubeError, NoMatch
from dynkube.informers._dependents import owner_references
from dynkube.meta import GVR, Added, Deleted, LabelSelector, Modified, Unstructured, UnstructuredList, thaw
from dynkube.workloads._revisions import (
    RolloutHistory,
    check_revision,
    deployment_patch,
    of_controller_revisions,
    of_deployment,
)
from dynkube.workloads._rollout_status import RolloutError, RolloutPhase, RolloutStatus, mapping_at, rollout_status

_RESTARTED: Final = "kubectl.kubernetes.io/restartedAt"
_DEPLOYMENT: Final = ("apps", "Deployment")
_BY_REVISIONS: Final = frozenset({("apps", "StatefulSet"), ("apps", "DaemonSet")})
_WORKLOADS: Final = tuple(GVR("apps", "v1", name) for name in ("deployments", "statefulsets", "daemonsets"))
_REPLICA_SETS: Final = GVR("apps", "v1", "replicasets")
_CONTROLLER_REVISIONS: Final = GVR("apps", "v1", "controllerrevisions")


class Rollout(Bound):
    """The rollout of one workload; created by :meth:`dynkube.Client.rollout`.

    Deployments, StatefulSets and DaemonSets are treated as ``kubectl rollout`` does. Of any other kind, such as a
    custom resource, :meth:`status` and :meth:`wait` evaluate observedGeneration, numbers of replicas and conditions;
    :meth:`restart` works if the object has a pod template in ``spec.template``, :meth:`pause` and :meth:`resume` if it
    has a boolean ``spec.paused``.

    All methods raise the errors listed at :class:`~dynkube.ResourceClient`, besides those that they list themselves.
    After a method that writes was cancelled it is unknown whether the server executed the request.
    """

    __slots__ = ("_api", "_now", "_resource", "name", "namespace")

    def __init__(
        self, api: APIClient, resource: ResourceLike, name: str, namespace: str | None, now: Callable[[], datetime]
    ) -> None:
        self._api = api
        self._resource: ResourceClient = api.resource(resource)
        self._now = now
        self.name: str = name
        self.namespace: str | None = namespace

    async def status(self, *, timeout: float | None = None) -> RolloutStatus:
        """Return how far the rollout is now, like ``kubectl rollout status --watch=false``.

        ::

            print(await client.rollout("deploy", "web", namespace="shop").status())

        Args:
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The status: its phase, and the numbers of replicas that are updated, ready and available. A rollout that
            failed is a result, not an error.

        Raises:
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        return rollout_status(await self._get(timeout))

    async def wait(
        self, *, on_status: Callable[[RolloutStatus], object] | None = None, timeout: float | None = 600.0
    ) -> RolloutStatus:
        """Wait until the rollout is complete, like ``kubectl rollout status``.

        Watches this single object, which requires RBAC permission for get, list and watch, and reconnects like
        :meth:`dynkube.ResourceClient.watch`.

        Args:
            on_status: called with each status that differs from the one before, the first and the last included, to
                show the progress. If it raises, the wait ends with that exception.
            timeout: seconds; ``None`` waits forever.

        Returns:
            The status of the complete rollout.

        Raises:
            RolloutError: it does not complete: the progress deadline is exceeded, a condition says so, the update
                strategy has no rollout, or the object was deleted meanwhile. ``status`` is the last one.
            DeadlineExceeded: it was not complete in time; the message has the last status.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_timeout(timeout)
        seen = _Seen(on_status)
        with trio.move_on_after(float("inf") if timeout is None else timeout):
            first = await self._get(None)
            return seen.show(first) or await self._until_complete(first, seen)
        raise DeadlineExceeded(f"{self} was not complete within {timeout:g} s; last seen: {seen}")

    async def history(self, *, timeout: float | None = None) -> RolloutHistory:
        """Return the revisions of a Deployment, StatefulSet or DaemonSet, like ``kubectl rollout history``.

        Args:
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The revisions, oldest first; prints as a table.

        Raises:
            RolloutError: objects of this kind have no revisions; the message names the workloads that the object owns.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        deadline = Deadline.after(timeout)
        return await self._history(await self._get(timeout), deadline)

    async def restart(self, *, dry_run: bool = False, timeout: float | None = None) -> Unstructured:
        """Replace all pods gradually, like ``kubectl rollout restart``: sets an annotation of the pod template.

        Args:
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The object as stored. The pods are replaced afterwards: see :meth:`wait`.

        Raises:
            RolloutError: the object has no pod template, is paused, or was restarted in this second already: the
                annotation has the time in seconds, so nothing would change.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        deadline = Deadline.after(timeout)
        obj = await self._get(timeout)
        if not mapping_at(obj, "spec", "template", "spec").get("containers"):
            raise await self._unsupported(obj, "restarted, as it has no pod template in spec.template", deadline)
        if mapping_at(obj, "spec").get("paused") is True:
            raise RolloutError(f"{self} is paused, and would not be restarted: call resume() first")
        moment = self._now().isoformat(timespec="seconds").replace("+00:00", "Z")
        if mapping_at(obj, "spec", "template", "metadata", "annotations").get(_RESTARTED) == moment:
            raise RolloutError(
                f"{self} was not restarted, as nothing would change: a restart was triggered within the past second; "
                "wait a second before the next one"
            )
        template = {"metadata": {"annotations": {_RESTARTED: moment}}}
        return await self._patch(obj, {"spec": {"template": template}}, "merge", dry_run, deadline)

    async def undo(
        self, to_revision: int | None = None, *, dry_run: bool = False, timeout: float | None = None
    ) -> Unstructured:
        """Restore the pod template of an earlier revision, like ``kubectl rollout undo``.

        Args:
            to_revision: the number of the revision (see :meth:`history`); ``None`` means the one before the newest.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The object as stored. If it has this template already, nothing is written.

        Raises:
            RolloutError: there is no such revision, a Deployment is paused, or objects of this kind have no revisions.
            InvalidInput: ``to_revision`` is not the number of a revision.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        if to_revision is not None:
            check_revision(to_revision)
        deadline = Deadline.after(timeout)
        obj = await self._get(timeout)
        history = await self._history(obj, deadline)
        revision = history.previous() if to_revision is None else history.revision(to_revision)
        is_deployment = _kind(obj) == _DEPLOYMENT
        if is_deployment and mapping_at(obj, "spec").get("paused") is True:
            raise RolloutError(f"{self} is paused, so a change of its template would wait: call resume() first")
        if revision.current:
            return obj
        if is_deployment:
            return await self._patch(obj, deployment_patch(obj, revision), "json", dry_run, deadline)
        # The data of a ControllerRevision is a strategic merge patch that replaces the template.
        return await self._patch(obj, thaw(revision.object["data"]), "strategic", dry_run, deadline)

    async def pause(self, *, dry_run: bool = False, timeout: float | None = None) -> Unstructured:
        """Let changes of the pod template wait until :meth:`resume`, like ``kubectl rollout pause``.

        Args:
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The object as stored. If it is paused already, nothing is written.

        Raises:
            RolloutError: the object cannot be paused: it is not a Deployment and has no boolean ``spec.paused``.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        return await self._set_paused(True, dry_run, timeout)

    async def resume(self, *, dry_run: bool = False, timeout: float | None = None) -> Unstructured:
        """Carry out the changes that waited since :meth:`pause`, like ``kubectl rollout resume``.

        Args:
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The object as stored. If it is not paused, nothing is written.

        Raises:
            RolloutError: the object cannot be paused: it is not a Deployment and has no boolean ``spec.paused``.
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        return await self._set_paused(False, dry_run, timeout)

    def __str__(self) -> str:
        where = f" in namespace {self.namespace!r}" if self.namespace else ""
        return printable(f"{self._resource._target.spec} {self.name!r}{where}")

    def __repr__(self) -> str:
        return f"<Rollout of {self}>"

    async def _get(self, timeout: float | None) -> Unstructured:
        return await self._resource.get(self.name, namespace=self.namespace, timeout=timeout)

    async def _patch(
        self, obj: Unstructured, patch: Any, patch_type: Any, dry_run: bool, deadline: Deadline
    ) -> Unstructured:
        return await self._resource.patch(
            obj.name,
            patch,
            patch_type=patch_type,
            namespace=obj.namespace or None,
            dry_run=dry_run,
            timeout=deadline.left(),
        )

    async def _until_complete(self, first: Unstructured, seen: _Seen) -> RolloutStatus:
        watch = self._resource.watch(
            namespace=first.namespace or None, field_selector={"metadata.name": first.name}, bookmarks=False
        )
        async with watch as events:
            if events.pending:
                async for event in events:
                    match event:
                        case Added(obj) | Modified(obj) if obj.uid == first.uid:
                            if found := seen.show(obj):
                                return found
                        case Added() | Modified() | Deleted():
                            break
        raise RolloutError(f"{self} was deleted during its rollout; last seen: {seen}", status=seen.last)

    async def _history(self, obj: Unstructured, deadline: Deadline) -> RolloutHistory:
        if _kind(obj) == _DEPLOYMENT:
            return of_deployment(obj, await self._selected(_REPLICA_SETS, obj, deadline))
        if _kind(obj) in _BY_REVISIONS:
            return of_controller_revisions(obj, await self._selected(_CONTROLLER_REVISIONS, obj, deadline))
        raise await self._unsupported(obj, "rolled back, as objects of this kind have no revisions", deadline)

    async def _selected(self, gvr: GVR, obj: Unstructured, deadline: Deadline) -> UnstructuredList:
        selector = LabelSelector.parse(obj["spec"]["selector"])
        return await self._api.resource(gvr).list(
            namespace=obj.namespace, label_selector=selector, timeout=deadline.left()
        )

    async def _set_paused(self, paused: bool, dry_run: bool, timeout: float | None) -> Unstructured:
        deadline = Deadline.after(timeout)
        obj = await self._get(timeout)
        found = mapping_at(obj, "spec").get("paused")
        if _kind(obj) != _DEPLOYMENT and not isinstance(found, bool):
            raise await self._unsupported(obj, "paused or resumed, as it has no boolean spec.paused", deadline)
        if (found is True) == paused:
            return obj
        return await self._patch(obj, {"spec": {"paused": paused}}, "merge", dry_run, deadline)

    async def _unsupported(self, obj: Unstructured, problem: str, deadline: Deadline) -> RolloutError:
        """Return the error for a kind that cannot do what was asked; it names the workloads that the object owns."""
        owned = await self._owned_workloads(obj, deadline)
        instead = f": use client.rollout() with what it owns, {', '.join(owned)}" if owned else ""
        return RolloutError(f"{self} ({obj.kind}) cannot be {problem}{instead}")

    async def _owned_workloads(self, obj: Unstructured, deadline: Deadline) -> list[str]:
        found = []
        for gvr in _WORKLOADS:
            try:
                workloads = await self._api.resource(gvr).list(namespace=obj.namespace or None, timeout=deadline.left())
            except (NoMatch, DynkubeError):  # only a hint, and the user may not be allowed to list them
                continue
            found += [
                f"{gvr.resource}/{each.name}"
                for each in workloads
                if any(reference["uid"] == obj.uid for reference in owner_references(each))
            ]
        return found[:10]


class _Seen:
    """The last status of a wait."""

    def __init__(self, on_status: Callable[[RolloutStatus], object] | None) -> None:
        self._on_status = on_status
        self.last: RolloutStatus | None = None

    def show(self, obj: Unstructured) -> RolloutStatus | None:
        """Take a new state of the object; return its status if the rollout is complete.

        Raises:
            RolloutError: it does not complete.
        """
        status = rollout_status(obj)
        changed = self.last is None or _shown(status) != _shown(self.last)
        self.last = status
        if changed and self._on_status is not None:
            self._on_status(status)
        if status.phase in (RolloutPhase.FAILED, RolloutPhase.UNSUPPORTED):
            raise RolloutError(str(self), status=status)
        return status if status.complete else None

    def __str__(self) -> str:
        if self.last is None:
            return "nothing, the server did not respond"
        return "; ".join((self.last.message, *self.last.reasons))


def _shown(status: RolloutStatus) -> tuple[object, ...]:
    counts = (status.desired, status.updated, status.ready, status.available)
    return (status.phase, status.message, status.reasons, *counts)


def _kind(obj: Mapping[str, Any]) -> tuple[str, str]:
    return str(obj["apiVersion"]).partition("/")[0], str(obj["kind"])


def wall_clock() -> datetime:
    """Return the time for the annotation of a restart."""
    return datetime.now(UTC)
