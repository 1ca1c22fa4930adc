"""A folder of published CRDs and objects: applied in one run, applied again, and pruned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

import dynkube
from dynkube.errors import NotFound
from dynkube.manifests import ApplySet, Outcome
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}"),
    pytest.mark.timeout(300),
    pytest.mark.since("1.30", "admission policies, which are among these manifests, came with 1.30"),
]
POLICY = "safe-upgrades.gateway.networking.k8s.io"
POLICIES = ["validatingadmissionpolicybindings", "validatingadmissionpolicies"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the manifests without repeated objects: some examples are alternatives for the same object."""
    seen: set[tuple[str, str, str]] = set()
    for path in sorted(DATA.rglob("*.yaml")):
        documents = []
        for body in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            key = body and (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
            if key and key not in seen:
                seen.add(key)
                documents.append(body)
        if documents:
            copy = tmp_path / "manifests" / path.relative_to(DATA)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(yaml.dump_all(documents, Dumper=yaml.CSafeDumper))
    return tmp_path / "manifests"


@pytest.fixture(autouse=True)
async def _clean(backend: Backend, client: dynkube.Client) -> AsyncIterator[None]:
    """Delete the CRDs afterwards. Namespaces remain, so these tests run only on servers that the suite has started."""
    if backend.real and backend.plane is None:
        pytest.skip("it would leave namespaces on a cluster that the suite has not started")
    yield
    for resource in POLICIES:  # they would reject requests of other tests to these CRDs
        with suppress(NotFound):
            await client.resource(resource).delete(POLICY)
    for crd in await client.resource("crds").list():
        if crd.name.endswith(("gateway.networking.k8s.io", "cert-manager.io")):
            await client.resource("crds").delete(crd.name)


async def versions(client: dynkube.Client, report: dynkube.Report) -> dict[str, str]:
    """Return the current resourceVersion of each object."""
    found = {}
    for entry in report:
        assert entry.object is not None
        live = await client.resource(entry.object.gvk).get(entry.object.name, namespace=entry.namespace or None)
        found[f"{entry.name} {entry.namespace}"] = live.resource_version
    return found


async def test_one_run_applies_crds_and_objects_the_next_changes_nothing_and_the_last_prunes(
    cluster: Cluster, client: dynkube.Client, folder: Path
) -> None:
    wanted = ApplySet("examples", namespace=cluster.namespace)
    tried = await client.apply_all(folder, dry_run=True, prune=wanted)
    after_trying = [crd.name for crd in await client.resource("crds").list() if "gateway" in crd.name]

    first = await client.apply_all(folder, prune=wanted)
    before = await versions(client, first)
    second = await client.apply_all(folder, prune=wanted)

    assert (tried.ok, after_trying) == (True, []), tried
    assert first.counts == {Outcome.CREATED: len(first)}, first
    assert second.counts == {Outcome.UNCHANGED: len(first)}, second
    assert await versions(client, second) == before

    gone = [entry for entry in first if entry.source.startswith(f"{folder / 'gateway-api/examples/basic-http.yaml'}:")]
    (folder / "gateway-api/examples/basic-http.yaml").unlink()
    third = await client.apply_all(folder, prune=wanted)

    assert {entry.name for entry in third.of("pruned")} == {entry.name for entry in gone} != set()
    assert third.counts == {Outcome.UNCHANGED: len(first) - len(gone), Outcome.PRUNED: len(gone)}
