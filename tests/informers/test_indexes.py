"""The values that index functions may return."""

from __future__ import annotations

import logging

import pytest

from dynkube import Client, Unstructured
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, names, quiet, widget


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())


async def test_a_path_indexes_values_as_json_writes_them(server: APIServer, client: Client) -> None:
    server.create(widget("a", suspend=True, replicas=3, host="x"))
    paths = {"suspend": "{.spec.suspend}", "replicas": "{.spec.replicas}", "host": "{.spec.host}"}
    async with client.informer(WIDGETS, indexes=paths) as widgets:
        await widgets.wait_synced()

        for index, value in (("suspend", "true"), ("replicas", "3"), ("host", "x")):
            assert names(widgets.by_index(index, value)) == ["a"], index


async def test_a_function_that_returns_values_of_the_object_indexes_them_as_a_path_would(
    server: APIServer, client: Client
) -> None:
    server.create(widget("a", suspend=True, replicas=3, host=None))
    functions = {name: lambda obj, name=name: [obj["spec"][name]] for name in ("suspend", "replicas", "host")}
    async with client.informer(WIDGETS, indexes=functions) as widgets:
        await widgets.wait_synced()

        for index, value, found in (("suspend", "true", ["a"]), ("replicas", "3", ["a"]), ("host", "None", [])):
            assert names(widgets.by_index(index, value)) == found, index


async def test_a_string_instead_of_a_list_is_reported_and_not_indexed_by_characters(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b", "c"):
        server.create(widget(name, host="xyz"))

    def host(obj: Unstructured) -> list[str]:
        return obj["spec"]["host"]  # type: ignore[no-any-return]  # the mistake under test

    async with client.informer(WIDGETS, indexes={"host": host}) as widgets:
        await widgets.wait_synced()

        assert (widgets.by_index("host", "x"), widgets.by_index("host", "xyz")) == ([], [])
        assert "return a list of values" in widgets.statistics().last_error
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert len(errors) == 1, "a function that fails on every object is not logged for each"


@pytest.mark.parametrize("late", [False, True], ids=["before entering", "later"])
async def test_a_lookup_in_a_built_index_calls_no_function(server: APIServer, client: Client, late: bool) -> None:
    calls = []

    def by_name(obj: Unstructured) -> list[str]:
        calls.append(obj.name)
        return [obj.name]

    server.create(widget("a"))
    server.create(widget("b"))
    async with client.informer(WIDGETS, indexes={} if late else {"name": by_name}) as widgets:
        await widgets.wait_synced()
        if late:
            widgets.add_index("name", by_name)
        await quiet()
        calls.clear()

        assert (names(widgets.by_index("name", "b")), calls) == (["b"], [])
