"""Compiled kubectl JSONPaths.

Example: ``JSONPath.compile("{.spec.replicas}").first(document)``. Documents are decoded JSON: ``dict`` and ``list`` or
their subclasses, immutable ones included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, TypeVar, overload

import msgspec

from dynkube.errors import InvalidJSONPath, InvalidObject
from dynkube.meta._arguments import a_type
from dynkube.meta._json import UNREADABLE
from dynkube.meta._jsonpath.nodes import Descend, FieldNode, Step, Union
from dynkube.meta._jsonpath.parser import parse_steps
from dynkube.meta._jsonpath.scanner import Scanner
from dynkube.meta._jsonpath.strict import check_for
from dynkube.meta._jsonpath.translation import translate
from dynkube.meta._partial import MISSING, partial_reader

T = TypeVar("T")

# A function that applies a part of a path: it gets the values selected so far, and returns the values selected in them.
_Select: TypeAlias = Callable[[list[object]], list[object]]

# Programs use few paths: a filter or a column is compiled once and evaluated often.
_CACHED = 512


def _uncompiled(document: object) -> list[object]:
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class JSONPath:
    """A compiled path, created by :meth:`compile`.

    Immutable, hashable and thread-safe.
    """

    text: str
    strict: bool = False
    simple_path: tuple[str, ...] | None = field(default=None, repr=False, compare=False)
    """The names of a path that consists of members only, like ``{.spec.x}``.

    Otherwise ``None``.
    """
    root: str | None = field(default=None, repr=False, compare=False)
    """The name of the top-level field in which the path selects, such as ``spec``; ``None`` if it has no single one."""
    _find: Callable[[object], list[object]] = field(default=_uncompiled, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._find is _uncompiled:
            raise InvalidJSONPath(f"JSONPath cannot be instantiated directly: use JSONPath.compile({self.text!r})")

    def __reduce__(self) -> tuple[Callable[[str, bool], JSONPath], tuple[str, bool]]:
        return _compile, (self.text, self.strict)  # functions cannot be pickled: compile it again

    @classmethod
    def compile(cls, text: str, *, strict: bool = False) -> JSONPath:
        r"""Parse a single expression, or return it from a cache.

        Args:
            text: the expression, as for kubectl in braces (``"{.spec.containers[*].image}"``), or without them
                (``".spec.x"``, ``"spec.x"``, ``"$.spec.x"``), as ``kubectl get --sort-by`` and custom columns allow.
                For templates with text, ``{range}`` or several expressions use :class:`JSONPathTemplate`.
            strict: behave exactly as kubectl does. By default RFC 9535 applies if kubectl would fail during evaluation
                (index out of bounds, comparison of different types, ``[*]`` of an object), which mostly means no match;
                ``&&``, ``||``, ``!``, ``=~`` and ``null`` work in filters; and ``['a.b']`` is one key, for which
                kubectl requires ``['a\.b']``.

        Raises:
            InvalidJSONPath: the expression does not parse; the message shows the position.
        """
        if not isinstance(text, str):
            raise InvalidJSONPath(f"JSONPath is {a_type(text)}: pass a string like '{{.metadata.name}}'")
        return _compile(text, strict)

    def find(self, document: object) -> list[object]:
        """Return all values the path selects, in document order.

        Returns ``[]`` if there are none. Values are the document's own, not copies.

        Args:
            document: decoded JSON: dicts and lists, or their subclasses.

        Raises:
            TypeError: the document is a mapping but not a ``dict``. Only ``dict`` is supported; any other mapping would
                silently match nothing.
            InvalidJSONPath: in strict mode only, if kubectl fails on this document.
        """
        if not isinstance(document, dict) and isinstance(document, Mapping):
            raise TypeError(
                f"JSONPath searches dicts and lists, not {a_type(document)}: "
                "use obj.jsonpath(path), or pass obj.to_dict() to find()"
            )
        return self._find(document)

    def find_json(self, raw: bytes) -> list[object]:
        """Return all values the path selects in encoded JSON.

        For a simple path (:attr:`simple_path`) only the selected value is decoded.

        Args:
            raw: the document as JSON.

        Raises:
            InvalidObject: the bytes are not JSON.
            InvalidJSONPath: in strict mode only, if kubectl fails on this document.
        """
        if self.simple_path is not None:
            value = partial_reader(self.simple_path)(raw)
            return [] if value is MISSING else [value]
        try:
            document = msgspec.json.decode(raw)
        except UNREADABLE as error:
            raise InvalidObject(f"the document is not JSON: {error}") from error
        return self._find(document)

    @overload
    def first(self, document: object) -> object: ...
    @overload
    def first(self, document: object, default: T) -> object | T: ...
    def first(self, document: object, default: object = None) -> object:
        """Return the first value the path selects, or ``default``.

        Raises:
            TypeError: the document is a mapping but not a ``dict``. Only ``dict`` is supported; any other mapping would
                silently match nothing.
            InvalidJSONPath: in strict mode only, if kubectl fails on this document.
        """
        found = self.find(document)
        return found[0] if found else default

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=_CACHED)
def _compile(text: str, strict: bool) -> JSONPath:
    with refuse_deep_nesting(text):
        steps = _parse_expression(text, strict)
        root = steps[0].name if steps and isinstance(steps[0], FieldNode) else None
        return JSONPath(text, strict, _simple(steps), root, finder(steps, text, strict=strict))


@contextmanager
def refuse_deep_nesting(text: str) -> Iterator[None]:
    """Convert the RecursionError of the recursive parser to InvalidJSONPath."""
    try:
        yield
    except RecursionError:
        raise InvalidJSONPath(f"JSONPath is nested too deeply: {text[:40]!r}...") from None


def _simple(steps: tuple[Step, ...]) -> tuple[str, ...] | None:
    names = tuple(step.name for step in steps if isinstance(step, FieldNode))
    return names if len(names) == len(steps) else None


def _parse_expression(text: str, strict: bool) -> tuple[Step, ...]:
    scanner = Scanner(text, strict=strict)
    scanner.skip_blanks()
    if scanner.at_end:
        raise scanner.error("the expression is empty: write a path like '{.metadata.name}'")
    braces = scanner.accept("{")
    scanner.skip_blanks()
    if scanner.at("range") or scanner.at("end}"):
        raise scanner.error("{range} and {end} are not allowed in a single expression: use JSONPathTemplate")
    steps = parse_steps(scanner, relaxed=True)
    scanner.skip_blanks()
    if braces:
        scanner.expect("}", "at the end of the expression")
        scanner.skip_blanks()
    if scanner.at("{"):
        raise scanner.error("expected a single expression, found several: use JSONPathTemplate")
    if not scanner.at_end:
        raise scanner.error(f"expected '.', '[' or the end, found {scanner.found()}")
    return steps


def _follow(path: tuple[str, ...], value: object) -> list[object]:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return []
        value = value[name]
    return [value]


def finder(steps: tuple[Step, ...], text: str, *, strict: bool) -> Callable[[object], list[object]]:
    """Return a function that evaluates ``steps`` on a document.

    ``text`` is for messages.
    """
    names = _simple(steps)
    if names is not None:
        return lambda document: _follow(names, document)
    select = _checked(steps, text) if strict else _unchecked(steps)
    return lambda document: select([document])


def _unchecked(steps: tuple[Step, ...]) -> _Select:
    """Return a function that evaluates a path without kubectl's errors.

    Each stage of the path is applied to all values that the previous stage found.
    """
    stages = translate(steps)

    def select(values: list[object]) -> list[object]:
        for expressions in stages:
            values = [found.value for expression in expressions for value in values for found in expression.find(value)]
        return values

    return select


def _checked(steps: tuple[Step, ...], text: str) -> _Select:
    """Return a function that evaluates a path step by step, with kubectl's errors.

    Before a step is applied, values on which kubectl would fail raise InvalidJSONPath.
    """
    selects: list[_Select] = []
    position = 0
    while position < len(steps):
        # '..' is evaluated together with the name that follows, and kubectl has no errors for it.
        size = 2 if isinstance(steps[position], Descend) else 1
        selects.append(_checked_step(steps[position : position + size], text))
        position += size

    def select(values: list[object]) -> list[object]:
        for next_select in selects:
            values = next_select(values)
        return values

    return select


def _checked_step(steps: tuple[Step, ...], text: str) -> _Select:
    step = steps[0]
    if isinstance(step, Union):
        members = [_checked(member, text) for member in step.members]
        return lambda values: [found for member in members for found in member(values)]
    check = check_for(step, lambda path: finder(path, text, strict=True))
    unchecked = _unchecked(steps)

    if check is None:
        return unchecked

    def select(values: list[object]) -> list[object]:
        for message, position in (complaint for value in values for complaint in check(value)):
            raise InvalidJSONPath(f"JSONPath: {message}", text=text, position=position)
        return unchecked(values)

    return select
