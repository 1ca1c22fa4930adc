"""Single-pass construction of plain data from PyYAML parser events.

Limits are enforced before values are built. PyYAML's own composer and constructor are not used: they recurse for each
level (in C, without a limit), use a kilobyte for each value, and expand merge keys before these could be counted. Here
each node is counted when its event arrives. An alias is counted with the count of its anchor, so counting takes linear
time. The value of an alias is the same object as that of its anchor, not a copy.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import yaml

from dynkube.meta._input_limits import (
    MAX_ALIASED_BYTES,
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    excessive_aliasing,
    max_levels,
    max_nodes,
)
from dynkube.meta._yaml.scalars import MERGE, STR, YAML_TAG, NotFinite, json_key, plain_tag, scalar_value

# PyYAML's C parser is 8 times faster and included in nearly every build; the pure Python one behaves the same.
_Parser: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Start: TypeAlias = "yaml.MappingStartEvent | yaml.SequenceStartEvent"
_Mark: TypeAlias = "yaml.error.Mark | yaml._yaml.Mark | None"
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
# The parser in C has a limit of 1,000 as well, as of PyYAML 6.0.4; and libyaml one that PyYAML may be linked to.
_TOO_DEEP_IN_C = ("exceeded maximum nesting depth", "Maximum nesting level reached")
_LONGEST_QUOTED = 80  # characters of a name that an error message quotes


class MalformedYAML(ValueError):
    """The input is not YAML, or exceeds a limit.

    The message has line and column where known.
    """

    def __init__(
        self, problem: str, *, line: int | None = None, column: int | None = None, go_message: str | None = None
    ) -> None:
        where = "" if line is None else f"line {line}, column {column}: "
        super().__init__(f"yaml: {where}{problem}")
        self.problem = problem
        """Description of the problem. It may quote keys and existing anchors, but never a value."""
        self.line = line
        """Counted from 1; ``None`` where the parser does not report it."""
        self.column = column
        """Counted from 1; ``None`` where the parser does not report it."""
        self.go_message: str = go_message or str(self)
        """The message of kubectl and API servers, where it is known. It may quote the input."""


@dataclass(frozen=True, slots=True)
class Located:
    """One non-empty document.

    Attributes:
        line: Its first line, counted from 1.
        data: The content. Values that aliases repeat are one shared object.
        item_lines: The first line of each of its ``items``, if any.
        repeats: Line and message of each duplicate key, in lenient mode.
    """

    line: int
    data: object
    item_lines: tuple[int, ...] = ()
    repeats: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class _Node:
    """One value, with its size after all aliases are expanded.

    Attributes:
        value: plain data.
        mark: where it begins.
        tag: the tag of a scalar.
        nodes: number of keys and values in it, itself included.
        size: bytes of strings in it, about as many as in JSON.
        height: levels of lists and mappings, itself included; 0 for a scalar.
        open: whether its end event has not arrived yet, so that the other attributes are incomplete.
    """

    value: object
    mark: _Mark
    tag: str = ""
    nodes: int = 1
    size: int = 2
    height: int = 0
    open: bool = False


@dataclass(slots=True)
class _List:
    """A sequence whose end event has not arrived yet."""

    node: _Node
    items: list[object]
    lines: list[int] = field(default_factory=list)

    def take(self, node: _Node, document: _Document) -> None:
        self.items.append(node.value)
        if len(document.open) == 2:  # the items of a list of objects
            self.lines.append(line_at(node.mark))

    def names(self, name: str) -> bool:
        return False


@dataclass(slots=True)
class _Dict:
    """A mapping whose end event has not arrived yet."""

    node: _Node
    fields: dict[str, object]
    key: _Node | None = None
    name: str = ""
    merged: set[str] = field(default_factory=set)

    def take(self, node: _Node, document: _Document) -> None:
        if self.key is None:
            name = json_key(node.value)
            if name is None:
                raise refusal("unhashable key" if node.height else "unsupported map key None", node.mark)
            self.key, self.name = node, name
        elif self.key.tag == MERGE:
            self.key = None
            # In go-yaml as used by Kubernetes a merge key also overwrites the keys before it, unlike in YAML's
            # specification.
            for base in _bases(node, document):
                self.fields.update(base)
                self.merged.update(base)
        else:
            if self.name in self.fields and self.name not in self.merged:
                document.repeated(self.name, self.key.mark)
            self.merged.discard(self.name)
            self.fields[self.name] = node.value
            self.key = None

    def names(self, name: str) -> bool:
        """Whether the next value belongs to this key."""
        return self.key is not None and self.name == name


def _bases(node: _Node, document: _Document) -> Iterator[dict[str, object]]:
    """Yield the mappings of a merge key, in order of increasing precedence."""
    bases = reversed(node.value) if isinstance(node.value, list) else [node.value]
    for base in bases:
        if not isinstance(base, dict):
            raise refusal("a merge key (<<) requires a mapping or a list of mappings", node.mark)
        document.repeat(len(base), 0, node.mark)  # its keys are copied
        yield base


class _Document:
    """A document under construction."""

    def __init__(self, text_bytes: int, *, lenient: bool, any_tag: bool, max_values: float) -> None:
        self.open: list[_List | _Dict] = []
        self.root: _Node | None = None
        self.item_lines: tuple[int, ...] = ()
        self.repeats: list[tuple[int, str]] = []
        self._lenient = lenient
        self._any_tag = any_tag
        self._anchors: dict[str, _Node] = {}
        self._most_values = max_values
        self._most_nodes = max_nodes(text_bytes)
        self._most_levels = max_levels(text_bytes)
        self._written = 0
        self._levels = 0
        self._values = 0
        self._aliased = 0
        self._aliased_bytes = 0

    def scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(event.start_mark)
        text, tag = event.value, event.tag
        if tag is None or tag == "!":
            tag = plain_tag(text) if event.implicit[0] else STR
        try:
            value = scalar_value(tag, text)
        except KeyError:
            if not self._any_tag:
                raise unknown_tag(tag, event.start_mark) from None
            value = text
        except NotFinite as error:
            problem = "infinity and NaN are not JSON numbers: quote what is meant as a string"
            raise refusal(problem, event.start_mark, str(error)) from None
        except ValueError:  # its message would quote the value
            kind = tag.removeprefix(YAML_TAG)
            raise refusal(f"cannot decode a scalar as a !!{kind}", event.start_mark, _go_misfit(kind, text)) from None
        node = _Node(value, event.start_mark, tag, size=len(text) + 2)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node)

    def start(self, event: _Start) -> None:
        self._count(event.start_mark)
        self._check_depth(1, event.start_mark)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if not self._any_tag and event.tag not in (None, "!", f"{YAML_TAG}{'seq' if is_list else 'map'}"):
            raise unknown_tag(event.tag, event.start_mark)
        items: list[object] = []
        fields: dict[str, object] = {}
        node = _Node(items if is_list else fields, event.start_mark, height=1, open=True)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self.open.append(_List(node, items) if is_list else _Dict(node, fields))

    def end(self) -> None:
        done = self.open[-1]
        if isinstance(done, _List) and len(self.open) == 2 and self.open[0].names("items"):
            self.item_lines = tuple(done.lines)
        done.node.open = False
        self.open.pop()
        self._add(done.node)

    def alias(self, event: yaml.AliasEvent) -> None:
        mark = event.start_mark
        if event.anchor not in self._anchors:  # its name may be a password that begins with "*"
            problem = "found undefined alias: quote strings that begin with *"
            raise refusal(problem, mark, f"yaml: unknown anchor '{event.anchor}' referenced")
        found = self._anchors[event.anchor]
        if found.open:
            raise refusal(f"anchor {quoted(event.anchor)} value contains itself", mark)
        self._count(mark)
        self._check_depth(found.height, mark)
        self.repeat(found.nodes, found.size, mark)
        self._add(_Node(found.value, mark, found.tag, found.nodes + 1, found.size, found.height))

    def repeat(self, nodes: int, size: int, mark: _Mark) -> None:
        """Count values that are repeated from another place in the document.

        Raises:
            MalformedYAML: a limit is exceeded.
        """
        self._values += nodes
        self._aliased += nodes
        self._aliased_bytes += size
        if excessive_aliasing(self._values, self._aliased):
            much = f"{self._written:,} values written, {self._aliased:,} repeated by aliases and merge keys (<<)"
        elif self._aliased_bytes > MAX_ALIASED_BYTES:
            much = f"aliases expand to more than {MAX_ALIASED_BYTES:,} bytes"
        elif self._values > self._most_values:
            much = f"aliases expand the document to more than {self._most_values:,} keys and values"
        else:
            return
        raise refusal(f"document contains excessive aliasing: {much}; write the values out", mark)

    def repeated(self, name: str, mark: _Mark) -> None:
        """Handle a duplicate key: raise, or in lenient mode record it."""
        problem = f'key "{quoted(name, "")}" already set in map'
        if not self._lenient:
            raise refusal(problem, mark)
        self.repeats.append((line_at(mark), problem))

    def _count(self, mark: _Mark) -> None:
        self._written += 1
        self._values += 1
        self._levels += len(self.open)
        if self._written > self._most_nodes:
            much = f"{self._most_nodes:,} keys and values"
        elif self._values > self._most_values:
            much = f"{self._most_values:,} keys and values"
        elif self._levels > self._most_levels:
            much = f"{self._most_levels:,} levels of nesting, summed over all keys and values"
        else:
            return
        raise refusal(f"document exceeds the limit for its size: {much}; split it into several", mark)

    def _check_depth(self, height: int, mark: _Mark) -> None:
        if len(self.open) + height > MAX_DEPTH:
            raise refusal(_TOO_DEEP, mark)

    def _add(self, node: _Node) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        around = parent.node
        around.nodes += node.nodes
        around.size += node.size
        around.height = max(around.height, node.height + 1)
        parent.take(node, self)


class _Chunks:
    """The input as a file.

    PyYAML calls ``read`` for each chunk, which lets other threads run.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._position = 0

    def read(self, size: int) -> bytes:
        chunk = self._text[self._position : self._position + size]
        self._position += len(chunk)
        return chunk


