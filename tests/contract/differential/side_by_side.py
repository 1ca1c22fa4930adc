"""Sends the same requests to two servers, and finds the first response that differs."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import trio

from dynkube.errors import APIError
from tests.contract.cluster import MERGE, Cluster, Response
from tests.contract.differential.known import Known, known_difference
from tests.contract.differential.normalise import normalised
from tests.contract.differential.requests import Memory, Request, send
from tests.contract.objects import JSONObject

MARK = "zz-mark"
_UNFINALIZED = {"metadata": {"finalizers": None}}


async def _no_wait(cluster: Cluster) -> None:
    """The default of ``Setup.settle``: do not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The setup for the sequences of an area.

    Attributes:
        marks: a marker object for each kind whose events are compared, named :data:`MARK`. It is written last, to show
            that a watch has received all events, and must match all selectors of ``watches``.
        owned: further resources whose objects are deleted between sequences, each with the label selector of these
            objects; ``""`` for all in the namespace.
        watches: the selectors of the watches of each kind, which start before the sequence.
        crds: returns the CRDs to create.
        settle: called after every write; waits until its effects are visible.
        compare_warnings: whether warnings are compared.
    """

    marks: dict[str, JSONObject] = field(default_factory=dict)
    owned: dict[str, str] = field(default_factory=dict)
    watches: Sequence[dict[str, str]] = ({},)
    crds: Callable[[Cluster], list[JSONObject]] = lambda _: []
    settle: Callable[[Cluster], Awaitable[None]] = _no_wait
    compare_warnings: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference between two transcripts.

    Attributes:
        script: the requests up to and including the one with different responses.
        label: that request, or the label of a watch.
        lines: a diff of the two responses.
        kind: a text without numbers, equal for similar differences.
    """

    script: Sequence[Request]
    label: str
    lines: Sequence[str]
    kind: str

    def __str__(self) -> str:
        script = "\n".join(f"    {each!r}," for each in self.script)
        return f"different responses to {self.label}\n" + "\n".join(self.lines) + f"\nafter\n[\n{script}\n]"


@dataclass(slots=True, kw_only=True)
class SideBySide:
    """The embedded server, and the server that it is compared with.

    Attributes:
        embedded: the embedded server.
        reference: the other server; namespace and group have the same names on both.
        setup: the objects and CRDs on both.
        accepted: the accepted differences.
        occurred: the names of accepted differences that occurred.
    """

    embedded: Cluster
    reference: Cluster
    setup: Setup
    accepted: Sequence[Known] = ()
    occurred: set[str] = field(default_factory=set)

    async def prepare(self) -> None:
        """Create the namespace and the CRDs on both servers."""
        for side in (self.embedded, self.reference):
            await side.request("POST", "/api/v1/namespaces", body={"metadata": {"name": side.namespace}})
            for crd in self.setup.crds(side):
                await side.create_crd(crd)

    async def tidy(self) -> None:
        """Delete everything on both servers, including the namespace."""
        for side in (self.embedded, self.reference):
            await self._clear(side)
            await side.clean_up()
            await side.call("DELETE", f"/api/v1/namespaces/{side.namespace}")

    async def first_difference(self, script: Sequence[Request]) -> Difference | None:
        """Play ``script`` on both servers, which have no objects then; return the first difference."""
        transcripts: dict[str, list[tuple[str, Response]]] = {}

        async def play(name: str, side: Cluster) -> None:
            transcripts[name] = await self._transcript(side, script)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(play, "embedded", self.embedded)
            nursery.start_soon(play, "reference", self.reference)
        ours, theirs = transcripts["embedded"], transcripts["reference"]
        pairs = zip_longest(normalised([each for _, each in ours]), normalised([each for _, each in theirs]))
        for index, (left, right) in enumerate(pairs):
            if left != right:
                request = script[index] if index < len(script) else None
                known = known_difference(self.accepted, request, left, right)
                if known is None:
                    label = ours[index][0] if index < len(ours) else "an event"
                    return _difference(script[: index + 1], label, left, right)
                self.occurred.add(known.name)
                if request is None or request.method != "GET":
                    return None  # from here on the servers may have different objects
        return None

    async def _transcript(self, side: Cluster, script: Sequence[Request]) -> list[tuple[str, Response]]:
        await self._clear(side)
        starts = {
            resource: (await side.list_of(resource, limit="1"))["metadata"]["resourceVersion"]
            for resource in self.setup.marks
        }
        memory, found = Memory(side), []
        for request in script:
            response = await send(request, side, memory)
            if not self.setup.compare_warnings:
                response = replace(
                    response, headers={k: v for k, v in response.headers.items() if k.lower() != "warning"}
                )
            found.append((repr(request), response))
            if request.method != "GET" and not request.target.endswith("reviews"):
                await self.setup.settle(side)
        for resource, start in starts.items():
            await side.create(
                resource, memory.fill_in(Request(method="POST", target="", body=self.setup.marks[resource]))[0]
            )
            for selection in self.setup.watches:
                found += await _watched(side, resource, start, selection)
        return found

    async def _clear(self, side: Cluster) -> None:
        memory = Memory(side)
        for resource, selector in (dict.fromkeys(self.setup.marks, "") | self.setup.owned).items():
            selected = {"labelSelector": memory.named(selector)} if selector else {}
            for name in await side.names(resource, **selected):
                await _remove(side, resource, name)
        await self.setup.settle(side)


async def _remove(side: Cluster, resource: str, name: str) -> None:
    now = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
    gone = await side.call("DELETE", side.path(resource, name), body=now)
    if isinstance(gone.body, dict) and gone.body.get("metadata", {}).get("finalizers"):
        await side.call("PATCH", side.path(resource, name), body=_UNFINALIZED, content_type=MERGE)


async def _watched(side: Cluster, resource: str, start: str, selection: dict[str, str]) -> list[tuple[str, Response]]:
    """Return an entry for each event of a watch, up to that of the marker."""
    label = f"watch {resource} {selection or ''}".rstrip()
    try:
        async with side.watch(resource, resourceVersion=start, **selection) as events:
            bodies: list[Any] = await events.until(MARK)
    except APIError as error:
        bodies = [{"refused": str(error)}]
    return [
        (f"{label}, event {number}", Response(code=200, headers={}, body=body)) for number, body in enumerate(bodies)
    ]


def _difference(script: Sequence[Request], label: str, left: Any, right: Any) -> Difference:
    ours, theirs = (json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (left, right))
    lines = list(difflib.unified_diff(ours, theirs, "embedded", "reference", lineterm="", n=2))
    changed = [line for line in lines[2:] if line[0] in "+-"][:4]
    request = script[-1] if label.startswith("request(") else None
    about = f"{request.method} {request.content_type}" if request else label.partition(",")[0]
    return Difference(script=script, label=label, lines=lines, kind=re.sub(r"\d+", "N", " | ".join([about, *changed])))
