"""Checks of the CEL expressions of admission policies and webhooks.

They are skipped if no CEL library is installed: policies are not evaluated then, either.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Check
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.cel.celtypes import DYN, Type
from dynkube_testing._schemas.cel.compiling import CompileError
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._schemas.cel.policies import Environment
from dynkube_testing._schemas.cel.syntax import Parser

_POLICY = "AdmissionPolicySpec"  # validating or mutating


def evaluates_to(*results: Type, authorizer: bool = True, makes: bool = False) -> Check:
    """Check that an expression of a policy, if present, compiles, with one of ``results``; by default any.

    With ``makes`` it may make objects, and blanks around it do not count.
    """

    def check(field: Field) -> None:
        spec = field.above(_POLICY).value
        own: Sequence[JSONObject] = spec.get("variables") or ()
        if field.owner is not None and field.owner.name == "variables":
            own = own[: field.owner.index]
        types = _types_of(_pairs(own), _has_params(spec)) if spec.get("variables") else None
        text = (field.value or "").strip() if makes else field.value or ""
        environment = Environment(params=_has_params(spec), authorizer=authorizer, variables=types, makes=makes)
        field.invalid(_problem(text, results, environment), text)

    return check


def matches(*results: Type) -> Check:
    """Check a match condition of a policy or webhook as :func:`evaluates_to` does; it cannot use variables."""

    def check(field: Field) -> None:
        try:
            params = _has_params(field.above(_POLICY).value)
        except LookupError:  # of a webhook
            params = False
        trimmed = (field.value or "").strip()
        field.invalid(_problem(trimmed, results, Environment(params=params)), trimmed)

    return check


def _has_params(spec: JSONObject) -> bool:
    return spec.get("paramKind") is not None


def _pairs(variables: Sequence[JSONObject]) -> tuple[tuple[str, str], ...]:
    return tuple((str(each.get("name", "")), str(each.get("expression", ""))) for each in variables)


def _problem(text: str, results: Sequence[Type], environment: Environment) -> str:
    """Return what is wrong with an expression; ``""`` if nothing is, or if it is blank."""
    parser = _parser()
    if parser is None or not text.strip():
        return ""
    try:
        found = environment.result_of(parser, text)
    except CompileError as problem:
        return str(problem)
    if not results or found in results:
        return ""
    if len(results) == 1:
        return f"must evaluate to {results[0]} but got {found}"
    return f"must evaluate to one of [{' '.join(each.name for each in results)}] but got {found}"


@lru_cache(maxsize=64)  # each expression of a policy needs the types of its variables
def _types_of(variables: tuple[tuple[str, str], ...], params: bool) -> dict[str, Type]:
    types: dict[str, Type] = {}
    parser = _parser()
    for name, text in variables if parser is not None else ():
        assert parser is not None
        try:
            types[name] = Environment(params=params, variables=types).result_of(parser, text)
        except CompileError:  # reported for the variable
            types[name] = DYN
    return types


@cache
def _parser() -> Parser | None:
    try:
        return Parser()
    except CannotEvaluate:
        return None