def documents(
    text: str | bytes, *, lenient: bool, any_tag: bool = False, max_values: float = math.inf
) -> Generator[Located]:
    """Yield each document of ``text``, also empty ones; with ``any_tag`` unknown tags are ignored.

    :func:`dynkube.meta.yaml.load_all` is the public API.

    Raises:
        MalformedYAML: it is not YAML, or exceeds a limit.
    """
    try:
        encoded = text if isinstance(text, bytes) else text.encode()
        if len(encoded) > MAX_TEXT_BYTES:
            raise MalformedYAML(
                f"input is too large: {len(encoded):,} bytes, the limit is {MAX_TEXT_BYTES:,}; split it"
            )
        yield from _documents(encoded, lenient=lenient, any_tag=any_tag, max_values=max_values)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "malformed"
        if problem.startswith(_TOO_DEEP_IN_C):
            problem = _TOO_DEEP
        raise refusal(problem, mark, _go_syntax_error(error, problem)) from None
    except yaml.reader.ReaderError as error:
        raise MalformedYAML(" ".join(str(error).split()), go_message=f"yaml: {error.reason}") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise MalformedYAML(" ".join(str(error).split())) from None


def _documents(text: bytes, *, lenient: bool, any_tag: bool, max_values: float) -> Iterator[Located]:
    make = partial(_Document, len(text), lenient=lenient, any_tag=any_tag, max_values=max_values)
    document = make()
    with closing(events(text)) as found:
        for event in found:
            if isinstance(event, yaml.ScalarEvent):
                document.scalar(event)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                document.start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                document.end()
            elif isinstance(event, yaml.AliasEvent):
                document.alias(event)
            elif isinstance(event, yaml.DocumentEndEvent):
                root, done = document.root, document
                document = make()
                if root is not None:
                    yield Located(line_at(root.mark), root.value, done.item_lines, tuple(sorted(done.repeats)))


