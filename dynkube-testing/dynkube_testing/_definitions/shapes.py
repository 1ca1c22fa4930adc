"""The types of CRDs: every field of ``apiextensions.k8s.io/v1`` and its type.

The types are those of the OpenAPI document. What only Go's source says is here: the order of fields, their names in Go,
and the names of types, which error messages contain: the 400 for a value of the wrong type, and the 422 that contains a
version or a schema in Go's form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from dynkube_testing._kinds.schemas import KEPT, VALUES, Schema, builtin_schemas

ScalarKind: TypeAlias = Literal["string", "bool", "int", "float", "bytes", "time", "json", "object"]
Either: TypeAlias = Literal["array", "bool", "strings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A scalar, or a value that is not decoded further; ``name`` is its Go type."""

    kind: ScalarKind
    name: str
    bits: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list; ``own_name`` is set for a named Go type."""

    item: Shape
    own_name: str = ""

    @property
    def name(self) -> str:
        """The Go type, as in the real server's messages."""
        return self.own_name or f"[]{self.item.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf:
    """A map with string keys; ``own_name`` is set for a named Go type."""

    item: Shape
    own_name: str = ""

    @property
    def name(self) -> str:
        """The Go type, as in the real server's messages."""
        return self.own_name or f"map[string]{self.item.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOr:
    """A schema, or a simpler value: a list of schemas, a boolean or a list of names."""

    other: Either
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A struct, by name because schemas contain schemas."""

    struct: str

    @property
    def name(self) -> str:
        """The Go type, as in the real server's messages."""
        return f"v1.{self.struct}"


Shape: TypeAlias = Scalar | ListOf | MapOf | SchemaOr | Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a struct.

    Attributes:
        json: Its name in JSON.
        go: Its name in Go.
        shape: Its type.
        pointer: Whether it is a pointer in Go, so that a zero value differs from an absent one.
        kept: Whether it is encoded even if it is zero.
    """

    json: str
    go: str
    shape: Shape
    pointer: bool = False
    kept: bool = False


_PACKAGE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_SPECIAL: Mapping[str, Shape] = {
    "v1.JSON": Scalar(kind="json", name="v1.JSON"),
    "v1.ObjectMeta": Scalar(kind="object", name="v1.ObjectMeta"),
    "v1.Time": Scalar(kind="time", name="v1.Time"),
    "v1.JSONSchemaPropsOrArray": SchemaOr(other="array", name="v1.JSONSchemaPropsOrArray"),
    "v1.JSONSchemaPropsOrBool": SchemaOr(other="bool", name="v1.JSONSchemaPropsOrBool"),
    "v1.JSONSchemaPropsOrStringArray": SchemaOr(other="strings", name="v1.JSONSchemaPropsOrStringArray"),
}
# By type and format.
_SCALARS: Mapping[tuple[str, str], Scalar] = {
    ("string", ""): Scalar(kind="string", name="string"),
    ("string", "byte"): Scalar(kind="bytes", name="[]uint8"),
    ("boolean", ""): Scalar(kind="bool", name="bool"),
    ("integer", "int64"): Scalar(kind="int", name="int64"),
    ("integer", "int32"): Scalar(kind="int", name="int32", bits=32),
    ("number", "double"): Scalar(kind="float", name="float64"),
}

# The fields of each struct in Go's order: NAME[=GoName][:NameOfType], with ``*`` for pointers. Required fields and
# structs are encoded even if they are zero; ``!`` marks others that are, and ``?`` structs that are not.
_STRUCTS = """
CustomResourceDefinition: apiVersion=APIVersion kind metadata? spec status
CustomResourceDefinitionSpec: group names scope:ResourceScope versions conversion* preserveUnknownFields
CustomResourceConversion: strategy:ConversionStrategyType webhook*
WebhookConversion: clientConfig* conversionReviewVersions
WebhookClientConfig: url=URL* service* caBundle=CABundle
ServiceReference: namespace name path* port*
CustomResourceDefinitionVersion: name served storage deprecated deprecationWarning* schema* subresources*
  additionalPrinterColumns selectableFields
SelectableField: jsonPath=JSONPath
CustomResourceColumnDefinition: name type format description priority jsonPath=JSONPath
CustomResourceDefinitionNames: plural singular shortNames kind listKind categories
CustomResourceDefinitionStatus: conditions! acceptedNames storedVersions! observedGeneration
CustomResourceDefinitionCondition: type:CustomResourceDefinitionConditionType status:ConditionStatus
  lastTransitionTime! reason message observedGeneration
CustomResourceValidation: openAPIV3Schema*
CustomResourceSubresources: status* scale*
CustomResourceSubresourceStatus:
CustomResourceSubresourceScale: specReplicasPath statusReplicasPath labelSelectorPath*
JSONSchemaProps: id=ID $schema=Schema:JSONSchemaURL $ref=Ref* description type nullable format title default*
  maximum* exclusiveMaximum minimum* exclusiveMinimum maxLength* minLength* pattern maxItems* minItems*
  uniqueItems multipleOf* enum maxProperties* minProperties* required items* allOf oneOf anyOf not* properties
  additionalProperties* patternProperties dependencies:JSONSchemaDependencies additionalItems*
  definitions:JSONSchemaDefinitions externalDocs* example*
  x-kubernetes-preserve-unknown-fields=XPreserveUnknownFields* x-kubernetes-embedded-resource=XEmbeddedResource
  x-kubernetes-int-or-string=XIntOrString x-kubernetes-list-map-keys=XListMapKeys
  x-kubernetes-list-type=XListType* x-kubernetes-map-type=XMapType*
  x-kubernetes-validations=XValidations:ValidationRules
ExternalDocumentation: description url=URL
ValidationRule: rule message messageExpression reason:FieldValueErrorReason* fieldPath optionalOldSelf*
"""
_FIELD = re.compile(r"(?P<json>[^=:*!?]+)(?:=(?P<go>\w+))?(?::(?P<type>\w+))?(?P<mark>[*!?]?)")


@cache
def fields_of(struct: str) -> Mapping[str, Field]:
    """Return the fields of a struct by their JSON names, in the real server's order."""
    schema = builtin_schemas().resolved(f"{_PACKAGE}.{struct}")
    lines = _STRUCTS.replace("\n  ", " ").strip().splitlines()
    line = next(line for line in lines if line.startswith(f"{struct}:"))
    fields = (_field(token, schema) for token in line.partition(":")[2].split())
    return {field.json: field for field in fields}


def _field(token: str, struct: Schema) -> Field:
    found = _FIELD.fullmatch(token)
    assert found is not None, token
    name, mark = found["json"], found["mark"]
    own_name = f"v1.{found['type']}" if found["type"] else ""
    return Field(
        json=name,
        go=found["go"] or name[0].upper() + name[1:],
        shape=_shape(struct["properties"][name], own_name),
        pointer=mark == "*",
        kept=mark == "!" or (mark != "?" and name in {*struct.get(VALUES, ()), *struct.get(KEPT, ())}),
    )


def _shape(schema: Schema, own_name: str = "") -> Shape:
    title, kind = schema.get("title", ""), schema.get("type", "")
    if title in _SPECIAL:
        return _SPECIAL[title]
    if kind == "array":
        return ListOf(item=_shape(schema["items"]), own_name=own_name)
    if "additionalProperties" in schema:
        return MapOf(item=_shape(schema["additionalProperties"]), own_name=own_name)
    if title:
        return Ref(struct=title.removeprefix("v1."))
    return Scalar(kind="string", name=own_name) if own_name else _SCALARS[kind, schema.get("format", "")]
