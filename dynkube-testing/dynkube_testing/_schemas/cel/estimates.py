"""Estimates of the costs of expressions, by which kube-apiserver limits the rules of a CRD.

Costs and sizes are those of cel-go's estimator, with the costs of functions of Kubernetes' libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dynkube_testing._schemas.cel.call_costs import CALLS, OVERLOADS, Costed, Node, standard_cost
from dynkube_testing._schemas.cel.celtypes import DYN, Type
from dynkube_testing._schemas.cel.checker import Checked
from dynkube_testing._schemas.cel.declared import Declared
from dynkube_testing._schemas.cel.ranges import MOST, NOTHING, ONE, UNKNOWN, Range
from dynkube_testing._schemas.cel.syntax import Call, Comprehension, Expr, Ident, ListOf, Literal, MapOf, Select

_LIST, _MAP, _MESSAGE = Range(10, 10), Range(30, 30), Range(40, 40)
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_ACCUMULATORS = {"@result", "__result__"}


def estimate(checked: Checked, root: Declared) -> Range:
    """Return the estimated cost of an expression.

    Args:
        checked: The expression.
        root: The declaration of ``self``.
    """
    return _Estimator(checked, root).cost(checked.tree.root)


def cost_message(name: str, cost: int, limit: int) -> str:
    """Return the message about an estimated cost that exceeds a limit."""
    factor = cost / limit
    digits = 6 if factor < 1.5 else 1
    text = "more than 100x" if factor > 100 else f"{factor:.{digits}f}x"
    advice = (
        "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings"
    )
    return f"{name} exceeds budget by factor of {text} ({advice} are declared)"


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of keys and values of a list or map."""

    kind: str
    key: Range
    value: Range


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable of a comprehension."""

    path: tuple[str, ...]
    size: Range | None = None
    entries: _Entries | None = None


class _Estimator:
    def __init__(self, checked: Checked, root: Declared) -> None:
        self._checked = checked
        self._root = root
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, expr: Expr) -> Range:
        match expr:
            case Literal():
                return NOTHING
            case Ident():
                local = self._local(expr.name)
                self._paths[expr.id] = local.path if local is not None else (expr.name,)
                return ONE
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListOf():
                return self._list(expr)
            case MapOf():
                return self._map(expr)
            case Comprehension():
                return self._bind(expr) if _is_bind(expr) else self._loop(expr)

    # ── sizes ─────────────────────────────────────────────────────────────────────────────

    def size_at(self, path: tuple[str, ...]) -> Range | None:
        """Return the size of the values at a path that begins with a variable; ``None`` if it is unknown."""
        if not path:
            return None
        found = self._root.at(path[1:])
        return None if found is None else Range(0, found.most)

    def _node(self, expr: Expr) -> Node:
        path = self._path(expr)
        if path[:1] and path[0] in _ACCUMULATORS:
            path = ()
        return Node(path, self._type(expr), expr, self._size(expr), self.size_at)

    def _type(self, expr: Expr) -> Type:
        return self._checked.types.get(expr.id, DYN)

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _path(self, expr: Expr) -> tuple[str, ...]:
        if isinstance(expr, Ident) and (local := self._local(expr.name)) is not None:
            return local.path
        return self._paths.get(expr.id, ())

    def _size(self, expr: Expr) -> Range | None:
        if (known := self._sizes.get(expr.id)) is not None:
            return known
        if (size := _literal_size(expr)) is not None:
            return Range.exactly(size)
        if (found := self.size_at(self._path(expr))) is not None:
            self._sizes[expr.id] = found
            return found
        value = self._type(expr)
        if value.is_optional:
            value = value.params[0]
        if value.kind in _SCALARS:
            return ONE
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.size if local is not None else None

    def _known_size(self, expr: Expr) -> Range:
        size = self._size(expr)
        return UNKNOWN if size is None else size

    def _entries_of(self, expr: Expr) -> _Entries | None:
        if (known := self._entries.get(expr.id)) is not None:
            return known
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.entries if local is not None else None

    # ── parts ─────────────────────────────────────────────────────────────────────────────

    def _select(self, expr: Select) -> Range:
        if expr.id in self._checked.type_names:  # a name such as ``net.IP``, which is an identifier
            self._paths[expr.id] = (self._checked.type_names[expr.id].name,)
            return ONE
        cost = self.cost(expr.operand)
        if expr.test_only:
            return cost
        if self._type(expr.operand).kind in {"map", "struct", "param"}:
            cost = cost.plus(ONE)
        self._paths[expr.id] = (*self._path(expr.operand), expr.field)
        return cost

    def _list(self, expr: ListOf) -> Range:
        cost, size = NOTHING, NOTHING if not expr.elements else Range(MOST, 0)
        for element in expr.elements:
            cost = cost.plus(self.cost(element))
            size = size.union(self._known_size(element))
        self._entries[expr.id] = _Entries("list", ONE, size)
        return cost.plus(_LIST)

    def _map(self, expr: MapOf) -> Range:
        cost = NOTHING
        if expr.name:
            return cost.plus(*(self.cost(entry.value) for entry in expr.entries), _MESSAGE)
        key = value = NOTHING if not expr.entries else Range(MOST, 0)
        for entry in expr.entries:
            assert not isinstance(entry.key, str)
            cost = cost.plus(self.cost(entry.key), self.cost(entry.value))
            key, value = key.union(self._known_size(entry.key)), value.union(self._known_size(entry.value))
        self._entries[expr.id] = _Entries("map", key, value)
        return cost.plus(_MAP)

    def _bind(self, expr: Comprehension) -> Range:
        cost = self.cost(expr.range).plus(self.cost(expr.start))
        with self._variable(expr.accumulator, self._local_of(expr.start)):
            cost = cost.plus(self.cost(expr.result))
            size, entries = self._size(expr.result), self._entries_of(expr.result)
        self._note(expr, size, entries)
        return cost

    def _note(self, expr: Expr, size: Range | None, entries: _Entries | None) -> None:
        if size is not None:
            self._sizes[expr.id] = size
        if entries is not None:
            self._entries[expr.id] = entries

    def _loop(self, expr: Comprehension) -> Range:
        cost = self.cost(expr.range).plus(self.cost(expr.start))
        with self._variable(expr.accumulator, self._local_of(expr.start)):
            with self._loop_variables(expr):
                inner = self.cost(expr.condition)
                inner = self.cost(expr.step).plus(inner)
            cost = cost.plus(self.cost(expr.result))
        count = self._known_size(expr.range)
        cost = cost.plus(count.multiplied(inner))
        if isinstance(expr.start, Literal):
            self._note(expr, self._size(expr.start), None)
        elif isinstance(expr.start, ListOf | MapOf):
            self._note(expr, count, self._entries_of(expr.step))
        return cost

    def _local_of(self, expr: Expr) -> _Local:
        return _Local(self._path(expr), self._size(expr), self._entries_of(expr))

    @contextmanager
    def _variable(self, name: str, local: _Local) -> Iterator[None]:
        self._locals.setdefault(name, []).append(local)
        yield
        self._locals[name].pop()

    @contextmanager
    def _loop_variables(self, expr: Comprehension) -> Iterator[None]:
        entries, path = self._entries_of(expr.range), self._path(expr.range)
        kind = entries.kind if entries is not None else self._type(expr.range).kind
        key, value = (entries.key, entries.value) if entries is not None else (None, None)
        values = _Local((*path, "@items" if kind == "list" else "@values"), value)
        keys = _Local((*path, "@indices" if kind == "list" else "@keys"), key)
        if not expr.variable2:
            with self._variable(expr.variable, values if kind == "list" else keys):
                yield
            return
        with self._variable(expr.variable, keys), self._variable(expr.variable2, values):
            yield

    # ── calls ─────────────────────────────────────────────────────────────────────────────

    def _call(self, expr: Call) -> Range:
        if expr.function == "dyn":
            cost = self.cost(expr.args[0])
            self._note(expr, self._size(expr.args[0]), self._entries_of(expr.args[0]))
            return cost.plus(ONE)
        costs, nodes = [], []
        for argument in expr.args:
            costs.append(self.cost(argument))
            nodes.append(self._node(argument))
        overloads = self._checked.overloads.get(expr.id, ())
        if not overloads:
            return NOTHING
        target, total = None, NOTHING
        if expr.target is not None:
            total = self.cost(expr.target)
            target = self._node(expr.target)
        call, size = Range(MOST, 0), None
        for overload in overloads:
            found = self._overload_cost(expr, overload, target, nodes, costs)
            call = call.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            size = self._indexed(expr, overload, size)
            if size is None:
                size = self._size(expr)
        if size is not None:
            self._sizes[expr.id] = size
        return total.plus(call)

    def _indexed(self, expr: Call, overload: str, size: Range | None) -> Range | None:
        """Note the path of an item of a list or map, and return its size."""
        step = {"index_list": "@items", "index_map": "@values"}.get(overload)
        if step is None:
            return size
        entries = self._entries_of(expr.args[0])
        self._paths[expr.id] = (*self._path(expr.args[0]), step)
        return entries.value if entries is not None else None

    def _overload_cost(
        self, expr: Call, overload: str, target: Node | None, nodes: list[Node], costs: list[Range]
    ) -> Costed:
        """Return the cost of one overload, with that of the arguments."""
        own = OVERLOADS.get(overload) or CALLS.get(expr.function)
        if own is not None and (found := own(overload, target, nodes)) is not None:
            return Costed(found.cost.plus(*costs), found.size)
        match overload:
            case "logical_and" | "logical_or":
                return Costed(Range(costs[0].low, costs[0].plus(costs[1]).high))
            case "conditional":
                return self._conditional(expr, nodes, costs)
            case "add_string" | "add_bytes" | "add_list":
                self._note(expr, None, self._united(expr.args[0], expr.args[1]))
        found = standard_cost(overload, target, nodes)
        return Costed(found.cost.plus(*costs), found.size)

    def _conditional(self, expr: Call, nodes: list[Node], costs: list[Range]) -> Costed:
        _, yes, no = expr.args
        self._note(expr, None, self._united(yes, no))
        size = nodes[1].known.union(nodes[2].known)
        return Costed(costs[0].plus(costs[1].union(costs[2])), size)

    def _united(self, one: Expr, other: Expr) -> _Entries | None:
        first, second = self._entries_of(one), self._entries_of(other)
        if first is None or second is None:
            return None
        return _Entries(first.kind, first.key.union(second.key), first.value.union(second.value))


def _is_bind(expr: Comprehension) -> bool:
    """Return whether a comprehension only defines a variable, as those of ``optMap`` do."""
    return (
        isinstance(expr.range, ListOf)
        and not expr.range.elements
        and isinstance(expr.condition, Literal)
        and expr.condition.value is False
        and expr.accumulator not in _ACCUMULATORS
    )


def _literal_size(expr: Expr) -> int | None:
    match expr:
        case Literal():
            return len(expr.value) if isinstance(expr.value, str | bytes) else 1
        case ListOf():
            return len(expr.elements)
        case MapOf() if not expr.name:
            return len(expr.entries)
    return None
