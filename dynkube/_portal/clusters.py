"""Informers of several clusters, as the argument of a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Self, TypeVar

import trio

from dynkube import informers
from dynkube._portal.informers import InformerFacade
from dynkube._portal.thread import TrioThread
from dynkube._text.tables import printable
from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta._arguments import a_type

F = TypeVar("F", bound=InformerFacade)

_LONGEST: Final = 200  # characters of a name
_EXPECTED: Final = "{'name of the cluster': client.informer(...), ...}"


class ClusterInformers:
    """Open informers by the names of their clusters, all of the same trio thread."""

    def __init__(self, inner: dict[str, informers.Informer], thread: TrioThread) -> None:
        self.inner = inner
        self.thread = thread

    @classmethod
    def of(cls, given: object, kind: type[F], check_open: Callable[[F], None]) -> Self:
        """Check an argument.

        Args:
            given: the argument.
            kind: the informers of this API.
            check_open: raises ClosedError if an informer is closed.

        Raises:
            InvalidInput: not a mapping from names to different informers of the kind, or an empty one.
            ClosedError: an informer is closed, or its client was opened before the process was forked.
        """
        if not isinstance(given, Mapping):
            raise InvalidInput(f"informers is {a_type(given)}: pass {_EXPECTED}")
        if not given:
            raise InvalidInput(f"informers is empty: pass {_EXPECTED}")
        members: dict[str, F] = {}
        for cluster, informer in given.items():
            _check_name(cluster)
            if not isinstance(informer, kind):
                api = kind.__module__.rpartition(".")[0]
                raise InvalidInput(f"cluster {cluster!r} is {a_type(informer)}: pass client.informer(...) of {api}")
            if informer in members.values():
                raise InvalidInput(f"the informer of cluster {cluster!r} is that of another one: create one for each")
            _check_usable(cluster, informer, check_open)
            members[cluster] = informer
        return cls(*_of_one_thread(members))

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """Start a task that ends by itself when the informers are closed, or with the thread."""
        self.thread.spawn(function, trio.CancelScope())


def _check_name(cluster: object) -> None:
    if not isinstance(cluster, str) or not cluster.strip():
        raise InvalidInput(f"the name of a cluster is {cluster!r}: pass a string that is not empty")
    if len(cluster) > _LONGEST or " ".join(printable(cluster).split()) != cluster:
        raise InvalidInput(
            f"the name of a cluster is {cluster[:_LONGEST]!r}: pass one line of at most {_LONGEST} printable "
            "characters, with single spaces between words"
        )


def _check_usable(cluster: str, informer: F, check_open: Callable[[F], None]) -> None:
    try:
        check_open(informer)
    except ClosedError as exc:
        raise ClosedError(f"cluster {cluster!r}: {exc}") from None


def _of_one_thread(members: Mapping[str, InformerFacade]) -> tuple[dict[str, informers.Informer], TrioThread]:
    """Return the informers, and the trio thread that all open clients of a process share."""
    (first, informer), *others = members.items()
    for cluster, other in others:
        if other._thread is not informer._thread:
            raise ClosedError(
                f"the clients of clusters {first!r} and {cluster!r} have different background threads, as one was "
                "opened before the process was forked: connect again in the new process"
            )
    return {cluster: each._inner for cluster, each in members.items()}, informer._thread
