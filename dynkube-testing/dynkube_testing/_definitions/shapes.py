"""The types of CRDs: every field of ``apiextensions.k8s.io/v1`` and its type.

The type names are those of the real server, because error messages contain them: the 400 for a value of the wrong type,
and the 422 that contains a version or a schema in Go's form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

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
    """A struct in :data:`STRUCTS`, by name because schemas contain schemas."""

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


_SIMPLE: Mapping[str, Shape] = {
    "text": Scalar(kind="string", name="string"),
    "flag": Scalar(kind="bool", name="bool"),
    "int64": Scalar(kind="int", name="int64"),
    "int32": Scalar(kind="int", name="int32", bits=32),
    "number": Scalar(kind="float", name="float64"),
    "bytes": Scalar(kind="bytes", name="[]uint8"),
    "time": Scalar(kind="time", name="v1.Time"),
    "json": Scalar(kind="json", name="v1.JSON"),
    "metadata": Scalar(kind="object", name="v1.ObjectMeta"),
    "schema or list": SchemaOr(other="array", name="v1.JSONSchemaPropsOrArray"),
    "schema or flag": SchemaOr(other="bool", name="v1.JSONSchemaPropsOrBool"),
    "schema or names": SchemaOr(other="strings", name="v1.JSONSchemaPropsOrStringArray"),
}

# One field per line: NAME[=GoName] TYPE, with ``*`` for pointers and ``!`` for fields that are always encoded.
# In a type, ``[]`` is a list and ``{}`` a map of the type that follows, ``~Name:`` is the name of the type, and a
# capital letter begins the name of a struct.
_TEXT = """
CustomResourceDefinition
  apiVersion=APIVersion text
  kind text
  metadata metadata
  spec CustomResourceDefinitionSpec !
  status CustomResourceDefinitionStatus !
CustomResourceDefinitionSpec
  group text !
  names CustomResourceDefinitionNames !
  scope ~v1.ResourceScope:text !
  versions []CustomResourceDefinitionVersion !
  conversion CustomResourceConversion *
  preserveUnknownFields flag
CustomResourceConversion
  strategy ~v1.ConversionStrategyType:text !
  webhook WebhookConversion *
WebhookConversion
  clientConfig WebhookClientConfig *
  conversionReviewVersions []text !
WebhookClientConfig
  url=URL text *
  service ServiceReference *
  caBundle=CABundle bytes
ServiceReference
  namespace text !
  name text !
  path text *
  port int32 *
CustomResourceDefinitionVersion
  name text !
  served flag !
  storage flag !
  deprecated flag
  deprecationWarning text *
  schema CustomResourceValidation *
  subresources CustomResourceSubresources *
  additionalPrinterColumns []CustomResourceColumnDefinition
  selectableFields []SelectableField
SelectableField
  jsonPath=JSONPath text !
CustomResourceColumnDefinition
  name text !
  type text !
  format text
  description text
  priority int32
  jsonPath=JSONPath text !
CustomResourceDefinitionNames
  plural text !
  singular text
  shortNames []text
  kind text !
  listKind text
  categories []text
CustomResourceDefinitionStatus
  conditions []CustomResourceDefinitionCondition !
  acceptedNames CustomResourceDefinitionNames !
  storedVersions []text !
  observedGeneration int64
CustomResourceDefinitionCondition
  type ~v1.CustomResourceDefinitionConditionType:text !
  status ~v1.ConditionStatus:text !
  lastTransitionTime time !
  reason text
  message text
  observedGeneration int64
CustomResourceValidation
  openAPIV3Schema=OpenAPIV3Schema JSONSchemaProps *
CustomResourceSubresources
  status CustomResourceSubresourceStatus *
  scale CustomResourceSubresourceScale *
CustomResourceSubresourceStatus
CustomResourceSubresourceScale
  specReplicasPath text !
  statusReplicasPath text !
  labelSelectorPath text *
JSONSchemaProps
  id=ID text
  $schema=Schema ~v1.JSONSchemaURL:text
  $ref=Ref text *
  description text
  type text
  nullable flag
  format text
  title text
  default json *
  maximum number *
  exclusiveMaximum flag
  minimum number *
  exclusiveMinimum flag
  maxLength int64 *
  minLength int64 *
  pattern text
  maxItems int64 *
  minItems int64 *
  uniqueItems flag
  multipleOf number *
  enum []json
  maxProperties int64 *
  minProperties int64 *
  required []text
  items schema or list *
  allOf []JSONSchemaProps
  oneOf []JSONSchemaProps
  anyOf []JSONSchemaProps
  not JSONSchemaProps *
  properties {}JSONSchemaProps
  additionalProperties schema or flag *
  patternProperties {}JSONSchemaProps
  dependencies ~v1.JSONSchemaDependencies:{}schema or names
  additionalItems schema or flag *
  definitions ~v1.JSONSchemaDefinitions:{}JSONSchemaProps
  externalDocs ExternalDocumentation *
  example json *
  x-kubernetes-preserve-unknown-fields=XPreserveUnknownFields flag *
  x-kubernetes-embedded-resource=XEmbeddedResource flag
  x-kubernetes-int-or-string=XIntOrString flag
  x-kubernetes-list-map-keys=XListMapKeys []text
  x-kubernetes-list-type=XListType text *
  x-kubernetes-map-type=XMapType text *
  x-kubernetes-validations=XValidations ~v1.ValidationRules:[]ValidationRule
ExternalDocumentation
  description text
  url=URL text
ValidationRule
  rule text !
  message text
  messageExpression text
  reason ~v1.FieldValueErrorReason:text *
  fieldPath text
  optionalOldSelf flag *
"""


def _shape(text: str) -> Shape:
    own_name = ""
    if text.startswith("~"):
        own_name, _, text = text[1:].partition(":")
    if text.startswith("[]"):
        return ListOf(item=_shape(text[2:]), own_name=own_name)
    if text.startswith("{}"):
        return MapOf(item=_shape(text[2:]), own_name=own_name)
    if own_name:
        return Scalar(kind="string", name=own_name)
    return Ref(struct=text) if text[0].isupper() else _SIMPLE[text]


def _field(line: str) -> Field:
    names, _, text = line.strip().partition(" ")
    pointer, kept = text.endswith(" *"), text.endswith(" !")
    json, _, go = names.partition("=")
    shape = _shape(text[:-2] if pointer or kept else text)
    return Field(json=json, go=go or json[0].upper() + json[1:], shape=shape, pointer=pointer, kept=kept)


def _structs() -> Iterator[tuple[str, dict[str, Field]]]:
    fields: dict[str, Field] = {}
    for line in _TEXT.strip().splitlines():
        if line.startswith(" "):
            field = _field(line)
            fields[field.json] = field
        else:
            fields = {}
            yield line, fields


#: All structs by name, with their fields by JSON name in the real server's order. It must not be modified.
STRUCTS = MappingProxyType(dict(_structs()))
