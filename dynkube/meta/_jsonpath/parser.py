r"""Parser for kubectl's JSONPath grammar and dynkube's extensions.

::

    expression = [ "$" | "@" ] { step }                      in braces or, for a single expression, bare
    step       = "." NAME | ".*" | ".." NAME | "[" selector { "," selector } "]" | "[?(" condition ")]"
    selector   = "'" NAME "'" | INDEX | [START] ":" [END] [ ":" STEP ] | "*"
    condition  = operand [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) operand ]
    operand    = path | QUOTED | NUMBER | "true" | "false"

In a NAME a backslash makes the next character literal (``.metadata.labels.app\.kubernetes\.io/name``).
Extensions, rejected by ``strict``: ``&&``, ``||``, ``!``, ``=~`` (a regular expression matches anywhere in the string)
and ``null`` in conditions (kubernetes/kubernetes#20352), keys in double quotes, blanks in keys and brackets, and a dot
in a quoted key as part of the key: kubectl reads ``['a.b']`` as two keys.
"""

from __future__ import annotations

import re

from dynkube.meta._jsonpath.nodes import (
    Combination,
    Comparison,
    Condition,
    Descend,
    ExistsNode,
    FieldNode,
    FilterNode,
    IndexNode,
    Literal,
    Path,
    Slice,
    Step,
    Union,
    Wildcard,
)
from dynkube.meta._jsonpath.scanner import Scanner

_NAME = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])+")
# Inside a condition, operators and parentheses end a name too.
_NAME_IN_FILTER = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\()=!<>&|])+")
_SLICE = re.compile(r"(-?[0-9]{1,18})?(?:(:)(-?[0-9]{1,18})?(?::(-?[0-9]{1,18})?)?)?")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>|=~")
_WORD = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")
_WORDS = {"true": True, "false": False, "null": None}
# The mirrored operator, for a literal on the left.
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def parse_steps(scanner: Scanner, *, relaxed: bool = False, in_filter: bool = False) -> tuple[Step, ...]:
    """Parse a path up to the first character that cannot belong to it.

    ``relaxed`` allows the first name without its dot, as in ``spec.replicas``.
    """
    steps: list[Step] = []
    rooted = scanner.accept("$") or scanner.accept("@") or scanner.at(".") or scanner.at("[")
    if relaxed and not rooted and not scanner.at("}"):
        steps.append(_named(scanner, scanner.position, in_filter=in_filter, after="the beginning"))
    while True:
        position = scanner.position
        if scanner.accept(".."):
            steps.append(Descend(position))
            steps.extend(_after_descend(scanner, in_filter=in_filter))
        elif scanner.accept("."):
            steps.append(_named(scanner, position, in_filter=in_filter))
        elif scanner.at("["):
            steps.extend(_bracket(scanner))
        else:
            return tuple(steps)


def _after_descend(scanner: Scanner, *, in_filter: bool) -> tuple[Step, ...]:
    position = scanner.position
    if not scanner.at("["):
        step = _named(scanner, position, in_filter=in_filter, after="'..'")
        if scanner.strict and isinstance(step, Wildcard):
            raise scanner.error("kubectl allows only a name after '..'", position)
        return (step,)
    steps = _bracket(scanner)
    members = steps[0].members if isinstance(steps[0], Union) else (steps,)
    if scanner.strict and not all(isinstance(member[0], FieldNode) for member in members):
        raise scanner.error("kubectl allows only a name after '..'", position)
    return steps


def _named(scanner: Scanner, position: int, *, in_filter: bool, after: str = "'.'") -> FieldNode | Wildcard:
    match = scanner.match(_NAME_IN_FILTER if in_filter else _NAME)
    if match is None:
        hint = "; use '$' for the whole object" if scanner.text.strip(" {}") == "." else ""
        raise scanner.error(f"expected a name after {after}, found {scanner.found()}{hint}")
    return Wildcard(position) if match[0] == "*" else FieldNode(position, _unescape(match[0]))


def _unescape(name: str) -> str:
    return _ESCAPED.sub(r"\1", name)


# ── brackets ──────────────────────────────────────────────────────────────────────────────────


def _bracket(scanner: Scanner) -> tuple[Step, ...]:
    """Parse ``[...]``: one filter, one selector, or a union.

    In strict mode a key may be several steps.
    """
    position = scanner.position
    scanner.expect("[", "here")
    if scanner.accept("?"):
        return (_filter(scanner, position),)
    members: list[tuple[Step, ...]] = []
    while not members or scanner.accept(","):
        scanner.skip_blanks()
        members.append(_selector(scanner))
        scanner.skip_blanks()
    if scanner.strict and len(members) == 1 and " " in (scanner.text[position + 1], scanner.text[scanner.position - 1]):
        raise scanner.error("kubectl does not allow spaces in these brackets", position)
    if not scanner.accept("]"):
        raise scanner.error(f"expected ',' or ']' in brackets, found {scanner.found()}")
    return members[0] if len(members) == 1 else (Union(position, tuple(members)),)


def _selector(scanner: Scanner) -> tuple[Step, ...]:
    position = scanner.position
    key = scanner.quoted()
    if key is not None:
        return _key(scanner, key, position)
    if scanner.accept("*"):
        return (Slice(position),)
    match = scanner.match(_SLICE)
    if match is None or not match[0]:
        if scanner.at("]"):
            raise scanner.error("empty brackets: write [0] or [*]")
        raise scanner.error(f"expected an index, a slice, '*' or a quoted key, found {scanner.found()}")
    if match[2] is None:
        return (IndexNode(position, int(match[1])),)
    start, end, step = (None if part is None else int(part) for part in match.group(1, 3, 4))
    if step is not None and step <= 0:
        raise scanner.error("the step of a slice must be greater than 0", position)
    return (Slice(position, start, end, step),)


