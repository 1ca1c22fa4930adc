"""YAML as kubectl reads it.

YAML 1.1 scalars without the dates and sexagesimal numbers of PyYAML's loader. The only YAML loader of the client and of
the embedded server. Limits on the input are in ``_input_limits``; they are enforced before values are built, with
aliases and merge keys (``<<``) expanded.

Import this module only when needed, as it loads PyYAML.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import yaml

from dynkube.meta._input_limits import MAX_CONFIG_BYTES, MAX_CONFIG_VALUES, MAX_TEXT_BYTES
from dynkube.meta._yaml.builder import Located, MalformedYAML, documents, events, line_at
from dynkube.meta._yaml.scalars import RESOLVERS, reads_as_text

__all__ = [
    "MAX_CONFIG_BYTES",
    "MAX_CONFIG_VALUES",
    "MAX_TEXT_BYTES",
    "Located",
    "MalformedYAML",
    "dump",
    "line_of",
    "load_all",
    "load_document",
    "load_first",
    "load_located",
    "reads_as_text",
    "repeated_keys",
]


def load_all(text: str | bytes, *, lenient: bool = False, max_values: float = math.inf) -> Iterator[Located]:
    """Yield each non-empty document of ``text``, one by one. Synchronous.

    Args:
        text: the input.
        lenient: the last of duplicate keys counts; by default they are rejected.
        max_values: maximum keys and values of one document, aliases expanded, if lower than the general limits.

    Raises:
        MalformedYAML: It is not YAML, contains itself, or exceeds the limits on size, depth, values or repeats.
    """
    return (each for each in documents(text, lenient=lenient, max_values=max_values) if each.data is not None)


def load_located(text: str | bytes, *, lenient: bool = False) -> Iterator[tuple[int, object]]:
    """Yield the first line number and content of each non-empty document of ``text``.

    Args:
        text: the input.
        lenient: the last of duplicate keys counts; by default they are rejected.

    Raises:
        MalformedYAML: It is not YAML, contains itself, or exceeds the limits on size, depth, values or repeats.
    """
    for document in load_all(text, lenient=lenient):
        yield document.line, document.data


def load_document(text: str | bytes, *, lenient: bool = False, max_values: float = math.inf) -> object:
    """Return the only document of ``text``; ``None`` if there is none.

    Args:
        text: the input.
        lenient: the last of duplicate keys counts; by default they are rejected.
        max_values: maximum keys and values, aliases expanded, if lower than the general limits.

    Raises:
        ValueError: It is not YAML (:class:`MalformedYAML`), or has more than one document.
    """
    documents = [document.data for document in load_all(text, lenient=lenient, max_values=max_values)]
    if len(documents) > 1:
        raise ValueError(f"yaml: expected one document, found {len(documents)}")
    return documents[0] if documents else None


def load_first(text: str | bytes, *, any_tag: bool = True, max_values: float = math.inf) -> Located | None:
    """Return the first document of ``text``, as API servers read a body; ``None`` if there is none.

    What follows it is not parsed. Duplicate keys are accepted.

    Args:
        text: the input.
        any_tag: unknown tags are ignored; else they are rejected.
        max_values: maximum keys and values, aliases expanded, if lower than the general limits.

    Raises:
        MalformedYAML: It is not YAML, contains itself, or exceeds the limits on size, depth, values or repeats.
    """
    with closing(documents(text, lenient=True, any_tag=any_tag, max_values=max_values)) as found:
        return next(found, None)


def line_of(text: bytes, path: Sequence[str | int]) -> int:
    """Return the line of a value in the first document, counted from 1; of the key if it has one.

    If the value is written elsewhere (by an alias or a merge key), it is the line of the innermost value around it.

    Args:
        text: the input, which has been loaded without an error.
        path: the keys and indices that lead to the value.
    """
    line, found = 1, 0
    open_: list[_Level] = []
    with closing(events(text)) as parsed:
        for event in parsed:
            if isinstance(event, yaml.DocumentEndEvent):
                break
            if isinstance(event, yaml.CollectionEndEvent):
                open_.pop()
            elif isinstance(event, yaml.NodeEvent):
                depth = open_[-1].enter(event, path) if open_ else 0
                if depth is not None and depth >= found:  # equal: the last of duplicate keys counts
                    line, found = (open_[-1].line if open_ else line_at(event.start_mark)), depth
                if isinstance(event, yaml.CollectionStartEvent):
                    open_.append(_Level(depth, isinstance(event, yaml.MappingStartEvent)))
    return line


@dataclass(slots=True)
class _Level:
    """A list or mapping around the current event of :func:`line_of`.

    Attributes:
        depth: how many steps of the path lead to it; ``None`` if it is not on the path.
        keyed: whether it is a mapping.
        step: the key or index of the next value; ``None`` if a key comes next.
        line: the line of the current key or item.
    """

    depth: int | None
    keyed: bool
    step: str | int | None = None
    line: int = 1

    def enter(self, event: yaml.NodeEvent, path: Sequence[str | int]) -> int | None:
        """Return the number of steps of the path that lead to this key, value or item, if it is on the path."""
        if self.keyed and self.step is None:
            self.step = event.value if isinstance(event, yaml.ScalarEvent) else -1
            self.line = line_at(event.start_mark)
            return None
        step = self.step
        if not self.keyed:
            step = 0 if step is None else int(step)
            self.line = line_at(event.start_mark)
        self.step = None if self.keyed else int(step or 0) + 1
        on_path = self.depth is not None and self.depth < len(path) and path[self.depth] == step
        return self.depth + 1 if on_path and self.depth is not None else None


def repeated_keys(text: str | bytes) -> list[tuple[int, str]]:
    """Return line and message of each duplicate key of the first document, by line.

    Empty if ``text`` is not YAML.
    """
    try:
        first = load_first(text)
    except MalformedYAML:
        return []  # reported when the document is loaded
    return list(first.repeats) if first is not None else []


def dump(data: object) -> bytes:
    """Encode ``data`` as one YAML document, keys sorted as kubectl prints them."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=True, allow_unicode=True, default_flow_style=False)
    return text.encode()


# PyYAML's C emitter is faster and included in nearly every build; the pure Python one writes the same.
class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
    """Writes no anchors.

    An object that occurs twice is written twice, as Kubernetes tools do.
    """

    def ignore_aliases(self, data: object) -> bool:
        return True


for _first, _resolvers in RESOLVERS.items():
    for _tag, _pattern in _resolvers:
        # Strings that this loader or PyYAML's own would read as another type are quoted.
        _Dumper.add_implicit_resolver(_tag, _pattern, [_first])
