"""What a soak needs of the API server it runs on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Protocol

from benchmarks.soak.faults import Strike, Troubled
from benchmarks.soak.observers import Observer
from benchmarks.soak.resources import JSONObject, Resource, Write
from dynkube import Unstructured
from dynkube.meta import GVR


class Cluster(Protocol):
    """An API server. Its own functions go around the faults that observers see."""

    @property
    def troubled(self) -> Troubled:
        """Where faults are injected."""

    def strikes(self, random: Random) -> Sequence[tuple[int, Strike]]:
        """What else can be done to it, each with its weight."""

    async def calm(self) -> None:
        """End what has been done by that, and wait until it is over."""

    def watches(self) -> Counter[GVR]:
        """The observers' open watches, by resource."""

    async def create(self, obj: JSONObject) -> None:
        """Create an object that nobody writes to later."""

    async def write(self, resource: Resource, write: Write) -> str:
        """Do it, and return the resourceVersion.

        Raises:
            APIError: It is refused.
            ConnectionError: Nobody answered, so it may have been done.
        """

    async def mark(self, resource: Resource) -> Unstructured:
        """Write the mark of a resource, and return what was stored."""

    async def define(self, resource: Resource) -> None:
        """Create a definition, and wait until objects can be written."""

    async def undefine(self, resource: Resource) -> None:
        """Delete a definition, and wait until it is gone, and its objects with it."""

    async def list(self, observer: Observer) -> list[JSONObject]:
        """What an observer should see before its filter."""
