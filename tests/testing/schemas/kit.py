"""A definition with one field ``spec.f`` of a given schema, on an engine."""

from __future__ import annotations

from dynkube.testing._calls.api import JSONObject
from tests.contract.objects import CRDS, version
from tests.testing.engine.cluster import Cluster, definition

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def fields(**properties: JSONObject) -> JSONObject:
    """The schema of an object with fields."""
    return {"type": "object", "properties": properties}


def serving(schema: JSONObject) -> Cluster:
    """A cluster with widgets whose ``spec.f`` has ``schema``."""
    cluster = Cluster()
    whole = fields(spec=fields(f=schema))
    cluster.create(CRDS, definition(versions=[version(schema={"openAPIV3Schema": whole})]))
    return cluster


def reschema(cluster: Cluster, schema: JSONObject) -> None:
    """Edit the definition: ``spec.f`` has another ``schema`` from now on."""
    found = cluster.get(CRDS, "widgets.example.com")
    found["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": fields(spec=fields(f=schema))}
    cluster.update(CRDS, found)
