"""What a fault may know about a request, and which requests a fault is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.meta import GVR, ResourceArg


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a request asks for, as its method, path and headers say it; nobody has checked any of it.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: Unquoted, without the query.
        params: The query; the first value of each name.
        headers: Names in lower case. Credentials are among them, so they are not part of the ``repr``.
        verb: The Kubernetes verb (``"list"``, ``"watch"``, ...); ``""`` for paths that are no resources.
        resource: What it is about, served or not; ``None`` for paths that are no resources.
        namespace: From the path.
        name: From the path.
        subresource: From the path.
    """

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    verb: str = ""
    resource: GVR | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""


#: A condition of a user's own on requests.
When: TypeAlias = Callable[[RequestFacts], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """Which requests a fault is for: those that meet everything given."""

    verb: str | None = None
    resource: ResourceArg | None = None
    path_prefix: str = ""
    when: When | None = None

    def __call__(self, request: RequestFacts) -> bool:
        """Whether it is for ``request``."""
        return (
            self.verb in {None, request.verb}
            and request.path.startswith(self.path_prefix)
            and (self.resource is None or means(self.resource, request.resource))
            and (self.when is None or bool(self.when(request)))
        )


def resource_arg(resource: str | GVR) -> ResourceArg:
    """``resource`` as a test names it.

    Raises:
        InvalidInput: It is no name of a resource.
    """
    if isinstance(resource, GVR):
        return ResourceArg(resource.resource, resource.version, resource.group)
    return ResourceArg.parse(resource)


def means(arg: ResourceArg, resource: GVR | None) -> bool:
    """Whether ``arg`` names ``resource``; what it leaves out may be anything."""
    return (
        resource is not None
        and arg.name == resource.resource
        and arg.group in {None, resource.group}
        and arg.version in {None, resource.version}
    )
