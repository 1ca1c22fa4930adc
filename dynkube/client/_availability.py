"""Availability of a resource, read from the server: discovery, and its CRD."""

from __future__ import annotations

from typing import Final, NamedTuple

from dynkube.client._deadline import Deadline
from dynkube.client._options import check_timeout
from dynkube.client._target import Target, as_answered
from dynkube.discovery import ResourceAvailability
from dynkube.discovery._failures import plain_failures
from dynkube.discovery._lookup import Lookup, definition_name
from dynkube.discovery._suggestions import not_installed, unresolved_message
from dynkube.errors import APIError, DiscoveryFailed, Forbidden, NoMatch, TransportError
from dynkube.errors._evidence import proves_deletion
from dynkube.meta import GVR, Unstructured
from dynkube.meta._path import resource_path
from dynkube.rest._messages import Request

_CRDS: Final = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


async def availability(target: Target, timeout: float | None) -> ResourceAvailability:
    """Read a resource from discovery, and its CRD.

    If the CRD cannot be read, the result has the reason.

    Raises:
        DynkubeError: it cannot be determined whether the resource is served.
    """
    check_timeout(timeout)
    deadline = Deadline.after(timeout)
    name, mapper = str(target.spec), target.session.mapper
    mapper.doubt(target.spec)  # stale data must not pass as the current state
    try:
        resource = await target.resolve(timeout)
    except NoMatch:  # the CRD may exist nevertheless, and its conditions give the reason
        read = await _definition(target, definition_name(target.spec), deadline)
        try:
            if read.absent:
                raise
            mapper.recheck(target.spec, at_once=True)  # one answer is no evidence
            resource = await target.resolve(deadline.left())
        except NoMatch as exc:
            why = "; ".join(filter(None, (not_installed(str(exc), read.crd is not None), read.unread)))
            return ResourceAvailability(name=name, definition=read.crd, message=why)
    known = mapper.loaded
    assert known is not None, "it resolved the name"
    # What was known before discovery failed is good enough for requests, but not for this question.
    if failures := known.relevant_failures(Lookup.of(resource.gvr)):
        with plain_failures():
            raise DiscoveryFailed(unresolved_message(name, failures), failures=failures)
    versions = known.discovery.versions_of(resource.gvr)
    read = await _definition(target, definition_name(resource.gvr), deadline)
    return ResourceAvailability(
        name=name, resource=resource, versions=versions, definition=read.crd, message=read.unread
    )


async def has_definition(target: Target, gvr: GVR) -> bool:
    """Return whether the CRD of a resource exists, so that its objects may, although no version is served.

    ``False`` if that cannot be read.
    """
    return (await _definition(target, definition_name(gvr), Deadline.after(None))).crd is not None


class _Definition(NamedTuple):
    """The CRD of a resource: the CRD if there is one, why it could not be read, whether it certainly does not exist."""

    crd: Unstructured | None = None
    unread: str = ""
    absent: bool = False


async def _definition(target: Target, name: str | None, deadline: Deadline) -> _Definition:
    if name is None:  # of a built-in resource, or the name is not known
        return _Definition()
    try:
        request = Request(method="GET", path=resource_path(_CRDS, name=name), timeout=deadline.left())
        return _Definition(as_answered(await target.session.rest.request(request)))
    except Forbidden as exc:
        return _Definition(unread=f"no permission to read its CRD: {exc}")
    except (APIError, TransportError) as exc:
        if proves_deletion(exc):  # of an aggregated API, if it is served nevertheless
            return _Definition(absent=True)
        return _Definition(unread=f"its CRD could not be read: {exc}")