def _key(scanner: Scanner, key: str, position: int) -> tuple[Step, ...]:
    if not key:
        raise scanner.error("the key is empty", position)
    if not scanner.strict:
        return (FieldNode(position, _unescape(key)),)
    if scanner.text[position] == '"':
        raise scanner.error("kubectl allows only single quotes around keys", position)
    # kubectl parses a quoted key like a path: dots and blanks are syntax unless they are escaped.
    inner = Scanner(key, strict=True)
    steps: list[Step] = []
    while True:
        match = inner.match(_NAME)
        if match is None:
            raise scanner.error("expected a name in the key", position + 1 + inner.position)
        steps.append(Wildcard(position) if match[0] == "*" else FieldNode(position, _unescape(match[0])))
        if inner.at_end:
            return tuple(steps)
        if not inner.accept("."):
            raise scanner.error(f"kubectl requires a backslash before {inner.found()}", position + 1 + inner.position)


# ── filters ───────────────────────────────────────────────────────────────────────────────────


def _filter(scanner: Scanner, position: int) -> FilterNode:
    scanner.expect("(", "after '[?'")
    condition = _any_of(scanner)
    scanner.expect(")", "at the end of the filter")
    scanner.expect("]", "at the end of the filter")
    return FilterNode(position, condition)


def _any_of(scanner: Scanner) -> Condition:
    return _combination(scanner, "||")


def _combination(scanner: Scanner, operator: str) -> Condition:
    position = scanner.position
    conditions: list[Condition] = []
    while True:
        conditions.append(_combination(scanner, "&&") if operator == "||" else _unary(scanner))
        scanner.skip_blanks()
        if scanner.at(operator):
            _refuse_extension(scanner, operator)
        if not scanner.accept(operator):
            return conditions[0] if len(conditions) == 1 else Combination(position, operator, tuple(conditions))


def _refuse_extension(scanner: Scanner, what: str) -> None:
    if scanner.strict:
        raise scanner.error(f"kubectl does not support {what!r} in filters: use strict=False")


def _unary(scanner: Scanner) -> Condition:
    scanner.skip_blanks()
    position = scanner.position
    if scanner.at("!"):
        _refuse_extension(scanner, "!")
        scanner.accept("!")
        scanner.skip_blanks()
        operand = _operand(scanner)
        if not isinstance(operand, Path):
            raise scanner.error("'!' requires a path: write '!@.x'", position)
        return ExistsNode(position, operand, negated=True)
    if scanner.at("("):
        _refuse_extension(scanner, "(")
        scanner.accept("(")
        condition = _any_of(scanner)
        scanner.expect(")", "to close the parenthesis")
        return condition
    return _comparison(scanner)


def _comparison(scanner: Scanner) -> Condition:
    position = scanner.position
    left = _operand(scanner)
    scanner.skip_blanks()
    operator_position = scanner.position
    if scanner.at("=~"):
        _refuse_extension(scanner, "=~")
    match = scanner.match(_OPERATOR)
    if match is None:
        if scanner.at("="):
            raise scanner.error("'=' is not an operator: write '=='")
        if isinstance(left, Path):
            return ExistsNode(position, left)
        raise scanner.error(f"expected an operator (==, !=, <, <=, >, >=), found {scanner.found()}")
    operator = match[0]
    scanner.skip_blanks()
    right = _operand(scanner)
    if operator == "=~":
        _check_pattern(scanner, left, right)
        return Comparison(position, left, operator, right)
    if not isinstance(left, Path) and not isinstance(right, Path):
        raise scanner.error("both sides are literals: one must be a path like '@.x'", operator_position)
    if isinstance(left, Path) and _is_single(right):
        return Comparison(position, left, operator, right)
    if not _is_single(left):
        raise scanner.error("one side must be a single value: only names and indexes in its path", right.position)
    return Comparison(position, right, _MIRRORED[operator], left)


def _is_single(side: Path | Literal) -> bool:
    """Whether one side of a comparison has at most one value.

    jsonpath-ng and RFC 9535 require this for the right side.
    """
    return isinstance(side, Literal) or all(isinstance(step, FieldNode | IndexNode) for step in side.steps)


def _check_pattern(scanner: Scanner, left: Path | Literal, right: Path | Literal) -> None:
    if not isinstance(left, Path) or not isinstance(right, Literal) or not isinstance(right.value, str):
        raise scanner.error("'=~' requires a path on the left and a quoted pattern on the right", left.position)
    try:
        re.compile(right.value)
    except re.error as error:
        raise scanner.error(f"invalid regular expression: {error}", right.position) from error


def _operand(scanner: Scanner) -> Path | Literal:
    position = scanner.position
    body = scanner.quoted()
    if body is not None:
        return Literal(position, scanner.unquote(body, position + 1, scanner.text[position]))
    number = scanner.number()
    if number is not None:
        return Literal(position, number)
    if any(scanner.at(start) for start in ("@", "$", ".", "[")):
        steps = parse_steps(scanner, in_filter=True)
        for step in steps:
            if isinstance(step, Union):
                raise scanner.error("a path in a filter cannot contain a union", step.position)
        return Path(position, steps)
    match = scanner.match(_WORD)
    if match is None:
        raise scanner.error(f"expected a path like '@.x' or a value, found {scanner.found()}")
    if match[0] not in _WORDS:
        raise scanner.error(f"unknown word {match[0]!r}: write '@.{match[0]}' for a field, or quote a string", position)
    value = _WORDS[match[0]]
    if value is None and scanner.strict:
        raise scanner.error("kubectl does not support null in filters: use strict=False", position)
    return Literal(position, value)
