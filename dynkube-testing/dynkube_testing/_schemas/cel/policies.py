"""Expressions of admission policies and webhooks: their variables, with the types that kube-apiserver declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.authorizer import AUTHORIZER, RESOURCE_CHECK
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.compiling import CompileError, checked_expression
from dynkube_testing._schemas.cel.declared import Declared
from dynkube_testing._schemas.cel.errors import EvaluationError
from dynkube_testing._schemas.cel.evaluation import Program
from dynkube_testing._schemas.cel.made import made_field, made_type
from dynkube_testing._schemas.cel.syntax import Parser

_TEXT, _NUMBER, _ANY = Declared(types.STRING), Declared(types.INT), Declared(types.DYN)
_TEXTS = Declared(types.list_of(types.STRING), item=_TEXT)
_BY_NAME = Declared(types.map_of(types.STRING, types.STRING), item=_TEXT)
_EXTRA = Declared(types.map_of(types.STRING, _TEXTS.type), item=_TEXTS)


def _struct(*texts: str, **others: Declared) -> Declared:
    return Declared(Type("struct", "object"), {**dict.fromkeys(texts, _TEXT), **others})


_GVK, _GVR = _struct("group", "version", "kind"), _struct("group", "version", "resource")
_REQUEST = _struct(
    *("subResource", "requestSubResource", "name", "namespace", "operation"),
    kind=_GVK,
    resource=_GVR,
    requestKind=_GVK,
    requestResource=_GVR,
    userInfo=_struct("username", "uid", groups=_TEXTS, extra=_EXTRA),
    dryRun=Declared(types.BOOL),
    options=_ANY,
).named("kubernetes.AdmissionRequest")
_NAMESPACE = _struct(
    "apiVersion",
    "kind",
    metadata=_struct(
        *("name", "generateName", "namespace", "UID", "resourceVersion"),
        labels=_BY_NAME,
        annotations=_BY_NAME,
        creationTimestamp=_ANY,  # a timestamp in a real server, as is the next one
        deletionTimestamp=_ANY,
        deletionGracePeriodSeconds=_NUMBER,
        generation=_NUMBER,
        finalizers=_TEXTS,
    ),
    spec=_struct(finalizers=_TEXTS),
    status=_struct("phase"),
).named("kubernetes.Namespace")
_STRUCTS: Final[Mapping[str, Declared]] = {**_REQUEST.structs(), **_NAMESPACE.structs()}

VARIABLES: Final[Mapping[str, Type]] = {
    **dict.fromkeys(("object", "oldObject", "params", "variables"), types.DYN),
    "request": _REQUEST.type,
    "namespaceObject": _NAMESPACE.type,
    "authorizer": AUTHORIZER,
    "authorizer.requestResource": RESOURCE_CHECK,
}


def compiled(parser: Parser, text: str, *, makes: bool = False) -> Program:
    """Return an expression, ready to be evaluated; with ``makes`` it may make objects.

    Raises:
        CompileError: It has errors of syntax or types.
        EvaluationError: A literal in it cannot be converted.
    """
    return Program(checked_expression(parser, text, VARIABLES, _field_type, made_type if makes else None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What an expression of a policy or webhook that is created may use.

    Attributes:
        params: Whether there is the variable ``params``.
        authorizer: Whether there is the variable ``authorizer``.
        variables: The types of the policy's own variables; ``None`` if it has none.
        makes: Whether it may make objects.
    """

    params: bool = False
    authorizer: bool = True
    variables: Mapping[str, Type] | None = None
    makes: bool = False

    def result_of(self, parser: Parser, text: str) -> Type:
        """Return the type of the result of an expression.

        Raises:
            CompileError: It has errors of syntax or types.
        """
        known = dict(VARIABLES)
        known["variables"] = _OWN
        if not self.params:
            del known["params"]
        if not self.authorizer:
            del known["authorizer"], known["authorizer.requestResource"]
        if self.variables is None:
            del known["variables"]
        checked = checked_expression(parser, text, known, self._field_type, made_type if self.makes else None)
        try:
            Program(checked)
        except EvaluationError as problem:
            raise CompileError(f"program instantiation failed: {problem}") from None
        return checked.result

    def _field_type(self, struct: str, name: str) -> Type | None:
        return (self.variables or {}).get(name) if struct == _OWN.name else _field_type(struct, name)


_OWN: Final = Type("struct", "kubernetes.variables")


def _field_type(struct: str, name: str) -> Type | None:
    if struct not in _STRUCTS:
        return made_field(struct, name)
    found = (_STRUCTS[struct].fields or {}).get(name)
    return None if found is None else found.type