def events(text: bytes) -> Generator[yaml.Event]:
    """Yield the events of PyYAML's parser, which raises its own exceptions."""
    parser = _Parser(_Chunks(text))  # type: ignore[arg-type]  # the stubs require more methods than are used
    try:
        while not isinstance(event := parser.get_event(), yaml.StreamEndEvent):  # type: ignore[no-untyped-call]
            yield event
    finally:
        parser.dispose()


def refusal(problem: str, mark: _Mark, go_message: str | None = None) -> MalformedYAML:
    """Create the error for a position."""
    if mark is None:
        return MalformedYAML(problem, go_message=go_message)
    return MalformedYAML(problem, line=mark.line + 1, column=mark.column + 1, go_message=go_message)


def _go_syntax_error(error: yaml.MarkedYAMLError, problem: str) -> str:
    """Return go-yaml's message, which has no column, and counts lines from 0 unless its scanner has failed."""
    marks = (error.problem_mark, error.context_mark)
    line = next((mark.line for mark in marks if mark is not None and mark.line), 0)
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"yaml: line {line}: {problem}" if line else f"yaml: {problem}"


def _go_misfit(kind: str, text: str) -> str:
    """Return go-yaml's message for a scalar that its tag does not fit."""
    if kind == "binary":
        return "yaml: !!binary value contains invalid base64 data"
    return f"yaml: cannot decode !!{plain_tag(text).removeprefix(YAML_TAG)} `{text}` as a !!{kind}"


def unknown_tag(tag: str, mark: _Mark) -> MalformedYAML:
    """Create the error for a tag that is not plain data.

    Also for a tag that is not valid for this kind of node.
    """
    # A local tag may be a password that begins with "!".
    shown = f"the tag {quoted(tag)}" if tag.startswith("tag:") else "a local tag: quote strings that begin with !"
    return refusal(f"could not determine a constructor for {shown}", mark)


def line_at(mark: _Mark) -> int:
    """Return the line of a position, counted from 1."""
    return 1 if mark is None else mark.line + 1


def quoted(name: str, quote: str = "'") -> str:
    """Quote a name for an error message, truncated if it is long."""
    shown = name if len(name) <= _LONGEST_QUOTED else f"{name[:_LONGEST_QUOTED]}..."
    return f"{quote}{shown}{quote}"
