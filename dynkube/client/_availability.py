"""Whether a resource is installed, asked now: of discovery, and of the definition that it is from."""

from __future__ import annotations

from typing import Final

from dynkube.client._deadline import Deadline
from dynkube.client._options import check_timeout
from dynkube.client._target import Target, as_answered
from dynkube.discovery import ResourceAvailability, definition_name, not_installed
from dynkube.errors import Forbidden, NoMatch, NotFound
from dynkube.meta import GVR, Unstructured, resource_path
from dynkube.rest import Request

_CRDS: Final = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


async def availability(target: Target, timeout: float | None) -> ResourceAvailability:
    """Ask the server for a resource, and for its definition.

    Raises:
        DynkubeError: nobody can tell.
    """
    check_timeout(timeout)
    deadline = Deadline.after(timeout)
    name, mapper = str(target.spec), target.session.mapper
    mapper.doubt(target.spec)  # what is known from before is no answer to what is served now
    try:
        resource = await target.resolve(timeout)
    except NoMatch as exc:  # its definition may be there all the same, and say why
        definition, _ = await _definition(target, definition_name(target.spec), deadline.left())
        why = not_installed(str(exc), definition is not None)
        return ResourceAvailability(name=name, definition=definition, message=why)
    known = mapper.loaded
    versions = () if known is None else known.discovery.versions_of(resource.gvr)
    definition, unread = await _definition(target, definition_name(resource.gvr), deadline.left())
    return ResourceAvailability(name=name, resource=resource, versions=versions, definition=definition, message=unread)


async def _definition(target: Target, name: str | None, timeout: float | None) -> tuple[Unstructured | None, str]:
    """The CRD of that name, and why it is not known."""
    if name is None:
        return None, ""
    request = Request(method="GET", path=resource_path(_CRDS, name=name), timeout=timeout)
    try:
        return as_answered(await target.session.rest.request(request)), ""
    except NotFound:  # built in, or of an aggregated API
        return None, ""
    except Forbidden as exc:
        return None, f"its definition may not be read: {exc}"
