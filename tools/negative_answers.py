"""Lists where dynkube acts on a negative response: ``python -m tools.negative_answers`` prints what the table lacks.

A 404, 403, 401, 405 or 410 proves little by itself; see ``dynkube/errors/_evidence.py``. So each place that
distinguishes such an error or status is in tests/architecture/negative_answers.toml, with ``evidence = true`` if it
uses that module, or with the reason why it need not. tests/architecture/test_negative_answers.py compares the two.
"""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = ROOT / "tests" / "architecture" / "negative_answers.toml"

_ERRORS: Final = frozenset({"NotFound", "Forbidden", "Unauthorized", "NoMatch", "Gone", "MethodNotAllowed"})
_CODES: Final = frozenset({401, 403, 404, 405, 410})
_ATTRIBUTES: Final = frozenset({"code", "status", "status_code", "reason"})
_EVIDENCE: Final = "dynkube/errors/_evidence.py"
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Place:
    """One place that distinguishes a negative response.

    Attributes:
        file: the path below the repository.
        function: the qualified name of the function; ``""`` at the level of the module.
        what: the test, like ``"except NotFound"``; a second one of the same text in the function ends with ``#2``.
        line: its first line.
        evidence: whether the function uses ``dynkube.errors._evidence``.
    """

    file: str
    function: str
    what: str
    line: int
    evidence: bool

    @property
    def identity(self) -> tuple[str, str, str]:
        """What the table identifies it by."""
        return (self.file, self.function, self.what)


def places(root: Path = ROOT) -> list[Place]:
    """Return all places of the package, in order."""
    found: list[Place] = []
    for path in sorted((root / "dynkube").rglob("*.py")):
        file = path.relative_to(root).as_posix()
        if file != _EVIDENCE:
            found += places_of(file, path.read_text(encoding="utf-8"))
    return found


def places_of(file: str, source: str) -> list[Place]:
    """Return the places of one module.

    Args:
        file: the path to report.
        source: its text.
    """
    module = ast.parse(source)
    constants = _constants(module)
    proofs = _imported_evidence(module)
    found: list[Place] = []
    counts: Counter[tuple[str, str]] = Counter()
    for function, scope, node in _nodes(module, "", module):
        what = _test_of(node, constants)
        if what:
            counts[function, what] += 1
            number = counts[function, what]
            text = what if number == 1 else f"{what} #{number}"
            found.append(Place(file, function, text, getattr(node, "lineno", 1), _uses(scope, proofs)))
    return found


def entries() -> list[dict[str, Any]]:
    """Return the entries of the table."""
    with TABLE.open("rb") as file:
        return list(tomllib.load(file)["place"])


def entry_text(place: Place) -> str:
    """Return the entry of a place for the table, with its reason to be written."""
    names = {"file": place.file, "function": place.function, "what": place.what}
    lines = [f"{name} = {json.dumps(value)}" for name, value in names.items()]
    return "\n".join(["[[place]]", *lines, "evidence = true" if place.evidence else 'reason = "TODO"', ""])


def main() -> None:
    """Print the missing entries, to be appended to the table, and name those that are superfluous."""
    found = places()
    known = {(each["file"], each["function"], each["what"]) for each in entries()} if TABLE.exists() else set()
    for place in found:
        if place.identity not in known:
            print(entry_text(place))
    for identity in sorted(known - {place.identity for place in found}):
        print("superfluous:", *identity, file=sys.stderr)


# ── syntax ───────────────────────────────────────────────────────────────────────────────────


def _nodes(node: ast.AST, function: str, scope: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Iterate over nodes, each with the qualified name and the node of the innermost function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            name = f"{function}.{child.name}" if function else child.name
            inner = scope if isinstance(child, ast.ClassDef) else child
            yield from _nodes(child, name, inner)
        else:
            yield function, scope, child
            yield from _nodes(child, function, scope)


def _constants(module: ast.Module) -> frozenset[str]:
    """Return the constants of the module that stand for such errors or codes."""
    found: set[str] = set()
    for node in module.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if _names(node.value, frozenset()) or _codes(node.value, frozenset()):
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def _imported_evidence(module: ast.Module) -> frozenset[str]:
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
    evidence = [node for node in imports if node.module == "dynkube.errors._evidence"]
    return frozenset(alias.asname or alias.name for node in evidence for alias in node.names)


def _uses(scope: ast.AST, names: frozenset[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(scope))


def _test_of(node: ast.AST, constants: frozenset[str]) -> str:
    """Return what a node tests; ``""`` if that is no negative response."""
    match node:
        case ast.ExceptHandler(type=ast.expr() as types):
            return _joined("except", _names(types, constants))
        case ast.MatchClass(cls=cls):
            return _joined("case", _names(cls, constants))
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, types]):
            return _joined("isinstance", _names(types, constants))
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=args):
            return _joined("suppress", [name for each in args for name in _names(each, constants)])
        case ast.Compare(left=left, comparators=others):
            return _comparison([left, *others], constants)
        case ast.MatchValue(value=ast.Constant(value=value)) if value in _CODES or value in _ERRORS:
            return f"case {value!r}"
    return ""


def _comparison(sides: list[ast.expr], constants: frozenset[str]) -> str:
    attributes = [side.attr for side in sides if isinstance(side, ast.Attribute) and side.attr in _ATTRIBUTES]
    if attributes:
        return _joined(f"compare {attributes[0]}", [code for side in sides for code in _codes(side, constants)])
    compared = [name for side in sides for name in _names(side, constants)]
    is_type = any(isinstance(side, ast.Call) and getattr(side.func, "id", "") == "type" for side in sides)
    return _joined("compare type", compared) if is_type else ""


def _joined(verb: str, names: list[str]) -> str:
    return f"{verb} {', '.join(names)}" if names else ""


def _names(node: ast.AST, constants: frozenset[str]) -> list[str]:
    """Return the error classes, and the constants of them, that an expression names."""
    found = [each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in ast.walk(node)]
    return sorted(name for name in found if name in _ERRORS or name in constants)


def _codes(node: ast.AST, constants: frozenset[str]) -> list[str]:
    """Return the codes and reasons, and the constants of them, that an expression names."""
    values = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    found = [str(value) for value in values if (type(value) is int and value in _CODES) or value in _ERRORS]
    return sorted(found + [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in constants])


if __name__ == "__main__":
    main()
