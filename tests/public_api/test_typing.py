"""Typical programs for type checkers; ``make check`` checks this file, and it is also run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_type

import dynkube
from dynkube.client import ObjectIterator
from dynkube_testing import APIServer


def is_ready(pod: dynkube.Unstructured) -> bool:
    return bool(pod.jsonpath("{.status.ready}"))


def node_of(pod: dynkube.Unstructured) -> Iterable[str]:
    return pod.labels.values()


async def test_an_informer_accepts_strings_dicts_and_functions(client: dynkube.Client) -> None:
    informer = client.informer(
        "pods.v1",
        label_selector={"app": "web"},
        field_selector="metadata.namespace!=kube-system",
        filter=is_ready,
        indexes={"node": "{.spec.nodeName}", "label": node_of, "name": lambda pod: [pod.name]},
    )

    async with informer as pods:
        assert_type(pods, dynkube.Informer)
        assert_type(pods.list(label_selector={"tier": "fe"}), list[dynkube.Unstructured])
        assert_type(pods.get("web"), dynkube.Unstructured | None)
        assert_type(pods.state.phase, dynkube.Phase)
        pods.set_filter(dynkube.LabelFilter({"app": "web"}) & ~dynkube.NamespaceFilter("team=a"))
        pods.set_filter(lambda pod: pod.name != "db")
        pods.set_filter(None)


async def test_handlers_may_be_sync_or_async(client: dynkube.Client) -> None:
    names: list[str] = []

    async def on_update(old: dynkube.Unstructured, new: dynkube.Unstructured) -> None:
        names.append(new.name)

    informer = client.informer("pods.v1")
    registration = informer.add_handler(
        on_add=lambda pod: names.append(pod.name),
        on_update=on_update,
        on_error=lambda error, event: names.append(f"{event}: {error}"),
    )

    assert_type(registration, dynkube.Registration)


async def test_events_are_narrowed_by_match(server: APIServer, client: dynkube.Client) -> None:
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})

    async with client.informer("namespaces.v1") as namespaces, namespaces.events() as events:
        async for event in events:
            match event:
                case dynkube.Added(obj) | dynkube.Deleted(obj):
                    assert_type(obj, dynkube.Unstructured)
                case dynkube.Updated(old, new):
                    assert_type((old, new), tuple[dynkube.Unstructured, dynkube.Unstructured])
            break


async def test_verbs_return_objects(server: APIServer, client: dynkube.Client) -> None:
    config_maps = client.resource("configmaps")

    created = await config_maps.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    await config_maps.update(created.transform(["data"], {"a": "1"}))

    assert_type(created, dynkube.Unstructured)
    assert_type(await config_maps.get("c"), dynkube.Unstructured)
    assert_type(await config_maps.list(label_selector={"app": "web"}), dynkube.UnstructuredList)
    assert_type(config_maps.iterate(), ObjectIterator)
    assert_type(created.labels.get("app"), str | None)
    assert server.get("configmaps", "c", "default")["data"] == {"a": "1"}


async def test_the_return_type_of_get_depends_on_the_name(client: dynkube.Client) -> None:
    table = await client.get("namespaces", limit=1)

    assert_type(table, dynkube.UnstructuredTable)
    assert_type(table[0], dynkube.Unstructured)
    assert_type(table[:1], dynkube.UnstructuredTable)
    assert_type(await client.get("namespaces", "default"), dynkube.Unstructured)
    assert_type(await client.auth_can_i("get", "pods"), dynkube.Permission)
