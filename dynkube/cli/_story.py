"""The steps of ``dynkube demo``, and what has to hold after each.

The demo prints the source of each step's function: the lines that run.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynkube._client import Client
from dynkube._connect import connect
from dynkube.cli._timeline import Timeline
from dynkube.informers import ABSENT, LIVE, Informer, JSONPathFilter, LabelFilter, Phase

if TYPE_CHECKING:
    from dynkube_testing import APIServer

Act = Callable[[Client, Informer], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """A step of the demo, with the expected results.

    Attributes:
        title: the heading.
        act: the function to run; its source is printed.
        phase: the expected phase of the informer.
        calls: the expected handler calls: exactly these, in any order.
        shown: the expected names in ``routes.list()``.
        watches: the expected number of open watches on the resource, 0 or 1; on CRDs one is always expected, and on
            APIServices one while there is none on the resource.
        requests: whether the step may send requests.
    """

    title: str
    act: Act
    phase: Phase = LIVE
    calls: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    watches: int = 1
    requests: bool = True


# ── resources and objects ────────────────────────────────────────────────────────────────────

APISERVICES = "apiservices.v1.apiregistration.k8s.io"
CRDS = "customresourcedefinitions.v1.apiextensions.k8s.io"
ROUTES = "httproutes.v1.gateway.networking.k8s.io"

HTTPROUTE_CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "httproutes.gateway.networking.k8s.io",
        # Groups under k8s.io are protected: a CRD needs this annotation, and this shortened one is not an approved API.
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a demonstration"},
    },
    "spec": {
        "group": "gateway.networking.k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "httproutes", "singular": "httproute", "kind": "HTTPRoute", "listKind": "HTTPRouteList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def route(name: str, *, team: str) -> dict[str, Any]:
    """Return an HTTPRoute in the namespace default."""
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": "default", "labels": {"team": team}},
        "spec": {"hostnames": [f"{name}.example"]},
    }


# ── the steps ────────────────────────────────────────────────────────────────────────────────
# The bodies of these functions are printed, including comments, so they have no docstrings; see the titles in STORY.


@asynccontextmanager
async def opening(server: APIServer, timeline: Timeline) -> AsyncIterator[tuple[Client, Informer]]:
    async with (
        connect(transport=server.transport()) as client,
        client.informer("httproutes.v1.gateway.networking.k8s.io") as routes,
    ):
        routes.add_handler(on_add=timeline.added, on_update=timeline.updated, on_delete=timeline.deleted)
        yield client, routes


async def wait(client: Client, routes: Informer) -> None:
    routes.list()  # returns at once, with []
    await routes.wait_synced()  # synced: there are no objects, as the CRD is not installed


async def install(client: Client, routes: Informer) -> None:
    await client.resource("crd").create(HTTPROUTE_CRD)
    await routes.wait_state(LIVE)


async def create(client: Client, routes: Informer) -> None:
    httproutes = client.resource("httproutes")
    await httproutes.create(route("web", team="blue"))
    await httproutes.create(route("api", team="red"))
    await httproutes.create(route("docs", team="blue"))


async def change(client: Client, routes: Informer) -> None:
    httproutes = client.resource("httproutes")
    changed = await httproutes.patch("web", {"spec": {"hostnames": ["www.example"]}})
    await routes.wait_for(changed)  # read your writes


async def narrow(client: Client, routes: Informer) -> None:
    routes.set_filter(LabelFilter("team=blue"))


async def flip(client: Client, routes: Informer) -> None:
    routes.set_filter(LabelFilter("team=red") | JSONPathFilter("{.spec.hostnames[*]}", equals="www.example"))


async def unfilter(client: Client, routes: Informer) -> None:
    routes.set_filter(None)


async def delete(client: Client, routes: Informer) -> None:
    await client.resource("httproutes").delete("docs")


async def uninstall(client: Client, routes: Informer) -> None:
    await client.resource("crd").delete("httproutes.gateway.networking.k8s.io")
    await routes.wait_state(ABSENT)


async def reinstall(client: Client, routes: Informer) -> None:
    await client.resource("crd").create(HTTPROUTE_CRD)
    await client.resource("httproutes").create(route("web", team="green"))
    await routes.wait_state(LIVE)


STORY = (
    DemoStep(title="The resource does not exist: an empty list, at once", act=wait, phase=ABSENT, watches=0),
    DemoStep(title="The CRD is installed: the informer goes live by itself", act=install),
    DemoStep(
        title="Objects are created",
        act=create,
        calls=("added default/web", "added default/api", "added default/docs"),
        shown=("web", "api", "docs"),
    ),
    DemoStep(title="An object is changed", act=change, calls=("updated default/web",), shown=("web", "api", "docs")),
    DemoStep(
        title="A filter: hidden objects are reported as deleted, without a request to the server",
        act=narrow,
        calls=("deleted default/api",),
        shown=("web", "docs"),
        requests=False,
    ),
    DemoStep(
        title="Another filter: exactly the difference is reported",
        act=flip,
        calls=("added default/api", "deleted default/docs"),
        shown=("web", "api"),
        requests=False,
    ),
    DemoStep(
        title="No filter",
        act=unfilter,
        calls=("added default/docs",),
        shown=("web", "api", "docs"),
        requests=False,
    ),
    DemoStep(title="An object is deleted", act=delete, calls=("deleted default/docs",), shown=("web", "api")),
    DemoStep(
        title="The CRD is deleted: each object is reported as deleted, and the watch ends",
        act=uninstall,
        phase=ABSENT,
        calls=("deleted default/web", "deleted default/api"),
        watches=0,
    ),
    DemoStep(
        title="The CRD is installed again: the same informer and handler continue",
        act=reinstall,
        calls=("added default/web",),
        shown=("web",),
    ),
)


def source(function: Callable[..., object]) -> str:
    """Return the body of ``function`` without ``yield`` lines.

    ``""`` if its source is not available.
    """
    try:
        lines = inspect.getsource(function).splitlines()
    except OSError:
        return ""
    begin = next(number for number, line in enumerate(lines) if line.endswith(":")) + 1
    body = [line for line in lines[begin:] if not line.strip().startswith("yield")]
    return textwrap.dedent("\n".join(body))
