"""Informers while the published CRDs of projects are installed, used, deleted and installed again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio
import yaml

from dynkube import ABSENT, LIVE, Client, Informer, Phase, Unstructured
from dynkube.meta._object import Key
from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject
from tests.informers.folding import Subscription

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}"),
    pytest.mark.timeout(180),
]
# Real servers need some seconds to delete and establish many CRDs.
TIMEOUT = 60.0

ISSUERS = """
{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: own}, spec: {selfSigned: {}}}
---
{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: wide}, spec: {selfSigned: {}}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {secretName: web-tls, dnsNames: [web.example], issuerRef: {name: own}}
"""


def documents(folder: Path) -> Iterator[JSONObject]:
    for path in sorted(folder.rglob("*.yaml")):
        yield from (document for document in yaml.safe_load_all(path.read_text()) if document)


@dataclass(frozen=True)
class Project:
    """The CRDs that a project publishes, and examples of their objects."""

    crds: list[JSONObject]
    examples: list[JSONObject]


def published(name: str, version: tuple[int, int]) -> Project:
    found = documents(DATA / name / "crds")
    crds = [body for body in found if body["kind"] == "CustomResourceDefinition"]
    if version <= (1, 20):  # it takes empty strings for null when it validates, and rejects them
        crds = [body for body in crds if not has_empty_text(body)]
    kinds = {
        (f"{spec['group']}/{entry['name']}", spec["names"]["kind"])
        for spec in (body["spec"] for body in crds)
        for entry in spec["versions"]
        if entry["served"]
    }
    given = [*documents(DATA / name / "examples"), *yaml.safe_load_all(ISSUERS)]
    if version <= (1, 20):
        given = [body for body in given if not has_empty_text(body)]
    unique = {(body["kind"], body["metadata"]["name"]): body for body in reversed(given)}
    return Project(crds, [body for (kind, _), body in unique.items() if (body["apiVersion"], kind) in kinds])


def has_empty_text(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(has_empty_text, value.values()))
    return any(map(has_empty_text, value)) if isinstance(value, list) else value == ""


@dataclass(frozen=True)
class Follower:
    """An informer of one CRD, with a handler."""

    crd: JSONObject
    informer: Informer
    subscription: Subscription

    @property
    def plural(self) -> str:
        return str(self.crd["spec"]["names"]["plural"])

    async def settle(self) -> None:
        """Wait until the handler has received the state that the informer shows."""
        with trio.fail_after(TIMEOUT):
            while self.subscription.folded != {obj.key: obj for obj in self.informer.list()}:
                await self.subscription.wait_event()


@asynccontextmanager
async def following(client: Client, project: Project) -> AsyncIterator[list[Follower]]:
    async with AsyncExitStack() as stack:
        followers = []
        for crd in project.crds:
            spec = crd["spec"]
            version = next(version["name"] for version in spec["versions"] if version["served"])
            informer = client.informer(f"{spec['names']['plural']}.{version}.{spec['group']}")
            followers.append(Follower(crd, informer, Subscription(informer)))
            await stack.enter_async_context(informer)
        yield followers


async def install(cluster: Cluster, project: Project) -> None:
    """Apply the CRDs. Old servers reject fields in an apply that they drop in a create."""
    async with trio.open_nursery() as nursery:
        for crd in project.crds:
            cluster.register_crd(crd)
            cluster.leftovers.append(cluster.path(CRDS, crd["metadata"]["name"]))
            if cluster.version >= (1, 31):
                nursery.start_soon(cluster.apply, CRDS, crd, "installer")
            else:
                nursery.start_soon(cluster.create, CRDS, crd)


async def create_examples(cluster: Cluster, project: Project) -> list[Unstructured]:
    """Create the examples in the test's namespace."""
    plurals = {body["spec"]["names"]["kind"]: body["spec"]["names"]["plural"] for body in project.crds}
    created: list[Unstructured] = []

    async def create(example: JSONObject) -> None:
        metadata = {key: value for key, value in example["metadata"].items() if key != "namespace"}
        plural = f"{plurals[example['kind']]}.{example['apiVersion'].partition('/')[2]}"
        created.append(Unstructured(await cluster.create(plural, {**example, "metadata": metadata})))

    async with trio.open_nursery() as nursery:
        for example in project.examples:
            nursery.start_soon(create, example)
    return created


async def wait_all(followers: list[Follower], phase: Phase) -> None:
    with trio.fail_after(TIMEOUT):
        for follower in followers:
            await follower.informer.wait_state(phase)


async def check(cluster: Cluster, followers: list[Follower], created: list[Unstructured], letters: str) -> None:
    """Assert that handlers received exactly the listed objects with first letters in ``letters``, by valid events."""
    for follower in followers:
        for obj in created:
            if obj.kind == follower.crd["spec"]["names"]["kind"]:
                await follower.informer.wait_for(obj)
        await follower.settle()
        listed = (await cluster.list_of(follower.plural, namespace=""))["items"]
        fresh = {obj.key: obj for obj in map(Unstructured, listed) if obj.name[0] in letters}
        assert versions(follower.subscription.folded) == versions(fresh)
        assert follower.subscription.wrong == []


def versions(objects: dict[Key, Unstructured]) -> dict[Key, str]:
    return {key: f"{obj.uid}/{obj.resource_version}" for key, obj in objects.items()}


def beginning_with(letters: str) -> Callable[[Unstructured], bool]:
    return lambda obj: obj.name[0] in letters


ALL = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.scenario("F7", "P7")
@pytest.mark.parametrize("name", ["gateway-api", "cert-manager"])
@pytest.mark.one_collection("follows cluster-scoped resources")
async def test_informers_continue_when_the_crds_of_a_project_are_replaced(
    cluster: Cluster, client: Client, name: str
) -> None:
    project = published(name, cluster.version)
    assert project.examples
    async with following(client, project) as followers:
        await wait_all(followers, ABSENT)
        assert all(follower.informer.has_synced for follower in followers)

        for _ in range(2):
            await install(cluster, project)
            await wait_all(followers, LIVE)
            created = await create_examples(cluster, project)
            await check(cluster, followers, created, ALL)
            for letters in ("abcdefgh", ALL[8:], ALL):
                for follower in followers:
                    follower.informer.set_filter(beginning_with(letters))
                await check(cluster, followers, created, letters)

            for crd in project.crds:
                await cluster.delete(CRDS, crd["metadata"]["name"])
            await wait_all(followers, ABSENT)
            for follower in followers:
                await follower.settle()
                assert follower.informer.list() == []
