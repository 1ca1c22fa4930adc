"""Models of kinds, from the schemas of OpenAPI v3 documents or CRDs. Pure.

A model has a field for each property: required ones without a default, all others ``None`` by default. Names are those
of the manifests; only what Python cannot name gets another one.

datamodel-code-generator 0.89 reads OpenAPI too, but not CRDs. It gives absent objects the default of an empty one,
which fails if that has required fields: four of its 30 models of apps/v1 cannot be decoded from ``{}``, though none of
their fields is required.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from dynkube.errors import InvalidInput
from dynkube.meta import GVK

Schema: TypeAlias = Mapping[str, Any]

_REF: Final = "#/components/schemas/"
_GVKS: Final = "x-kubernetes-group-version-kind"
_DEEPEST: Final = 64
_MOST: Final = 20_000  # models of one module; core/v1 has about 250
_MOST_VALUES: Final = 100  # of an enum; with more it is a string
_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
#: What annotations and defaults in the body of a class mean, which a field of the same name would hide.
_TAKEN: Final = frozenset({"str", "int", "float", "bool", "list", "dict", "Any", "Literal", "msgspec"})

#: The metadata of custom resources, whose schemas leave it out. https://kubernetes.io/docs/reference/kubernetes-api/
_METADATA: Final[Schema] = {
    "type": "object",
    "description": "Metadata that all objects have.",
    "properties": {
        "name": {"type": "string"},
        "generateName": {"type": "string"},
        "namespace": {"type": "string"},
        "uid": {"type": "string"},
        "resourceVersion": {"type": "string"},
        "generation": {"type": "integer"},
        "creationTimestamp": {"type": "string"},
        "deletionTimestamp": {"type": "string"},
        "deletionGracePeriodSeconds": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "ownerReferences": {"type": "array", "items": {"$ref": f"{_REF}OwnerReference"}},
        "managedFields": {"type": "array", "items": {"type": "object"}},
    },
}
_OWNER: Final[Schema] = {
    "type": "object",
    "description": "An owner of an object.",
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        **{name: {"type": "string"} for name in ("apiVersion", "kind", "name", "uid")},
        **{name: {"type": "boolean"} for name in ("controller", "blockOwnerDeletion")},
    },
}


@dataclass(frozen=True, slots=True)
class ModelField:
    """A field of a model.

    Attributes:
        name: the name in manifests.
        attribute: the name in Python.
        type: the annotation.
        default: the default as Python; ``""`` if the field is required.
        description: its text; may be empty.
    """

    name: str
    attribute: str
    type: str
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class Model:
    """A class to write.

    Attributes:
        name: its name.
        description: its text; may be empty.
        fields: its fields, the required ones first.
    """

    name: str
    description: str
    fields: tuple[ModelField, ...]


def kinds_in(schemas: Mapping[str, Schema], group: str, version: str) -> Iterator[tuple[GVK, Schema]]:
    """Yield the kinds of a group-version that have metadata and are no lists, from an OpenAPI v3 document."""
    for name, schema in sorted(schemas.items()):
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or "metadata" not in properties:
            continue
        for each in filter(lambda kind: isinstance(kind, Mapping), _listed(schema, _GVKS)):
            gvk = GVK(each.get("group", ""), each.get("version", ""), each.get("kind", ""))
            is_list = gvk.kind.endswith("List") and "items" in properties
            if (gvk.group, gvk.version) == (group, version) and not is_list:
                yield gvk, {"$ref": f"{_REF}{name}"}


def models_of_crd(crd: Mapping[str, Any]) -> Iterator[tuple[GVK, Schema]]:
    """Yield the kind of a CRD for each of its versions, with its schema.

    Raises:
        InvalidInput: it is not a CRD, or a version has no schema.
    """
    spec: Any = crd.get("spec")
    try:
        group, kind, versions = spec["group"], spec["names"]["kind"], spec["versions"]
        for version in versions:
            schema = version["schema"]["openAPIV3Schema"]
            properties = {**(schema.get("properties") or {}), "metadata": {"$ref": f"{_REF}ObjectMeta"}}
            yield GVK(group, version["name"], kind), {**schema, "properties": properties}
    except (KeyError, TypeError, AttributeError) as exc:
        name = (crd.get("metadata") or {}).get("name", "the object")
        raise InvalidInput(f"{name} is not a CustomResourceDefinition with a schema for each version: {exc!r}") from exc


class Models:
    """The models of one group-version.

    Args:
        schemas: the schemas that others refer to, by name; those of metadata are added if they are missing.
        partial_objects: whether all fields may be missing, for applies of a part of an object.
    """

    def __init__(self, schemas: Mapping[str, Schema], *, partial_objects: bool = False) -> None:
        self._partial = partial_objects
        self._schemas = {"ObjectMeta": _METADATA, "OwnerReference": _OWNER, **schemas}
        self._names: dict[str, str] = {}  # of classes, by reference
        self._taken: set[str] = set()  # names of classes
        self._models: dict[str, Model | None] = {}  # None while it is read, as it may refer to itself

    def add(self, gvk: GVK, schema: Schema) -> None:
        """Add the model of a kind, and all that it refers to.

        Raises:
            InvalidInput: there are too many, or a schema is nested too deeply.
        """
        reference = schema.get("$ref")
        name = self._named(reference) if isinstance(reference, str) else self._free(_class_name(gvk.kind))
        properties = dict(self._resolved(schema).get("properties") or {})
        for key, value in (("apiVersion", gvk.group_version), ("kind", gvk.kind)):
            properties[key] = {"enum": [str(value)], "type": "string", "default": str(value)}
        self._build(name, {**self._resolved(schema), "properties": properties}, 0)

    def all(self) -> list[Model]:
        """Return all models, sorted by name."""
        return [model for _, model in sorted(self._models.items()) if model is not None]

    def _resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        return self._schemas.get(reference.removeprefix(_REF), {}) if isinstance(reference, str) else schema

    def _named(self, reference: str) -> str:
        """Return the name of the class for a reference; the group is in it if another one has the same name."""
        if reference not in self._names:
            parts = reference.removeprefix(_REF).split(".")
            name = _class_name(parts[-1])
            if name in self._taken:
                name = _class_name("".join(part.capitalize() for part in parts[-3:-1]) + parts[-1])
            self._names[reference] = self._free(name)
        return self._names[reference]

    def _free(self, name: str) -> str:
        found, number = name, 2
        while found in self._taken:
            found, number = f"{name}{number}", number + 1
        self._taken.add(found)
        return found

    def _build(self, name: str, schema: Schema, depth: int) -> None:
        if len(self._models) >= _MOST:
            raise InvalidInput(f"there are more than {_MOST} models")
        self._models[name] = None
        names = [] if self._partial else _listed(schema, "required")
        fields, attributes = [], set[str]()
        properties = schema.get("properties")
        for key, each in sorted(properties.items()) if isinstance(properties, Mapping) else ():
            attribute = _attribute(key, attributes)
            attributes.add(attribute)
            schema_of_it = each if isinstance(each, Mapping) else {}
            fields.append(self._field(name, key, attribute, schema_of_it, key in names, depth))
        fields.sort(key=lambda field: (field.default != "", field.name))
        self._models[name] = Model(name, _text(schema), tuple(fields))

    def _field(self, owner: str, key: str, attribute: str, schema: Schema, required: bool, depth: int) -> ModelField:
        kind = self._type(schema, f"{owner}{_class_name(key)}", depth + 1)
        constant = schema.get("default") if len(_listed(schema, "enum")) == 1 else None
        if isinstance(constant, str):
            return ModelField(key, attribute, kind, repr(constant), _text(schema))
        if required:
            return ModelField(key, attribute, kind, "", _text(schema))
        optional = kind if kind == "Any" or kind.endswith("| None") else f"{kind} | None"
        return ModelField(key, attribute, optional, "None", _text(schema))

    def _type(self, schema: object, hint: str, depth: int) -> str:
        """Return the annotation of a schema; ``hint`` is the name of a class that it may need."""
        if depth > _DEEPEST:
            raise InvalidInput(f"the schema of {hint[:100]}... is nested more than {_DEEPEST} levels deep")
        if not isinstance(schema, Mapping):
            return "Any"
        parts = _listed(schema, "allOf")
        if len(parts) == 1 and isinstance(parts[0], Mapping) and "properties" not in schema:
            return self._type({**parts[0], **({"nullable": True} if schema.get("nullable") else {})}, hint, depth + 1)
        reference = schema.get("$ref")
        found = self._resolved(schema)
        if isinstance(reference, str) and found.get("properties"):
            kind = self._class(found, self._named(reference), depth)
        else:
            kind = self._plain(found, hint, depth)
        return f"{kind} | None" if schema.get("nullable") and kind != "Any" else kind

    def _class(self, schema: Schema, name: str, depth: int) -> str:
        if name not in self._models:
            self._build(name, schema, depth)
        return name

    def _plain(self, schema: Schema, hint: str, depth: int) -> str:
        """Return the annotation of a schema that is no reference to a class."""
        values, kind = _listed(schema, "enum"), schema.get("type")
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return "int | str"
        if values and all(isinstance(each, str) for each in values):
            return f"Literal[{', '.join(map(repr, values))}]" if len(values) <= _MOST_VALUES else "str"
        if kind == "array":
            return f"list[{self._type(schema.get('items'), hint, depth + 1)}]"
        if isinstance(schema.get("properties"), Mapping) and schema["properties"]:
            return self._class(schema, self._free(hint), depth)
        if kind == "object":
            return f"dict[str, {self._type(schema.get('additionalProperties'), hint, depth + 1)}]"
        one_of = [each.get("type") for each in _listed(schema, "oneOf") if isinstance(each, Mapping)]
        found = {_SCALARS.get(str(each), "Any") for each in one_of or [kind]}  # several for a Quantity
        return "Any" if "Any" in found else " | ".join(sorted(found))


def _listed(schema: Schema, key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _text(schema: Schema) -> str:
    text = schema.get("description")
    return text if isinstance(text, str) else ""


def _class_name(text: str) -> str:
    """Return a name of a class: ``HTTPRoute`` for that, ``NodePort`` for ``nodePort``."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[:1].upper() + word[1:] for word in words) or "Model"
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN or name[0].isdigit() else name


def _attribute(key: str, taken: set[str]) -> str:
    """Return the name of an attribute: that of the manifest, if Python has such names."""
    name = re.sub(r"\W|^(?=\d)", "_", key, flags=re.ASCII).lstrip("_") or "field"
    name = f"field_{name}" if name[0].isdigit() else name
    while keyword.iskeyword(name) or name in _TAKEN or name in taken or name[0].isupper():
        name = f"{name[0].lower()}{name[1:]}" if name[0].isupper() else f"{name}_"
    return name
