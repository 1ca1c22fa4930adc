"""Calls of functions: the overload for the given values, its implementation, and its cost."""

from __future__ import annotations

import math

from dynkube_testing._schemas.cel import authorizer, kubernetes, lists, standard, texts
from dynkube_testing._schemas.cel.call_costs import CALLS, COMPARISONS, PATTERN_COST, TEXT_COST
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.errors import Aborted, no_overload
from dynkube_testing._schemas.cel.kubernetes import NamedFormat, Semver
from dynkube_testing._schemas.cel.overloads import functions
from dynkube_testing._schemas.cel.standard import Function
from dynkube_testing._schemas.cel.values import Address, Network, Quantity, Value, size_of, type_of
from dynkube_testing._schemas.go_urls import URL

_BY_OVERLOAD = {**texts.OVERLOADS, **lists.OVERLOADS, **kubernetes.OVERLOADS, **authorizer.OVERLOADS}
_WITHOUT_TYPES = frozenset({"_+_", "_<_", "_<=_", "_>_", "_>=_", "_-_", "_*_", "_/_", "_%_", "-_", "!_", "@in"})
# Functions that check the items of lists themselves.
_ANY_ITEMS = frozenset({"sort", "@sortByAssociatedKeys"})
_BY_NAME = {**standard.FUNCTIONS, **texts.FUNCTIONS, **lists.FUNCTIONS, **kubernetes.FUNCTIONS}
_OPAQUE = (Address, Network, Quantity, URL, NamedFormat, Semver)


def call(function: str, arguments: list[Value], *, method: bool) -> Value:
    """Return the result of a function.

    Raises:
        EvaluationError: There is no overload for these values, or the function fails.
    """
    for overload in functions()[function]:
        fits = overload.method == method and len(overload.arguments) == len(arguments)
        accepts = _has_kind if function in _ANY_ITEMS else _fits
        if fits and all(map(accepts, overload.arguments, arguments)):
            return implementation(function, overload.id)(*arguments)
    if isinstance(arguments[0] if arguments else None, list) and function not in _WITHOUT_TYPES:
        raise no_overload(f"{function}({', '.join(type_of(argument).name for argument in arguments)})")
    raise no_overload("size" if function == "size" else "")


def implementation(function: str, overload: str) -> Function:
    """Return the implementation of an overload, which accepts only values of its types."""
    return _BY_OVERLOAD.get(overload) or _BY_NAME[function]


def _has_kind(wanted: Type, value: Value) -> bool:
    return wanted.kind in {"param", "dyn"} or type_of(value).kind == wanted.kind


def _fits(wanted: Type, value: Value) -> bool:
    if wanted.kind in {"param", "dyn"}:
        return True
    found = type_of(value)
    if found.kind != wanted.kind:
        return False
    if wanted.kind == "list":  # cel-go looks at the first item only
        return not value or not wanted.params or _fits(wanted.params[0], value[0])
    return wanted.kind not in {"struct", "opaque"} or found.name == wanted.name


# ── costs ─────────────────────────────────────────────────────────────────────────────────────


def call_cost(function: str, overload: str, arguments: list[Value], result: Value) -> int:
    """Return the cost of a call.

    Args:
        function: The function.
        overload: Its overload, if the types of the expression determine one; otherwise ``""``.
        arguments: The target and the arguments.
        result: The result; ``None`` if the call failed.
    """
    if (cost := _library_cost(overload, arguments, result)) is not None:
        return cost
    if function in _KUBERNETES and (cost := _kubernetes_cost(function, overload, arguments, result)) is not None:
        return cost
    match overload:
        case "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string":
            return _text_cost(arguments[0])
        case "strings_quote" | "string_format":
            return _text_cost(arguments[0])
        case "in_list":
            return size_of(arguments[1])
        case "add_string" | "add_bytes":
            return math.ceil((size_of(arguments[0]) + size_of(arguments[1])) * TEXT_COST)
        case "matches_string":
            return _pattern_cost(arguments[0], size_of(arguments[1]))
        case "contains_string":
            return _text_cost(arguments[0]) * _text_cost(arguments[1])
        case _ if overload in COMPARISONS:
            return math.ceil(min(map(size_of, arguments)) * TEXT_COST)
    return 1


_KUBERNETES = frozenset({*CALLS, "_==_"})


def _text_cost(value: Value, factor: float = 1) -> int:
    return math.ceil(size_of(value) * factor * TEXT_COST)


def _pattern_cost(text: Value, pattern: int) -> int:
    return math.ceil((1 + size_of(text)) * TEXT_COST) * math.ceil(pattern * PATTERN_COST)


def _traversal(value: Value) -> int:
    match value:
        case str():
            return int(len(value.encode()) * TEXT_COST)
        case bytes():
            return int(len(value) * TEXT_COST)
        case list():
            return sum(map(_traversal, value))
        case dict():
            return sum(_traversal(key) + _traversal(content) for key, content in value.items())
    return 1


def _allocating(factor: float, size: int) -> int:
    return int(size * factor) + 11


def _library_cost(overload: str, arguments: list[Value], result: Value) -> int | None:
    """Return the cost of a function of cel-go's libraries for lists and sets; ``None`` for others."""
    match overload:
        case "list_sets_contains_list" | "list_sets_intersects_list":
            return 1 + size_of(arguments[0]) * size_of(arguments[1])
        case "list_sets_equivalent_list":
            return 1 + size_of(arguments[0]) * size_of(arguments[1]) * 2
        case "list_slice" | "lists_range" | "list_reverse":
            return _allocating(1, size_of(result))
        case "list_flatten" | "list_flatten_int":
            return _allocating(arguments[1] if len(arguments) == 2 else 1, size_of(arguments[0]))
        case "list_distinct":
            return _self_compared(arguments[0])
    if overload.endswith(("_sort", "_sortByAssociatedKeys")):
        return _self_compared(arguments[-1])
    return None


def _self_compared(values: Value) -> int:
    if not isinstance(values, list):  # the evaluation of the list has failed
        problem = "interface conversion: *types.Err is not traits.Lister: missing method Add"
        raise Aborted(f"internal error: {problem}")
    textual = bool(values) and isinstance(values[0], str | bytes)
    return _allocating(2 + (TEXT_COST if textual else 0), len(values) ** 2)


def _kubernetes_cost(function: str, overload: str, arguments: list[Value], result: Value) -> int | None:
    first = arguments[0] if arguments else None
    match function:
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
            return _traversal(first)
        case "replace" | "split" | "ip.isCanonical":
            return _text_cost(first, 2)
        case "join":
            return _text_cost(result, 2)
        case "find" | "findAll":
            return _pattern_cost(first, size_of(arguments[1]))
        case "validate":
            return _pattern_cost(arguments[1], arguments[0].pattern_size)
        case "containsIP" | "containsCIDR":
            cost = _text_cost(first, 2) + (_text_cost(first) + 1 if function == "containsCIDR" else 0)
            return cost + (_text_cost(arguments[1]) if overload.endswith("_string") else 0)
        case "_==_":
            return 1 if isinstance(first, _OPAQUE) else None
        case "ip" if overload == "cidr_ip":
            return 1
        case _ if function in _ONE_TRAVERSAL:
            return _text_cost(first)
    return 1


_ONE_TRAVERSAL = frozenset(
    {"url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"}
    | {"quantity", "isQuantity", "semver", "isSemver"}
)
