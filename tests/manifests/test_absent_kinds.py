"""That a kind has no objects any more is confirmed once for all of them."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.errors import NoMatch
from dynkube.manifests._absent_kinds import AbsentKinds
from dynkube_testing import APIServer


async def test_many_objects_of_a_kind_cost_one_confirmation() -> None:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        kinds = AbsentKinds(client._api)
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(kinds.confirm, "Thing", "batch")

        assert trio.current_time() - began == pytest.approx(10, abs=1)
        assert sum("customresourcedefinitions" in request.path for request in server.requests) == 1


async def test_different_kinds_are_confirmed_at_the_same_time() -> None:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        kinds = AbsentKinds(client._api)
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for name in ("Thing", "Other", "Third"):
                nursery.start_soon(kinds.confirm, name, "batch")

        assert trio.current_time() - began == pytest.approx(10, abs=1)


async def test_a_kind_that_has_a_crd_is_an_error_for_each_of_its_objects() -> None:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        schema = {"openAPIV3Schema": {"type": "object"}}
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        server.create({**kind, "metadata": {"name": "things.example.com"}, "spec": spec})
        kinds = AbsentKinds(client._api)

        for _ in range(2):
            with pytest.raises(NoMatch, match="although a CRD defines it"):
                await kinds.confirm("Thing", "example.com")
