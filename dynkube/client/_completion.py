"""``Resources``: resources as attributes and keys, for completion at a prompt.

It sends no requests, as completion must neither block nor fail, and uses the discovery data that the client has read so
far. All other attributes of the class begin with an underscore, because any other name may be a resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from keyword import iskeyword
from typing import Generic, TypeVar

from dynkube._displayable import Displayable
from dynkube.discovery import ResourceLike, RESTMapper
from dynkube.discovery._listing import completions
from dynkube.errors import InvalidInput, MappingError

R = TypeVar("R")


class Resources(Displayable, Generic[R]):
    """The resources of a cluster as attributes and keys.

    ``client.resources.deployments`` is ``client.resource("deployments")``.

    Attributes are plural names. If several groups have the same plural name, the one that kubectl prefers is used. Any
    other form of name is a key: ``client.resources["deployments.v1.apps"]``. ``dir()``, ``len()``, ``in`` and iteration
    use the resources discovered so far. Other names work too, as a CRD may be created at any time; if the resource is
    not served, its verbs raise :class:`~dynkube.errors.NoMatch`. Nothing here blocks or does I/O; safe to use on any
    thread.

    Created by :attr:`Client.resources`.
    """

    __slots__ = ("_known", "_verbs")

    def __init__(self, verbs: Callable[[ResourceLike], R], known: Callable[[], RESTMapper | None]) -> None:
        self._verbs = verbs
        self._known = known

    def __getattr__(self, name: str) -> R:
        # Tools probe every object for names such as _repr_png_ or __array__; no resource name looks like these.
        if name.startswith("_"):
            raise AttributeError(f"{name!r} is not a valid resource name")
        try:
            return self._verbs(name)
        except InvalidInput as exc:
            raise AttributeError(str(exc)) from None

    def __getitem__(self, resource: ResourceLike) -> R:
        return self._verbs(resource)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __contains__(self, resource: ResourceLike) -> bool:
        mapper = self._known()
        try:
            return mapper is not None and bool(mapper.resources_for(resource))
        except (InvalidInput, MappingError):
            return False

    def __dir__(self) -> Iterable[str]:
        names = (name for name in self._names() if name.isidentifier() and not iskeyword(name))
        return sorted({*super().__dir__(), *names})

    def _names(self) -> list[str]:
        mapper = self._known()
        return [] if mapper is None else completions(mapper.discovery)

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()

    def __repr__(self) -> str:
        return f"<Resources: {len(self)} known>"
