"""Verbs that read objects, and what a server has."""

from __future__ import annotations

from functools import partial

from dynkube.discovery import DiscoveryClient
from dynkube.meta import GroupVersion
from tests.sweep.cluster import DEPLOYMENTS, WIDGETS, deployment, widgets
from tests.sweep.lab import Lab, scenario

VERBS = "dynkube.ResourceClient"
on_widgets = partial(scenario, prepare=widgets)
on_deployments = partial(scenario, prepare=deployment)


@on_widgets("get", f"{VERBS}.get")
async def get(lab: Lab) -> None:
    found = await lab.client.resource(WIDGETS).get("a")
    lab.check(found["metadata"] == lab.server.get(WIDGETS, "a", "default")["metadata"], "returned another object")


@on_deployments("get, by a short name")
async def get_by_short_name(lab: Lab) -> None:
    found = await lab.client.resource("deploy").get("web")
    lab.check(found.name == "web", "returned another object")


@on_widgets("list", f"{VERBS}.list")
async def list_(lab: Lab) -> None:
    found = await lab.client.resource(WIDGETS).list(namespace="default")
    lab.equal((each.name for each in found), lab.names(WIDGETS), "listed")


@on_widgets("list, in pages", f"{VERBS}.iterate", "dynkube.client.ObjectIterator", "dynkube.client.ObjectIterator.take")
async def iterate(lab: Lab) -> None:
    found = [each.name async for each in lab.client.resource(WIDGETS).iterate(page_size=1)]
    lab.equal(found, lab.names(WIDGETS), "listed")


@on_deployments("table", f"{VERBS}.table")
async def table(lab: Lab) -> None:
    found = await lab.client.resource("deploy").table()
    lab.equal((str(row[0]) for row in found.cells), lab.names(DEPLOYMENTS), "listed")


@on_deployments("get of several resources", "dynkube.Client.get")
async def get_several(lab: Lab) -> None:
    found = await lab.client.get("deploy,rs")
    if found.errors:
        lab.note("the failed resource is reported")
        return
    lab.equal((each.name for each in found), lab.names(DEPLOYMENTS) + lab.names("replicasets"), "listed")


@on_deployments("get of a category")
async def get_category(lab: Lab) -> None:
    found = await lab.client.get("all")
    if found.errors:
        lab.note("the failed resource is reported")
        return
    right = [*lab.names(DEPLOYMENTS), *lab.names("replicasets"), *lab.names("services")]
    lab.equal((each.name for each in found), right, "listed")


@on_deployments("get of a subresource", "dynkube.client.SubresourceClient.get")
async def get_subresource(lab: Lab) -> None:
    found = await lab.client.resource("deploy").subresource("scale").get("web")
    lab.check(found["spec"]["replicas"] == 1, "returned another scale")


@on_widgets("resolve", f"{VERBS}.resolve", "dynkube.discovery.DeferredRESTMapper.resolve")
async def resolve(lab: Lab) -> None:
    found = await lab.client.resource("widgets").resolve()
    lab.check(str(found.gvr) == WIDGETS, f"resolved to {found.gvr}")


@on_widgets("api_resources", "dynkube.Client.api_resources")
async def api_resources(lab: Lab) -> None:
    found = {str(each.gvr) for each in await lab.client.api_resources()}
    lab.says({WIDGETS, DEPLOYMENTS, "pods.v1"} <= found, "left out resources that are served")


@on_widgets("mapper.load", "dynkube.discovery.DeferredRESTMapper.load")
async def load(lab: Lab) -> None:
    found = await lab.client.mapper.load()
    served = {str(each.gvr) for each in found.discovery.resources}
    right = found.discovery.failures or {WIDGETS, DEPLOYMENTS, "pods.v1"} <= served
    lab.says(right, "left out resources that are served")


@on_widgets("DiscoveryClient.fetch", "dynkube.discovery.DiscoveryClient.fetch")
async def fetch(lab: Lab) -> None:
    found = await _discovery(lab).fetch()
    served = {str(each.gvr) for each in found.resources}
    lab.says(found.failures or {WIDGETS, DEPLOYMENTS, "pods.v1"} <= served, "left out resources that are served")


@on_widgets("DiscoveryClient, of a group", "dynkube.discovery.DiscoveryClient.fetch_group")
async def fetch_group(lab: Lab) -> None:
    found = await _discovery(lab).fetch_group("example.com")
    lab.says(found.failures or WIDGETS in {str(each.gvr) for each in found.resources}, "left out what is served")


@on_widgets("DiscoveryClient, of a version", "dynkube.discovery.DiscoveryClient.fetch_group_version")
async def fetch_group_version(lab: Lab) -> None:
    found = await _discovery(lab).fetch_group_version(GroupVersion("example.com", "v1"))
    lab.says(found and WIDGETS in {str(each.gvr) for each in found}, "a version that is served is said to be missing")


@on_widgets("DiscoveryClient.lists", "dynkube.discovery.DiscoveryClient.lists")
async def lists(lab: Lab) -> None:
    found = await _discovery(lab).lists(GroupVersion("example.com", "v1"))
    lab.says(found, "a version that is served is said to be missing")


def _discovery(lab: Lab) -> DiscoveryClient:
    return DiscoveryClient(lab.client._layers()[0].rest)


@on_widgets("availability", f"{VERBS}.availability")
async def availability(lab: Lab) -> None:
    found = await lab.client.resource(WIDGETS).availability()
    lab.check(found, f"{WIDGETS} is said not to be served")


@on_deployments("availability, without a CRD")
async def availability_builtin(lab: Lab) -> None:
    found = await lab.client.resource(DEPLOYMENTS).availability()
    lab.check(found, f"{DEPLOYMENTS} is said not to be served")


@on_widgets("server_version", "dynkube.Client.server_version", "dynkube.discovery.DiscoveryClient.server_version")
async def server_version(lab: Lab) -> None:
    lab.check(str(await lab.client.server_version()).startswith("v1."), "returned another version")


@on_widgets("whoami", "dynkube.Client.whoami")
async def whoami(lab: Lab) -> None:
    lab.check((await lab.client.whoami()).username, "returned no user")


@on_widgets("auth_can_i", "dynkube.Client.auth_can_i")
async def auth_can_i(lab: Lab) -> None:
    found = await lab.client.auth_can_i("list", WIDGETS, "default")
    lab.check(found.allowed, "a permission that the user has is denied")


@on_widgets("raw", "dynkube.Client.raw")
async def raw(lab: Lab) -> None:
    found = await lab.client.raw("GET", "/apis/example.com/v1/namespaces/default/widgets/a")
    if b'"Failure"' in found.body:
        lab.note("returned as it was sent")
