"""Mutants: small changes of the code, mostly by cosmic-ray's operators, drawn with a seed."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from parso.python.tree import Keyword
from parso.tree import search_ancestor


class LeaveOut(Operator):  # type: ignore[misc]  # cosmic-ray has no types
    """An operator that removes a statement of a function."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield the position of a statement that has an effect."""
        if node.type == "simple_stmt" and search_ancestor(node, "funcdef"):
            first = node.children[0]
            if first.type not in {
                "string",
                "strings",
                "import_name",
                "import_from",
            } and first.get_code().strip() not in (
                "pass",
                "...",
            ):
                yield first.start_pos, first.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Replace the statement with ``pass``."""
        first = node.get_first_leaf()
        node.children[0] = Keyword("pass", first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        """Return no examples: only cosmic-ray's own tests use them."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one module."""

    path: str
    operator: str
    occurrence: int
    line: int
    column: int

    def code(self, root: Path) -> tuple[str, str]:
        """Return the source of the module in a checkout, without and with the change."""
        source = (root / self.path).read_text(encoding="utf-8")
        mutated = mutate_code(source, _operators()[self.operator], self.occurrence)
        return source, str(mutated)

    def compiles(self, root: Path) -> bool:
        """Return whether the result is valid Python; changes of ``except trio.Cancelled``, for example, are not."""
        try:
            compile(self.code(root)[1], self.path, "exec", dont_inherit=True)
        except (SyntaxError, AttributeError):
            return False
        return True

    def changed(self, root: Path) -> tuple[list[str], list[str]]:
        """Return the lines that differ, before and after the change."""
        before, after = (text.splitlines() for text in self.code(root))
        start = next(number for number, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
        end = 0
        while before[-1 - end] == after[-1 - end] and end < min(len(before), len(after)) - start - 1:
            end += 1
        return before[start : len(before) - end], after[start : len(after) - end]


def _operators() -> dict[str, Any]:
    operators: dict[str, Any] = {"dynkube/LeaveOut": LeaveOut()}
    for name in cosmic_ray.plugins.operator_names():
        kind = cosmic_ray.plugins.get_operator(name)
        if not kind.arguments():
            operators[name] = kind()
    return operators


_Span: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


def _unread(source: str) -> list[_Span]:
    """Return the positions of code that is only read by type checkers or for tracebacks."""
    return [
        ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        for each in ast.walk(ast.parse(source))
        for node in _unread_by(each)
        if node is not None
    ]


def _unread_by(node: ast.AST) -> Iterable[Any]:
    match node:
        case ast.arg():
            return [node.annotation]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            overloads = [each for each in node.decorator_list if "overload" in ast.unparse(each)]
            return [node.returns, *overloads, *([node] if overloads else [])]
        case ast.AnnAssign():
            return [node] if "TypeAlias" in ast.unparse(node.annotation) else [node.annotation]
        case ast.Assign() if ast.unparse(node.targets[0]) == "__tracebackhide__":
            return [node]
        case ast.If() if "TYPE_CHECKING" in ast.unparse(node.test):
            return [node]
        case ast.keyword() if node.arg in {"frozen", "kw_only", "slots"}:  # of data classes: checked by mypy
            return [node]
        case ast.Call() if ast.unparse(node.func) in {"TypeVar", "ParamSpec", "cast"}:
            return [node]
    return []


def _between_operands(source: str) -> list[_Span]:
    """Return the positions of binary operators; cosmic-ray also takes asterisks of signatures and calls for them."""
    nodes: list[Any] = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.BinOp)]
    return [((n.left.end_lineno, n.left.end_col_offset), (n.right.lineno, n.right.col_offset)) for n in nodes]


def _within(start: tuple[int, int], spans: Iterable[_Span]) -> bool:
    return any(first <= start < last for first, last in spans)


def _mutants_of(path: Path, root: Path) -> dict[tuple[int, int], list[Mutant]]:
    """Return all mutants of a module, by position."""
    source = path.read_text(encoding="utf-8")
    unread, operators = _unread(source), _between_operands(source)
    nodes = list(ast_nodes(get_ast(source)))
    found: dict[tuple[int, int], list[Mutant]] = {}
    for name, operator in sorted(_operators().items()):
        places = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, (start, _) in enumerate(places):
            asterisk = "BinaryOperator" in name and not _within(start, operators)
            if not asterisk and not _within(start, unread):
                mutant = Mutant(
                    path=str(path.relative_to(root)),
                    operator=name,
                    occurrence=occurrence,
                    line=start[0],
                    column=start[1],
                )
                found.setdefault(start, []).append(mutant)
    return found


def draw(root: Path, packages: Iterable[str], seed: int, count: int) -> list[Mutant]:
    """Return ``count`` mutants, at different positions of these packages in a checkout."""
    places = [
        mutants
        for package in sorted(packages)
        for path in sorted((root / "dynkube" / package).rglob("*.py"))
        for _, mutants in sorted(_mutants_of(path, root).items())
    ]
    random = Random(seed)
    random.shuffle(places)
    drawn = (next((each for each in random.sample(place, len(place)) if each.compiles(root)), None) for place in places)
    return list(itertools.islice(filter(None, drawn), count))
