"""Request attributes available to faults, and matching of requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.errors import InvalidInput
from dynkube.meta import GVR, ResourceArg

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """Attributes of a request, parsed from method, path and headers, not validated.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: Unquoted path, without the query.
        params: Query parameters; the first value of each name.
        headers: Header fields by lower-case name. They include credentials, so they are not part of the ``repr``.
        verb: The Kubernetes verb (``"list"``, ``"watch"``, ...); ``""`` for non-resource paths.
        resource: The requested resource, even if it is not served; ``None`` for non-resource paths.
        namespace: Namespace in the path, or ``""``.
        name: Object name in the path, or ``""``.
        subresource: Subresource in the path, or ``""``.
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


#: A predicate that selects requests.
When: TypeAlias = Callable[[RequestFacts], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """Conditions that select requests; a request must meet all that are set."""

    verb: str | None = None
    resource: ResourceArg | None = None
    path_prefix: str = ""
    when: When | None = None

    def __post_init__(self) -> None:
        # Reject conditions that no request can meet: the fault would never apply, and the test would test nothing.
        if self.verb and self.verb not in _VERBS:
            raise InvalidInput(f"verb is {self.verb!r}: pass one of {', '.join(map(repr, _VERBS))}, or ''")
        if self.path_prefix and not self.path_prefix.startswith("/"):
            raise InvalidInput(f"path_prefix is {self.path_prefix!r}; paths begin with '/'")
        if self.when is not None and not callable(self.when):
            raise InvalidInput(f"when is {self.when!r}: pass a function of RequestFacts")

    def __call__(self, request: RequestFacts) -> bool:
        """Return whether ``request`` meets all conditions."""
        return (
            self.verb in {None, request.verb}
            and request.path.startswith(self.path_prefix)
            and (self.resource is None or means(self.resource, request.resource))
            and (self.when is None or bool(self.when(request)))
        )


def resource_arg(resource: str | GVR) -> ResourceArg:
    """Parse a resource name given by a test.

    Raises:
        InvalidInput: ``resource`` is malformed, or is the name of a kind.
    """
    if isinstance(resource, GVR):
        return ResourceArg(resource.resource, resource.version, resource.group)
    arg = ResourceArg.parse(resource)
    if arg.name != arg.name.lower():
        raise InvalidInput(f"resource {resource!r} is a kind: pass the plural that paths have, such as 'pods'")
    return arg


def means(arg: ResourceArg, resource: GVR | None) -> bool:
    """Return whether ``arg`` matches ``resource``.

    An omitted group or version matches any.
    """
    return (
        resource is not None
        and arg.name == resource.resource
        and arg.group in {None, resource.group}
        and arg.version in {None, resource.version}
    )
