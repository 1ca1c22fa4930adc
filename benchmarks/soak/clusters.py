"""The interface of the API servers that a soak test runs on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Protocol

from benchmarks.soak.faults import FaultTarget, InjectFault
from benchmarks.soak.observers import Observer
from benchmarks.soak.resources import JSONObject, Resource, Write
from dynkube import Unstructured
from dynkube.meta import GVR


class Cluster(Protocol):
    """An API server. Its methods are not affected by injected faults; observers are."""

    @property
    def fault_target(self) -> FaultTarget:
        """The object that injects faults."""

    def extra_faults(self, random: Random) -> Sequence[tuple[int, InjectFault]]:
        """Return the faults that only this server has, each with its weight."""

    async def end_faults(self) -> None:
        """Wait until these faults have ended."""

    def watches(self) -> Counter[GVR]:
        """Return the number of the observers' open watches, by resource."""

    async def create(self, obj: JSONObject) -> None:
        """Create an object that is not changed later."""

    async def write(self, resource: Resource, write: Write) -> str:
        """Send a write, and return the resourceVersion.

        Raises:
            APIError: the response is an error.
            ConnectionError: there was no response; the write may have taken effect.
        """

    async def mark(self, resource: Resource) -> Unstructured:
        """Write the mark of a resource, and return the stored object."""

    async def create_crd(self, resource: Resource) -> None:
        """Create the CRD of a resource, and wait until objects can be written."""

    async def delete_crd(self, resource: Resource) -> None:
        """Delete the CRD of a resource, and wait until it is gone with its objects."""

    async def list(self, observer: Observer) -> list[JSONObject]:
        """Return the objects that an observer should have, before its filter."""
