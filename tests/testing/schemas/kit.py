"""An engine with a CRD whose objects have one field ``spec.f`` of a given schema."""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject
from tests.contract.objects import CRDS, version
from tests.testing.engine.cluster import Cluster, crd

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def fields(**properties: JSONObject) -> JSONObject:
    """Return the schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def serving(schema: JSONObject) -> Cluster:
    """Return a cluster that serves widgets whose ``spec.f`` has ``schema``."""
    cluster = Cluster()
    schema_of_object = fields(spec=fields(f=schema))
    cluster.create(CRDS, crd(versions=[version(schema={"openAPIV3Schema": schema_of_object})]))
    return cluster


def reschema(cluster: Cluster, schema: JSONObject) -> None:
    """Update the CRD: give ``spec.f`` another schema."""
    found = cluster.get(CRDS, "widgets.example.com")
    found["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": fields(spec=fields(f=schema))}
    cluster.update(CRDS, found)
