r"""A kubectl JSONPath template: ``{range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}``.

::

    template = { text | "{" action "}" }
    action   = path | "range" path | "end" | QUOTED | NUMBER | "true" | "false"

Text outside braces is printed literally, even ``.metadata.name``. Paths are relative to the document, and between
``{range}`` and ``{end}`` to the current element (``$`` too, as in kubectl).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from dynkube.errors import InvalidJSONPath
from dynkube.meta._arguments import a_type
from dynkube.meta._jsonpath.compiled import finder, refuse_deep_nesting
from dynkube.meta._jsonpath.nodes import Step
from dynkube.meta._jsonpath.output import print_value
from dynkube.meta._jsonpath.parser import parse_steps
from dynkube.meta._jsonpath.scanner import Scanner

_TEXT = re.compile(r"[^{]+")
_WORD = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")
_CACHED = 128

Find: TypeAlias = Callable[[object], list[object]]


@dataclass(frozen=True, slots=True)
class _Print:
    find: Find


@dataclass(frozen=True, slots=True)
class _Range:
    find: Find
    body: tuple[_Node, ...]


_Node: TypeAlias = str | _Print | _Range


@dataclass(frozen=True, slots=True)
class JSONPathTemplate:
    """A compiled template, created by :meth:`compile`.

    Immutable, hashable and thread-safe.
    """

    text: str
    strict: bool
    _nodes: tuple[_Node, ...] = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Callable[[str, bool], JSONPathTemplate], tuple[str, bool]]:
        return _compile, (self.text, self.strict)  # functions cannot be pickled: compile it again

    @classmethod
    def compile(cls, text: str, *, strict: bool = False) -> JSONPathTemplate:
        """Parse a template, or return it from a cache.

        Args:
            text: the template, as after ``kubectl get -o jsonpath=``. As in kubectl, an unclosed ``{range}`` extends to
                the end.
            strict: behave exactly as kubectl does. By default RFC 9535 applies if kubectl would fail during evaluation,
                which mostly means no match, and filters have the extensions that :meth:`JSONPath.compile` lists.

        Raises:
            InvalidJSONPath: the template does not parse; the message shows the position.
        """
        if not isinstance(text, str):
            raise InvalidJSONPath(f"JSONPath is {a_type(text)}: pass a string like '{{.metadata.name}}'")
        return _compile(text, strict)

    def render(self, document: object) -> str:
        """Render a document (decoded JSON) as kubectl prints it.

        Several matches of one path are joined by a blank; strings are printed unquoted, other scalars as in JSON, lists
        and objects as compact JSON; a path without a match prints nothing.

        Raises:
            InvalidJSONPath: in strict mode only, where kubectl fails on this document.
        """
        return "".join(_render(self._nodes, document))

    def __str__(self) -> str:
        return self.text


def _render(nodes: Sequence[_Node], current: object) -> Iterator[str]:
    for node in nodes:
        match node:
            case str():
                yield node
            case _Print():
                yield " ".join(map(print_value, node.find(current)))
            case _Range():
                for element in node.find(current):
                    yield from _render(node.body, element)


@lru_cache(maxsize=_CACHED)
def _compile(text: str, strict: bool) -> JSONPathTemplate:
    with refuse_deep_nesting(text):
        return JSONPathTemplate(text, strict, _Parser(text, strict).template())


class _Parser:
    def __init__(self, text: str, strict: bool) -> None:
        self._scanner = Scanner(text, strict=strict)

    def template(self) -> tuple[_Node, ...]:
        return self._nodes(depth=0)

    def _nodes(self, depth: int) -> tuple[_Node, ...]:
        scanner = self._scanner
        nodes: list[_Node] = []
        while not scanner.at_end:
            if text := scanner.match(_TEXT):
                nodes.append(text[0])
                continue
            opening = scanner.position
            scanner.expect("{", "here")
            scanner.skip_blanks()
            if self._keyword("range"):
                steps = self._path()
                self._close(opening)
                nodes.append(_Range(self._finder(steps), self._nodes(depth + 1)))
            elif self._keyword("end"):
                self._close(opening)
                if not depth:
                    raise scanner.error("{end} without a preceding {range}", opening)
                break
            else:
                nodes.append(self._value(opening))
        return tuple(nodes)

    def _keyword(self, word: str) -> bool:
        match = _WORD.match(self._scanner.text, self._scanner.position)
        if match is None or match[0] != word:
            return False
        self._scanner.position = match.end()
        self._scanner.skip_blanks()
        return True

    def _value(self, opening: int) -> _Node:
        """Parse a literal, which is printed as it is, or a path."""
        scanner = self._scanner
        position = scanner.position
        node: _Node
        if (body := scanner.quoted()) is not None:
            node = scanner.unquote(body, position + 1, scanner.text[position])
        elif (number := scanner.number()) is not None:
            node = print_value(number)
        elif self._keyword("true"):
            node = "true"
        elif self._keyword("false"):
            node = "false"
        else:
            node = _Print(self._finder(self._path()))
        self._close(opening)
        return node

    def _path(self) -> tuple[Step, ...]:
        scanner = self._scanner
        if word := _WORD.match(scanner.text, scanner.position):
            raise scanner.error(f"unknown word {word[0]!r}: write '.{word[0]}' for a field")
        return parse_steps(scanner)

    def _close(self, opening: int) -> None:
        scanner = self._scanner
        scanner.skip_blanks()
        if scanner.at_end:
            raise scanner.error("unclosed brace", opening)
        if not scanner.accept("}"):
            raise scanner.error(f"expected '}}', found {scanner.found()}; write several expressions as '{{.a}}{{.b}}'")

    def _finder(self, steps: tuple[Step, ...]) -> Find:
        scanner = self._scanner
        return finder(steps, scanner.text, strict=scanner.strict)
