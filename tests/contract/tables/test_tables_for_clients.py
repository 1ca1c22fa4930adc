"""Tables of the dynkube client: the objects of a list, and their cells."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import dynkube
from dynkube.errors import InternalError, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import config, version, workload

ADDRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "IPAddress",
    "metadata": {"name": "192.168.77.2"},
    "spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}},
}


@pytest.fixture
async def three(cluster: Cluster) -> Cluster:
    for name in "abc":
        await cluster.create("configmaps", config(name, labels={"odd": str(name != "b").lower()}))
    return cluster


async def test_a_table_has_the_objects_of_the_list(three: Cluster, client: dynkube.Client) -> None:
    configs = client.resource("configmaps")

    table, listed = await configs.table(namespace=three.namespace), await configs.list(namespace=three.namespace)

    assert list(table) == list(listed)
    assert (table.kind, table.api_version) == (listed.kind, listed.api_version) == ("ConfigMapList", "v1")
    assert [column.name for column in table.columns] == ["Name", "Data", "Age"]
    assert [column.shows_age for column in table.columns] == [False, False, True]
    assert [row[:2] for row in table.cells] == [("a", 1), ("b", 1), ("c", 1)]
    assert table.server_columns


async def test_every_resource_that_can_be_listed_has_a_table(client: dynkube.Client) -> None:
    served = await client.api_resources(verb="list")
    if "ipaddresses" in {each.gvr.resource for each in served}:  # their rows have more cells than there are columns
        await client["ipaddresses"].apply(ADDRESS)

    for each in served:
        try:
            table = await client.get(each, limit=50)
        except (NotFound, InternalError):  # the CRD of another test, which may have lost the version of its objects
            if each.gvr.group.endswith("example.com"):
                continue
            raise
        assert all(len(row) == len(table.columns) for row in table.cells), each


async def test_tables_support_pages_selectors_and_limits(three: Cluster, client: dynkube.Client) -> None:
    configs, here = client.resource("configmaps"), three.namespace

    paged = await configs.table(namespace=here, page_size=2)
    selected = await configs.table(namespace=here, label_selector="odd=true")
    first = await configs.table(namespace=here, limit=2)
    rest = await configs.table(namespace=here, continue_token=first.continue_token)

    assert paged.column("name") == ("a", "b", "c")
    assert selected.column("name") == ("a", "c")
    assert (first.remaining_item_count, first.column("name"), rest.column("name")) == (1, ("a", "b"), ("c",))


async def test_columns_of_wide_output_are_marked(cluster: Cluster, client: dynkube.Client) -> None:
    await cluster.create("deployments", workload("web"))

    table = await client.resource("deployments").table(namespace=cluster.namespace)

    assert [column.name for column in table.columns if not column.wide] == [
        "Name",
        "Ready",
        "Up-to-date",
        "Available",
        "Age",
    ]
    assert table.column("Images") == ("app:1",)


async def test_the_columns_are_the_printer_columns_of_the_crd(cluster: Cluster, client: dynkube.Client) -> None:
    printed = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}]
    await cluster.create_crd(cluster.crd(versions=[version(additionalPrinterColumns=printed)]))
    await cluster.create("widgets", cluster.widget("w", spec={"size": 3}))

    table = await client.resource(f"widgets.{cluster.group}").table(namespace=cluster.namespace)

    name, size = table.columns
    assert (name.name, name.json_path) == ("Name", None)
    assert (size.name, size.type, size.priority, size.json_path) == ("Size", "integer", 1, ".spec.size")
    assert table.cells == (("w", 3),)


async def test_a_data_frame_has_exact_times_instead_of_rounded_ages(cluster: Cluster, client: dynkube.Client) -> None:
    printed = [
        {"name": "Last", "type": "date", "jsonPath": ".spec.last"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    ]
    await cluster.create_crd(cluster.crd(versions=[version(additionalPrinterColumns=printed)]))
    await cluster.create("widgets", cluster.widget("w", spec={"last": "2026-01-01T10:00:00Z", "size": 3}))
    await cluster.create("widgets", cluster.widget("x"))

    table = await client.get(f"widgets.{cluster.group}", namespace=cluster.namespace)
    frame = table.to_polars()

    last = datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert frame.rows() == [(cluster.namespace, "w", last, 3), (cluster.namespace, "x", None, None)]
    assert frame.columns == ["Namespace", "Name", "Last", "Size"]


async def test_ages_become_creation_times_in_a_data_frame(three: Cluster, client: dynkube.Client) -> None:
    table = await client.get("cm", namespace=three.namespace)

    frame = table.to_pandas()

    assert list(frame.columns) == ["Namespace", "Name", "Data", "Created"]
    assert str(frame.dtypes["Data"]) == "Int64"
    created = [datetime.fromisoformat(obj["metadata"]["creationTimestamp"]) for obj in table]
    assert frame["Created"].tolist() == created


async def test_an_empty_table_has_columns(cluster: Cluster, client: dynkube.Client) -> None:
    table = await client.resource("pods").table(namespace=cluster.namespace)

    assert (len(table), table.cells) == (0, ())
    assert [column.name for column in table.columns][:3] == ["Name", "Ready", "Status"]
