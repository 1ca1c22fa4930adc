"""What a fault may know about a request, and which requests a fault is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.errors import InvalidInput
from dynkube.meta import GVR, ResourceArg

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


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

    def __post_init__(self) -> None:
        # What no request can meet would never strike, and the test that waits for it would show nothing.
        if self.verb and self.verb not in _VERBS:
            raise InvalidInput(f"verb is {self.verb!r}; give one of {', '.join(map(repr, _VERBS))}, or ''")
        if self.path_prefix and not self.path_prefix.startswith("/"):
            raise InvalidInput(f"path_prefix is {self.path_prefix!r}; paths begin with '/'")
        if self.when is not None and not callable(self.when):
            raise InvalidInput(f"when is {self.when!r}; give a function of RequestFacts")

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
        InvalidInput: It is no name of a resource, or is that of a kind.
    """
    if isinstance(resource, GVR):
        return ResourceArg(resource.resource, resource.version, resource.group)
    arg = ResourceArg.parse(resource)
    if arg.name != arg.name.lower():
        raise InvalidInput(f"resource {resource!r} is a kind; give the plural that paths have, such as 'pods'")
    return arg


def means(arg: ResourceArg, resource: GVR | None) -> bool:
    """Whether ``arg`` names ``resource``; what it leaves out may be anything."""
    return (
        resource is not None
        and arg.name == resource.resource
        and arg.group in {None, resource.group}
        and arg.version in {None, resource.version}
    )
