"""What a scenario works with: a tiny cluster, a client of it, and the means to say what must not happen."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from types import ModuleType
from typing import Any, Final

import trio

import dynkube
from dynkube import Client
from dynkube.errors import NotFound
from dynkube_testing import APIServer

START: Final = datetime(2026, 11, 1, tzinfo=UTC)
Object = dict[str, Any]


class Violation(Exception):
    """Something was claimed that the server's state does not justify."""


def now() -> datetime:
    """Return the wall clock of virtual time."""
    return START + timedelta(seconds=trio.current_time())


@dataclass
class Lab:
    """One run of a scenario.

    Attributes:
        server: the embedded server.
        client: the client under test.
        notes: what happened, for the table.
        document: the transient answer is a discovery document, and no error response.
        closed_to_errors: an exception of the library that arrives now is a violation.
    """

    server: APIServer
    client: Client
    document: bool = False
    notes: list[str] = field(default_factory=list)
    closed_to_errors: bool = False
    _failed: list[str] = field(default_factory=list)

    def opened(self) -> None:
        """Note that a stream is open: one transient answer must not end it any more."""
        self.closed_to_errors = True

    def note(self, text: str) -> None:
        """Add a text to what happened, unless it was the last one."""
        if self.notes[-1:] != [text]:
            self.notes.append(text)

    def fail(self, claim: str) -> None:
        """Note a violation from a handler, where an exception would be caught; :meth:`settle` raises the first one."""
        self._failed.append(claim)

    def settle(self) -> None:
        """Raise what was noted by :meth:`fail`.

        Raises:
            Violation: something was.
        """
        if self._failed:
            raise Violation(self._failed[0])

    def check(self, right: object, claim: str) -> None:
        """Fail with ``claim`` unless ``right``.

        Raises:
            Violation: it is not right.
        """
        if not right:
            raise Violation(claim)

    def says(self, right: object, claim: str) -> None:
        """Fail with ``claim`` unless ``right``, or the result is documented to be what a discovery document says."""
        if self.document and not right:
            self.note("returned what the document says")
        else:
            self.check(right, claim)

    def equal(self, found: Iterable[str], right: Iterable[str], what: str) -> None:
        """Fail unless the names are the same, in any order."""
        left, expected = sorted(found), sorted(right)
        self.check(left == expected, f"{what}: {_listed(left)}, and the server has {_listed(expected)}")

    def names(self, resource: str, namespace: str | None = None) -> list[str]:
        """Return the names of the objects that exist."""
        return sorted(each["metadata"]["name"] for each in self.server.list(resource, namespace))

    def exists(self, resource: str, name: str, namespace: str | None = "default") -> bool:
        """Return whether the server has the object."""
        return self.read(resource, name, namespace) is not None

    def read(self, resource: str, name: str, namespace: str | None = "default") -> Object | None:
        """Return an object of the server."""
        try:
            return self.server.get(resource, name, namespace)
        except NotFound:
            return None

    @asynccontextmanager
    async def meanwhile(self, *steps: tuple[float, Callable[[], object]]) -> AsyncIterator[None]:
        """Let things happen in the cluster during the block, each so many seconds after its start."""

        async def play() -> None:
            began = trio.current_time()
            for seconds, step in steps:
                await trio.sleep_until(began + seconds)
                step()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(play)
            yield
            nursery.cancel_scope.cancel()

    def expire(self) -> None:
        """End all watches, and let their resourceVersions be too old."""
        self.touch()
        self.server.compact()
        self.server.end_watches()

    def touch(self) -> None:
        """Change something that no scenario looks at."""
        name = f"other-{self.server.revision}"
        self.server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "elsewhere"}})


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


Play = Callable[[Lab], Awaitable[None]]
Prepare = Callable[[APIServer], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One use of the library, on a cluster that does not change but as the scenario says.

    Attributes:
        feature: its row in the table.
        covers: the public names that it covers.
        play: uses the library, and checks what it claims.
        prepare: creates the cluster's objects.
        before: uses another client before the first request that counts.
        user: the user of the client, with the rights that ``prepare`` grants; ``""`` is the administrator.
        repeat: after an exception the same call has to succeed a minute later.
        opening: seconds from the start in which a transient answer may be reported by an exception.
        most: how many equal requests get an answer; more of them are polls and renewals like the ones before.
        sweeps: selects the request lines that get answers, by their text; the others are sent by the same code as in
            another scenario.
        settings: of the informers.
        server: options of the server.
    """

    feature: str
    covers: tuple[str, ...]
    play: Play
    prepare: Prepare
    before: Callable[[APIServer, Client], Awaitable[None]] | None = None
    user: str = ""
    repeat: bool = True
    opening: float = math.inf
    most: int = 3
    sweeps: Callable[[str], bool] = lambda _: True
    settings: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)

    def connect(self, server: APIServer, user: str = "") -> Client:
        """Return a client whose delays are the same in each run."""
        transport = server.transport(user=user) if user else server.transport()
        settings = dynkube.InformerSettings(random=Random(7), linger=0, **self.settings)
        return dynkube.connect(transport=transport, settings=settings)


def scenario(feature: str, *covers: str, **options: Any) -> Callable[[Play], Scenario]:
    """Make a scenario of a function."""

    def decorate(play: Play) -> Scenario:
        return Scenario(feature=feature, covers=covers, play=play, **options)

    return decorate


def scenarios_of(module: ModuleType) -> list[Scenario]:
    """Return the scenarios of a module, in the order of their definition."""
    found = [each for value in vars(module).values() for each in (value if isinstance(value, tuple) else (value,))]
    return [each for each in found if isinstance(each, Scenario)]
