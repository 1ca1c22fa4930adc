"""K33-K35 and G13, G15: objects chosen by the labels of their namespaces, while those change."""

from __future__ import annotations

import pytest

from dynkube import Client, NamespaceFilter
from dynkube.testing import APIServer
from tests.informers.kit import Recorder, names, namespace


def service(name: str, where: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": where}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


@pytest.fixture
def services(server: APIServer) -> None:
    server.delete("services", "kubernetes")  # which every cluster has
    for where in ("nsa", "nsb", "nsc"):
        server.create(namespace(where, {"name": where}))
    for name, where in (("s1", "nsa"), ("s2", "nsa"), ("s3", "nsb"), ("s4", "nsc")):
        server.create(service(name, where))


@pytest.mark.usefixtures("services")
async def test_k33_services_come_and_go_with_the_labels_of_their_namespace(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer("services.v1", filter=NamespaceFilter("discover=yes", "name=nsc")) as services:
        recorder.attach(services)
        await services.wait_synced()
        assert await recorder.drain() == ["add/s4"]

        server.update(namespace("nsa", {"discover": "yes"}))
        assert sorted(await recorder.drain()) == ["add/s1", "add/s2"]
        assert names(services.list()) == ["s1", "s2", "s4"]

        server.update(namespace("nsa"))
        assert sorted(await recorder.drain()) == ["delete/s1", "delete/s2"]
        assert names(services.list()) == ["s4"]


@pytest.mark.usefixtures("services")
async def test_k34_selectors_change_and_each_change_gives_its_difference(server: APIServer, client: Client) -> None:
    changes = [
        (NamespaceFilter("name=nsa"), ["delete/s3", "delete/s4"], ["s1", "s2"]),
        (NamespaceFilter("name=nsb"), ["add/s3", "delete/s1", "delete/s2"], ["s3"]),
        (NamespaceFilter("name=nsa", "name=nsb"), ["add/s1", "add/s2"], ["s1", "s2", "s3"]),
        (None, ["add/s4"], ["s1", "s2", "s3", "s4"]),
    ]
    recorder = Recorder()
    async with client.informer("services.v1") as services:
        recorder.attach(services)
        await services.wait_synced()
        await recorder.drain()

        for chosen, events, listed in changes:
            services.set_filter(chosen)
            assert sorted(await recorder.drain()) == events
            assert names(services.list()) == listed


async def test_k35_namespaces_that_match_any_selector_are_told_of(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    either = NamespaceFilter("env=prod", "team,team notin (legacy)")
    async with client.informer("namespaces.v1", filter=either) as namespaces:
        recorder.attach(namespaces)
        await namespaces.wait_synced()
        for name, labels in (("a", {"env": "prod"}), ("b", {"team": "x"}), ("c", {"team": "legacy"}), ("d", {})):
            server.create(namespace(name, labels))
        assert await recorder.drain() == ["add/a", "add/b"]

        namespaces.set_filter(NamespaceFilter("team=legacy"))

        assert sorted(await recorder.drain()) == ["add/c", "delete/a", "delete/b"]


@pytest.mark.usefixtures("services")
async def test_g13_a_filter_changed_to_and_fro_ends_where_it_ended(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    one, other = NamespaceFilter("name=nsa"), NamespaceFilter("name=nsb")
    async with client.informer("services.v1", filter=one) as services:
        recorder.attach(services)
        await services.wait_synced()
        await recorder.drain()

        for chosen in (other, one, other, one):
            services.set_filter(chosen)

        assert await recorder.drain() == []
        assert names(services.list()) == ["s1", "s2"]


@pytest.mark.usefixtures("services")
async def test_g15_deletes_are_told_once_when_the_namespace_goes_first(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer("services.v1", filter=NamespaceFilter("name=nsa")) as services:
        recorder.attach(services)
        await services.wait_synced()
        await recorder.drain()

        server.delete("namespaces", "nsa")

        assert sorted(await recorder.drain()) == ["delete/s1", "delete/s2"]
        assert services.list() == []
