"""Estimated costs of calls: of cel-go's standard functions, its libraries, and those of Kubernetes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.ranges import MOST, NOTHING, ONE, UNKNOWN, Range
from dynkube_testing._schemas.cel.syntax import Expr, Literal, Uint

#: The costs for each character: of texts, and of patterns.
TEXT_COST, PATTERN_COST = 0.1, 0.25
_ADDRESS = Range(4, 16)  # the size of an IP address in bytes
_MOST_FORMAT, _MOST_FORMAT_PATTERN = 64, 128


class Costed(NamedTuple):
    """The cost of a call, and the size of its result if it is known."""

    cost: Range
    size: Range | None = None


class Node(NamedTuple):
    """A target or an argument of a call.

    Attributes:
        path: The path from a variable to it, if it is a part of one.
        type: Its type.
        expr: Its expression.
        size: Its size, if it is known.
        size_at: Finds the size of the values at a path.
    """

    path: tuple[str, ...]
    type: Type
    expr: Expr
    size: Range | None
    size_at: Callable[[tuple[str, ...]], Range | None]

    @property
    def known(self) -> Range:
        return UNKNOWN if self.size is None else self.size

    @property
    def estimated(self) -> Range:
        found = self.size if self.size is not None else self.size_at(self.path)
        return UNKNOWN if found is None else found

    @property
    def item_size(self) -> Range:
        """The size of the items of this list."""
        found = self.size_at((*self.path, "@items")) if self.path else None
        return UNKNOWN if found is None else found

    @property
    def number(self) -> int | None:
        """The value of an integer literal, not less than 0; ``None`` for other expressions."""
        value = self.expr.value if isinstance(self.expr, Literal) else None
        is_int = isinstance(value, int) and not isinstance(value, bool | Uint)
        return max(int(value), 0) if is_int and value is not None and not isinstance(value, bytes | str) else None


_Cost = Callable[[str, Node | None, list[Node]], Costed | None]


# ── the standard library ──────────────────────────────────────────────────────────────────────


def standard_cost(overload: str, target: Node | None, args: list[Node]) -> Costed:
    """Return the cost of an overload of cel-go's standard library, without that of its arguments."""
    match overload:
        case "string_format" if target is not None:
            return Costed(target.known.factor(TEXT_COST))
        case "string_to_bytes":
            size = args[0].known
            return Costed(size.factor(TEXT_COST), Range(size.low, size.high * 4 & MOST))
        case "bytes_to_string":
            size = args[0].known
            return Costed(size.factor(TEXT_COST), Range(size.low // 4, size.high))
        case "strings_quote":
            size = args[0].known
            return Costed(size.factor(TEXT_COST), Range(size.low + 2 & MOST, size.high * 2 + 2 & MOST))
        case "starts_with_string" | "ends_with_string":
            return Costed(args[0].known.factor(TEXT_COST))
        case "in_list":
            return Costed(args[1].known.factor(1))
        case "matches_string" if target is not None:
            return Costed(target.known.plus(ONE).factor(TEXT_COST).multiplied(args[0].known.factor(PATTERN_COST)))
        case "contains_string" if target is not None:
            return Costed(target.known.factor(TEXT_COST).multiplied(args[0].known.factor(TEXT_COST)))
        case "add_list":
            return Costed(ONE, args[0].known.plus(args[1].known))
        case "add_string" | "add_bytes":
            size = args[0].known.plus(args[1].known)
            return Costed(size.factor(TEXT_COST), size)
        case _ if overload in COMPARISONS:
            most = min(args[0].known.high, args[1].known.high)
            return Costed(Range(1 if most > 0 else 0, most).factor(TEXT_COST))
    return Costed(ONE)


#: Overloads that compare texts.
COMPARISONS = frozenset(
    {"equals", "not_equals"}
    | {f"{order}_{of}" for order in ("less", "less_equals", "greater", "greater_equals") for of in ("string", "bytes")}
)


# ── cel-go's libraries for lists and sets, by overload ────────────────────────────────────────


def _allocating(factor: float, size: Range) -> Costed:
    return Costed(size.factor(factor).plus(Range(11, 11)), size)


def _sets(factor: float) -> _Cost:
    def cost(overload: str, target: Node | None, args: list[Node]) -> Costed:
        return Costed(args[0].estimated.multiplied(args[1].estimated).factor(factor).plus(ONE))

    return cost


def _slice(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None:
        return None
    begin, end = args[0].number or 0, args[1].number
    return _allocating(1, Range.exactly((target.estimated.high if end is None else end) - begin & MOST))


def _flatten(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None:
        return None
    depth = 1 if not args else args[0].number
    return _allocating(float(MOST if depth is None else depth), target.estimated)


def _range(overload: str, target: Node | None, args: list[Node]) -> Costed:
    return _allocating(1, Range.exactly(MOST if args[0].number is None else args[0].number))


def _reverse(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    return None if target is None else _allocating(1, target.estimated)


def _distinct(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    return None if target is None else _allocating(2, target.estimated.multiplied(target.estimated))


def _sort(item: str) -> _Cost:
    def cost(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
        node = args[0] if args else target
        if node is None:
            return None
        factor = 2 + (TEXT_COST if item in {"string", "bytes"} else 0)
        return _allocating(factor, node.estimated.multiplied(node.estimated))

    return cost


OVERLOADS: Mapping[str, _Cost] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    **{
        f"list_{item}_{name}": _sort(item)
        for item in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
        for name in ("sort", "sortByAssociatedKeys")
    },
}


# ── Kubernetes' functions, by name ────────────────────────────────────────────────────────────


def _one(overload: str, target: Node | None, args: list[Node]) -> Costed:
    return Costed(ONE)


def _argument(factor: float, *, sized: bool = False) -> _Cost:
    """Return the cost of a function that reads its first argument once."""

    def cost(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
        if not args or (sized and len(args) != 1):
            return None
        size = args[0].estimated
        return Costed(size.factor(factor), size if sized else None)

    return cost


def _same_size(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    return None if target is None else Costed(target.estimated.factor(TEXT_COST), target.estimated)


def _over_items(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None:
        return None
    if not target.type.params:  # a string
        return Costed(target.estimated.factor(TEXT_COST))
    item = ONE
    if target.type.params[0].kind in {"string", "bytes"}:
        item = item.plus(target.item_size.factor(TEXT_COST))
    return Costed(target.estimated.multiplied(item))


def _replace(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.estimated, args[0].estimated, args[1].estimated
    if old.low == 0:  # an empty string is found around each character
        most, kept_most = min(size.high + 1, MOST), size.high
    elif new.high <= old.low:
        most, kept_most = 0, size.high
    else:
        most, kept_most = math.ceil(float(size.high) / old.low), 0
    if old.high == 0:
        least, kept_least = min(size.low + 1, MOST), size.low
    elif old.high <= new.low:
        least, kept_least = 0, size.low
    else:
        least, kept_least = math.ceil(float(size.low) / old.high), 0
    result = Range(least, min(most, MOST)).multiplied(new).plus(Range(kept_least, kept_most))
    return Costed(size.factor(2 * TEXT_COST), result)


def _split(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None:
        return None
    size = target.estimated
    limit = args[1].expr.value if len(args) > 1 and isinstance(args[1].expr, Literal) else None
    most = limit & MOST if isinstance(limit, int) and not isinstance(limit, bool | Uint) else size.high
    return Costed(size.factor(2 * TEXT_COST), Range(0, most))


def _join(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None:
        return None
    count = target.estimated
    size = count.multiplied(target.item_size) if target.type.params else NOTHING
    if args:
        size = size.plus(args[0].estimated.multiplied(Range(max(count.low - 1, 0), max(count.high - 1, 0))))
    return Costed(size.factor(TEXT_COST), size)


def _find(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    if target is None or not args:
        return None
    size = target.estimated
    cost = size.plus(ONE).factor(TEXT_COST).multiplied(args[0].estimated.factor(PATTERN_COST))
    return Costed(cost, Range(0, size.high))


def _ip(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    return Costed(ONE) if overload == "cidr_ip" else _argument(TEXT_COST)(overload, target, args)


def _contains_address(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    cost = _ADDRESS.plus(_ADDRESS).factor(TEXT_COST)
    if overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(_ADDRESS.factor(TEXT_COST), ONE)
    if overload.endswith("_string"):
        cost = cost.plus(args[0].estimated.factor(TEXT_COST))
    return Costed(cost)


def _validate(overload: str, target: Node | None, args: list[Node]) -> Costed:
    return Costed(args[0].estimated.factor(TEXT_COST).factor(_MOST_FORMAT_PATTERN * PATTERN_COST))


def _equals(overload: str, target: Node | None, args: list[Node]) -> Costed | None:
    one, other = args
    if one.type != other.type:
        return None
    match one.type.name:
        case "kubernetes.Quantity" | "kubernetes.Semver" | "net.IP" | "net.CIDR":
            return Costed(ONE)
        case "kubernetes.NamedFormat":
            return Costed(Range(1, _MOST_FORMAT).factor(TEXT_COST))
        case "kubernetes.URL":
            return Costed(Range(1, 1 if other.size is None else other.size.high).factor(TEXT_COST))
    return None


def _check(overload: str, target: Node | None, args: list[Node]) -> Costed:
    return Costed(Range(350_000, 350_000))


def _selector(overload: str, target: Node | None, args: list[Node]) -> Costed:
    size = args[0].estimated
    return Costed(Range(10, 10).plus(size.factor(TEXT_COST), size.factor(0.5).factor(50)))


_PLAIN = """serviceAccount path group resource subresource namespace name allowed reason error errored masked
prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named sign
asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch getScheme
getHostname getHost getPort getEscapedPath getQuery"""

CALLS: Mapping[str, _Cost] = {
    **dict.fromkeys(_PLAIN.split(), _one),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_items),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_size),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _argument(TEXT_COST)),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    "url": _argument(TEXT_COST, sized=True),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "ip.isCanonical": _argument(2 * TEXT_COST),
    "validate": _validate,
    "check": _check,
    "_==_": _equals,
}
