"""``get("po,svc")`` and ``get("all")``: several resources in one table."""

from __future__ import annotations

import pickle

import pytest

import dynkube
from dynkube.errors import DeadlineExceeded, DiscoveryFailed, Forbidden, InvalidInput, NoMatch
from dynkube_testing import APIServer, Delay
from tests.informers.kit import pod
from tests.manifests.kit import crd


def config_map(name: str, namespace: str = "default") -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


@pytest.fixture(autouse=True)
def _objects(server: APIServer) -> None:
    for name in ("shop", "back"):
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    server.create(pod("web"))
    server.create(config_map("settings", "shop"))


async def test_several_resources_are_one_table_of_all_objects(client: dynkube.Client) -> None:
    found = await client.get("po,cm", label_selector="app!=none")

    pods, maps = found.tables
    assert ([obj.name for obj in pods], pods.kind, maps.kind) == (["web"], "PodList", "ConfigMapList")
    assert list(found) == [*pods, *maps]
    assert found.column("Kind")[0] == "Pod"
    assert {"web", "settings"} <= set(found.column("Name"))
    assert dict(zip(found.column("Name"), found.column("Data"), strict=True))["web"] is None
    assert not found.errors


async def test_tables_are_printed_one_after_the_other_with_kinds_in_names(client: dynkube.Client) -> None:
    pods, maps = str(await client.get("po, cm")).split("\n\n")

    assert pods.splitlines()[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert pods.splitlines()[1].split()[:2] == ["default", "pod/web"]
    assert ["shop", "configmap/settings"] in [line.split()[:2] for line in maps.splitlines()]


async def test_resources_without_objects_are_not_printed(client: dynkube.Client) -> None:
    assert str(await client.get("svc,deploy,po", namespace="default")).splitlines()[0].startswith("NAME")
    assert str(await client.get("svc,deploy", namespace="shop")) == "No resources found"


async def test_all_is_a_category_of_discovery(client: dynkube.Client, server: APIServer) -> None:
    server.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 1}]}}
    )

    found = await client.get("all")

    served = {each.kind for each in await client.api_resources(category="all")}
    assert {table.kind.removesuffix("List") for table in found.tables} == served >= {"Pod", "Deployment"}
    assert {"Pod", "Service"} <= {obj.kind for obj in found}
    assert "service/web" in repr(found)


async def test_a_category_can_be_combined_with_resources(client: dynkube.Client) -> None:
    found = await client.get("All,cm,pods", namespace="shop")

    kinds = [table.kind for table in found.tables]
    assert kinds.count("PodList") == kinds.count("ConfigMapList") == 1


async def test_the_namespace_is_ignored_for_cluster_scoped_resources(client: dynkube.Client) -> None:
    found = await client.get("ns,cm", namespace="shop")

    assert {"shop", "back"} <= {obj.name for obj in found.tables[0]}
    assert {obj.namespace for obj in found.tables[1]} == {"shop"}


async def test_resources_that_cannot_be_read_are_reported_as_errors(client: dynkube.Client, server: APIServer) -> None:
    server.fail(resource="configmaps", status=403)

    found = await client.get("po,cm,nosuch")

    assert [obj.name for obj in found] == ["web"]
    assert {name: type(error) for name, error in found.errors.items()} == {"cm": Forbidden, "nosuch": NoMatch}
    last = str(found).splitlines()[-2:]
    assert last[0].startswith("error: cm: 403 Forbidden")
    assert last[1].startswith("error: nosuch: the server does not serve 'nosuch'")
    assert "403 Forbidden" in found._repr_html_()


async def test_if_nothing_can_be_read_the_first_error_is_raised(client: dynkube.Client, server: APIServer) -> None:
    server.fail(resource="configmaps", status=403)

    with pytest.raises(Forbidden) as caught:
        await client.get("cm,nosuch")

    assert caught.value.__notes__[0].startswith("nosuch: the server does not serve 'nosuch'")


@pytest.mark.parametrize("given", ["po,,svc", "po,", "po,pod/web", "po,a b"])
async def test_a_malformed_part_is_rejected_before_the_first_request(client: dynkube.Client, given: str) -> None:
    with pytest.raises(InvalidInput, match="resource"):
        await client.get(given)


async def test_all_is_read_while_an_aggregated_api_is_down(client: dynkube.Client, server: APIServer) -> None:
    server.create(crd())
    server.fail(path_prefix="/apis/example.com", verb="", status=503)

    assert "Pod" in {obj.kind for obj in await client.get("all")}


async def test_a_group_that_may_have_more_of_a_category_is_an_error_of_the_table(
    client: dynkube.Client, server: APIServer
) -> None:
    service = {"namespace": "kube-system", "name": "nowhere"}
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100}
    server.create(
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {**spec, "service": service, "insecureSkipTLSVerify": True},
        }
    )

    everything, named = await client.get("all"), await client.get("po,cm")

    assert {name: type(error) for name, error in everything.errors.items()} == {
        "metrics.k8s.io/v1beta1": DiscoveryFailed
    }
    assert "error: metrics.k8s.io/v1beta1: discovery of metrics.k8s.io/v1beta1 is stale" in str(everything)
    assert not named.errors


async def test_the_timeout_applies_to_all_resources_together(client: dynkube.Client, server: APIServer) -> None:
    await client.mapper.load()
    server.inject(Delay(4), verb="list")

    with pytest.raises(DeadlineExceeded):
        await client.get("po,cm", timeout=6)


async def test_a_table_of_several_resources_can_be_widened_pickled_and_exported(client: dynkube.Client) -> None:
    found = await client.get("po,cm,nosuch")

    assert [("NODE" in str(each)) for each in (found, found.wide())] == [False, True]
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    frame = found.to_pandas()
    assert len(frame) == len(found)
    assert {"Namespace", "Kind", "Name", "Created"} <= set(frame.columns)


async def test_a_table_of_one_resource_is_its_only_table(client: dynkube.Client) -> None:
    found = await client.get("cm")

    assert (found.tables, found.errors) == ((found,), {})
