"""CRDs with a field in ``spec`` for each schema that the tests of a module use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynkube.errors import Invalid
from tests.contract.cluster import TABLE, Cluster, Response
from tests.contract.objects import CRDS, JSONObject, structural, version

# Field, reason and message.
Cause: TypeAlias = tuple[str, str, str]

INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(required: list[str] | None = None, /, **properties: JSONObject) -> JSONObject:
    """Return the schema of an object with fields."""
    schema: JSONObject = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


async def serve(cluster: Cluster, schema: JSONObject, **more: Any) -> None:
    """Serve Widgets whose ``spec.f`` has ``schema``."""
    await cluster.create_crd(cluster.crd(versions=[version(schema=structural(f=schema), **more)]))


async def update_field_schema(cluster: Cluster, schema: JSONObject) -> None:
    """Change the schema of ``spec.f`` in the CRD."""
    await update_schema(cluster, structural(f=schema))


async def update_schema(cluster: Cluster, schema: JSONObject) -> None:
    """Replace the whole schema in the CRD of Widgets.

    A real server uses it a little later, without an event; so this polls for a column that is added with the schema.
    """
    name = f"widgets.{cluster.group}"
    found = await cluster.get(CRDS, name)
    mark = {"name": f"Edit {found['metadata']['generation']}", "type": "string", "jsonPath": ".metadata.name"}
    found["spec"]["versions"][0] |= {"schema": schema, "additionalPrinterColumns": [mark]}
    await cluster.update(CRDS, found)

    async def in_force() -> bool:
        response = await cluster.call("GET", cluster.path("widgets"), params={"limit": "1"}, headers={"Accept": TABLE})
        return response.code == 200 and response.body["columnDefinitions"][-1]["name"] == mark["name"]

    await cluster.until(in_force)
    await cluster.until_served("widgets")


def messages(error: Invalid) -> list[str]:
    """Return the field and the message of each cause."""
    return [f"{cause.field}: {cause.message}" for cause in error.causes]


@dataclass(frozen=True, slots=True)
class Fields:
    """Widgets with a field for each schema; values are validated by dry runs.

    Attributes:
        cluster: the cluster that serves them.
        schemas: the schemas of ``spec.f0``, ``spec.f1``, ... In results each is named ``spec.f``.
    """

    cluster: Cluster
    schemas: list[JSONObject]

    @classmethod
    async def create_crd(cls, cluster: Cluster, schemas: Iterable[JSONObject]) -> Fields:
        """Create one CRD with all the schemas."""
        listed = list(schemas)
        properties = {f"f{number}": schema for number, schema in enumerate(listed)}
        await cluster.create_crd(cluster.crd(versions=[version(schema=structural(**properties))]))
        return cls(cluster, listed)

    async def response(self, schema: JSONObject, value: object) -> Response:
        """Return the response to creating a Widget with ``value`` in the field."""
        path = self.cluster.path("widgets")
        return await self.cluster.call("POST", path, body=self.widget(schema, value), params={"dryRun": "All"})

    async def stored(self, schema: JSONObject, value: object) -> Any:
        """Create a Widget with ``value`` in the field, and return the resulting value; ``None`` if it is missing."""
        response = await self.response(schema, value)
        assert response.code == 201, response
        return response.body["spec"].get(self._field(schema))

    async def causes(self, schema: JSONObject, value: object) -> list[Cause]:
        """Return the causes for which a Widget with ``value`` in the field is invalid."""
        response, place = await self.response(schema, value), f"spec.{self._field(schema)}"
        assert response.code == 422, response
        return [
            (cause["field"].replace(place, "spec.f"), cause["reason"], cause["message"].replace(place, "spec.f"))
            for cause in response.body["details"]["causes"]
        ]

    async def changed(self, schema: JSONObject, before: object, after: object) -> list[str]:
        """Return field and message of each cause for which an update from one value to another is invalid."""
        field = self._field(schema)
        body = {**self.widget(schema, before), "metadata": {"generateName": "w-"}}
        created = await self.cluster.create("widgets", body)
        try:
            await self.cluster.update("widgets", {**created, "spec": {field: after}})
        except Invalid as error:
            return [text.replace(f"spec.{field}", "spec.f") for text in messages(error)]
        return []

    def widget(self, schema: JSONObject, value: object) -> JSONObject:
        """Return a Widget with ``value`` in the field of ``schema``."""
        return self.cluster.widget(spec={self._field(schema): value})

    def _field(self, schema: JSONObject) -> str:
        return f"f{self.schemas.index(schema)}"


def places(causes: Iterable[Cause]) -> set[str]:
    """Return the fields of the causes without list indices, in which old and current servers agree."""
    return {re.sub(r"\[\d+\]", "", field) for field, _, _ in causes} - {"<nil>"}
