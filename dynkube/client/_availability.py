"""Availability of a resource, read from the server: discovery, and its CRD."""

from __future__ import annotations

from typing import Final

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
    except NoMatch:
        mapper.recheck(target.spec, at_once=True)  # one answer is no evidence
        try:
            resource = await target.resolve(deadline.left())
        except NoMatch as exc:  # the CRD may exist nevertheless, and its conditions give the reason
            definition, unread = await _definition(target, definition_name(target.spec), deadline)
            why = "; ".join(filter(None, (not_installed(str(exc), definition is not None), unread)))
            return ResourceAvailability(name=name, definition=definition, message=why)
    known = mapper.loaded
    assert known is not None, "it resolved the name"
    # What was known before discovery failed is good enough for requests, but not for this question.
    if failures := known.relevant_failures(Lookup.of(resource.gvr)):
        with plain_failures():
            raise DiscoveryFailed(unresolved_message(name, failures), failures=failures)
    versions = known.discovery.versions_of(resource.gvr)
    definition, unread = await _definition(target, definition_name(resource.gvr), deadline)
    return ResourceAvailability(name=name, resource=resource, versions=versions, definition=definition, message=unread)


async def has_definition(target: Target, gvr: GVR) -> bool:
    """Return whether the CRD of a resource exists, so that its objects may, although no version is served.

    ``False`` if that cannot be read.
    """
    definition, _ = await _definition(target, definition_name(gvr), Deadline.after(None))
    return definition is not None


async def _definition(target: Target, name: str | None, deadline: Deadline) -> tuple[Unstructured | None, str]:
    """Return the CRD of that name, if any, and why it could not be read, else ``""``."""
    if name is None:
        return None, ""
    try:
        request = Request(method="GET", path=resource_path(_CRDS, name=name), timeout=deadline.left())
        return as_answered(await target.session.rest.request(request)), ""
    except Forbidden as exc:
        return None, f"no permission to read its CRD: {exc}"
    except (APIError, TransportError) as exc:
        # Built-in resources, and those of aggregated APIs, have none.
        return None, "" if proves_deletion(exc) else f"its CRD could not be read: {exc}"
