"""Which objects can be pickled and copied (for multiprocessing, joblib, dask), and the error of those that cannot."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest

import dynkube
import dynkube.sync
from dynkube.errors import NotFound
from dynkube.meta import JSONPathTemplate
from dynkube_testing import APIServer, ServerThread, serve_in_thread

CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "labels": {"app": "web"}},
    "data": {"k": "v"},
}

COPIES: list[Callable[[Any], Any]] = [lambda thing: pickle.loads(pickle.dumps(thing)), copy.deepcopy, copy.copy]
copies = pytest.mark.parametrize("same", COPIES, ids=["pickle", "deepcopy", "copy"])


@copies
async def test_objects_and_tables_can_be_pickled_and_copied(
    server: APIServer, client: dynkube.Client, same: Callable[[Any], Any]
) -> None:
    server.create(CONFIG)
    obj, table = await client.get("cm", "a"), await client.get("cm", namespace="default")

    assert same(obj) == obj
    assert same(obj).to_yaml() == obj.to_yaml()
    assert same(obj["data"]) == same(obj)["data"] == {"k": "v"}
    assert same(obj.labels) == {"app": "web"}
    assert (list(same(table)), same(table).cells) == (list(table), table.cells)
    assert same(table.wide())._repr_html_() == table.wide()._repr_html_()
    assert list(same(await client["cm"].list(namespace="default"))) == list(table)
    assert same(dynkube.owners(obj)) == dynkube.owners(obj)


@copies
@pytest.mark.parametrize(
    "value",
    [
        dynkube.JSONPath.compile("{.spec.containers[?(@.name=='a')].image}"),
        dynkube.JSONPath.compile(".spec", strict=True),
        JSONPathTemplate.compile("{range .items[*]}{.a} {end}"),
        dynkube.JSONPathFilter("{.a}", equals="1") & ~dynkube.LabelFilter("a=b"),
        dynkube.FieldPath.parse(".spec.containers[name=a].image"),
    ],
    ids=str,
)
def test_paths_and_filters_can_be_pickled_and_copied(value: object, same: Callable[[Any], Any]) -> None:
    assert same(value) == value


@copies
async def test_errors_can_be_pickled_and_copied(client: dynkube.Client, same: Callable[[Any], Any]) -> None:
    with pytest.raises(NotFound) as caught:
        await client.get("cm", "nosuch")

    other = same(caught.value)

    assert isinstance(other, NotFound)
    assert (str(other), other.status) == (str(caught.value), caught.value.status)


@copies
async def test_statistics_and_statuses_can_be_pickled_and_copied(
    client: dynkube.Client, same: Callable[[Any], Any]
) -> None:
    async with client.informer("configmaps.v1") as informer:
        await informer.wait_synced()

        results: list[Any] = [client.statistics(), informer.statistics(), informer.state, client.informers()]
        results += [await client.whoami(), await client.auth_can_i("get", "pods"), await client["cm"].availability()]

    for each in results:
        assert same(each) == each
    assert asdict(results[0])["answers"] == results[0].answers


MESSAGE = "cannot be pickled or copied: it holds connections or tasks of this process"


@copies
async def test_objects_with_connections_or_tasks_cannot_be_pickled_or_copied(
    client: dynkube.Client, same: Callable[[Any], Any]
) -> None:
    async with client.informer("configmaps.v1") as informer, informer.events() as events:
        configs = client["cm"]
        registration = informer.add_handler(on_add=print)
        living = [client, client._api.rest, client.mapper, configs, configs.subresource("status")]
        living += [informer, events, registration, configs.iterate()]

        for each in living:
            with pytest.raises(TypeError, match=f"an? {type(each).__name__} {MESSAGE}"):
                same(each)


@pytest.fixture(scope="module")
def served() -> Iterator[ServerThread]:
    """A server in a thread."""
    with serve_in_thread() as thread:
        yield thread


@copies
@pytest.mark.real_time
def test_objects_of_the_blocking_api_cannot_be_pickled_or_copied(
    served: ServerThread, same: Callable[[Any], Any]
) -> None:
    with dynkube.sync.connect(url=served.url) as k:
        informer = k.informer("namespaces")
        living = [k, k.mapper, k["cm"], informer, informer.live(), informer.events(), k["cm"].watch()]

        for each in living:
            with pytest.raises(TypeError, match=MESSAGE):
                same(each)
