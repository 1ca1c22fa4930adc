"""Compilation of the expressions of a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.calls import call
from dynkube_testing._schemas.cel.checker import Checked, FieldType, MadeType, Problem, check, describe, parts_of
from dynkube_testing._schemas.cel.declared import Declared
from dynkube_testing._schemas.cel.errors import EvaluationError
from dynkube_testing._schemas.cel.evaluation import Program
from dynkube_testing._schemas.cel.formatting import format_problems
from dynkube_testing._schemas.cel.macros import expand
from dynkube_testing._schemas.cel.syntax import Call, Constant, ListOf, Literal, MapOf, Parser, SyntaxProblem, walk
from dynkube_testing._schemas.patterns import BadPattern, compile_pattern

#: The name of the type of ``self`` in error messages. In real servers it has a random number.
_SELF_TYPE = "selfType0"


class CompileError(Exception):
    """The expression is not valid for the schema; the text is that of a real server."""


def checked_expression(
    parser: Parser,
    text: str,
    variables: Mapping[str, types.Type],
    field_type: FieldType = lambda struct, name: None,
    made_type: MadeType | None = None,
) -> Checked:
    """Return an expression with the types of its parts.

    Args:
        parser: The parser.
        text: The expression.
        variables: The types of its variables.
        field_type: Finds the type of a field of an object type; by default there is none.
        made_type: Finds the types of objects that it may make; by default it makes none.

    Raises:
        CompileError: It has errors of syntax or types.
    """
    try:
        tree = parser.parse(text)
        expand(tree)
    except SyntaxProblem as problem:
        raise CompileError(f"compilation failed: {problem}") from None
    checked = check(tree, variables, field_type, made_type)
    if problems := checked.problems or list(_literal_problems(checked)):
        raise CompileError(f"compilation failed: {describe(text, problems)}")
    return checked


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of the rules of one schema: ``self`` and ``oldSelf``.

    Attributes:
        root: The type of ``self``.
        structs: All object types in it, by name.
    """

    root: Declared
    structs: dict[str, Declared]

    @classmethod
    def of(cls, root: Declared) -> Scope:
        named = root.named(_SELF_TYPE)
        return cls(named, named.structs())

    def compile(self, parser: Parser, text: str, result: types.Type, *, optional_old: bool = False) -> Program:
        """Return the expression, ready to be evaluated.

        Args:
            parser: The parser.
            text: The expression.
            result: The required type of its result.
            optional_old: Whether ``oldSelf`` is an optional value.

        Raises:
            CompileError: It has errors of syntax or types, or a result of another type.
        """
        own = self.root.type
        variables = {"self": own, "oldSelf": types.optional_of(own) if optional_old else own}
        checked = checked_expression(parser, text, variables, self._field_type)
        if checked.result != result:
            words = "cel expression must evaluate to a bool" if result == types.BOOL else "must evaluate to a string"
            raise CompileError(words)
        try:
            return Program(checked)
        except EvaluationError as error:
            instantiation = "program instantiation" if result == types.BOOL else "instantiation"
            raise CompileError(f"{instantiation} failed: {error}") from None

    def _field_type(self, struct: str, name: str) -> types.Type | None:
        known = self.structs.get(struct)
        found = (known.fields or {}).get(name) if known is not None else None
        return None if found is None else found.type


def _literal_problems(checked: Checked) -> Iterator[Problem]:
    """Yield the errors in literals: of durations, timestamps, patterns and formats, and mixed types."""
    parts = list(parts_of(checked.tree))
    calls = [part for part in parts if isinstance(part, Call)]
    formats = [each for each in calls if each.function == "format"]
    for each in formats:
        yield from format_problems(checked, each)
    exempt = {part.id for each in formats for part in walk(each)}
    mixed = [part for part in parts if part.id not in exempt]
    for part in mixed:
        if isinstance(part, ListOf):
            yield from _mixed(checked, [(item.id, index in part.optional) for index, item in enumerate(part.elements)])
    for part in mixed:
        if isinstance(part, MapOf) and not part.name:
            keys = [entry.key.id for entry in part.entries if not isinstance(entry.key, str)]
            yield from _mixed(checked, [(key, False) for key in keys])
            yield from _mixed(checked, [(entry.value.id, entry.optional) for entry in part.entries])
    for function, valid in _LITERALS.items():
        for called in calls:
            argument = called.args[0] if called.function == function and called.args else None
            if isinstance(argument, Literal) and not _valid(valid, argument.value):
                yield Problem(checked.tree.positions.get(argument.id, 0), f"invalid {function} argument")


_LITERALS: Mapping[str, Callable[[Constant], object]] = {
    "duration": lambda value: call("duration", [value], method=False),
    "timestamp": lambda value: call("timestamp", [value], method=False),
    "matches": lambda value: compile_pattern(str(value)),
}


def _valid(parse: Callable[[Constant], object], value: Constant) -> bool:
    try:
        parse(value)
    except (EvaluationError, BadPattern):
        return False
    return True


def _mixed(checked: Checked, items: list[tuple[int, bool]]) -> Iterator[Problem]:
    found = [(key, checked.types[key].params[0] if optional else checked.types[key]) for key, optional in items]
    for key, value in found[1:]:
        if value != found[0][1]:
            text = f"expected type '{found[0][1]}' but found '{value}'"
            yield Problem(checked.tree.positions.get(key, 0), text)
            return
