"""YAML as kubectl reads it: YAML 1.1 scalars without the dates, times and other surprises of PyYAML's own loader.

The only YAML loader of the client and of the embedded server. What a text may hold is in ``_input_limits``, and is
counted before anything is built of it, aliases and merge keys (``<<``) with all that they stand for.

A module to import by itself: PyYAML is loaded with it, which those who read no YAML need not pay for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import yaml

from dynkube.meta._input_limits import MAX_CONFIG_BYTES, MAX_CONFIG_VALUES, MAX_TEXT_BYTES
from dynkube.meta._yaml_builder import Located, MalformedYAML, documents
from dynkube.meta._yaml_scalars import RESOLVERS, reads_as_text

__all__ = [
    "MAX_CONFIG_BYTES",
    "MAX_CONFIG_VALUES",
    "MAX_TEXT_BYTES",
    "Located",
    "MalformedYAML",
    "dump",
    "load_all",
    "load_document",
    "load_located",
    "reads_as_text",
    "repeated_keys",
]


def load_all(text: str | bytes, *, lenient: bool = False, max_values: float = math.inf) -> Iterator[Located]:
    """Read each document of ``text`` that is not empty. A plain function; the documents come one by one.

    Args:
        text: what to read.
        lenient: the last of several equal keys counts; they are refused otherwise.
        max_values: keys and values that one document may have, aliases counted as all that they stand for, where that
            is to be less than what the limits allow anyway.

    Raises:
        MalformedYAML: It is not YAML, contains itself, or is over the limits on text, depth, values and repeats.
    """
    return documents(text, lenient=lenient, max_values=max_values)


def load_located(text: str | bytes, *, lenient: bool = False) -> Iterator[tuple[int, object]]:
    """Each document of ``text`` that is not empty, with the number of its first line; see :func:`load_all`."""
    for document in load_all(text, lenient=lenient):
        yield document.line, document.data


def load_document(text: str | bytes, *, lenient: bool = False, max_values: float = math.inf) -> object:
    """The only document of ``text``; ``None`` where it has none. See :func:`load_all`.

    Raises:
        ValueError: It is not YAML (:class:`MalformedYAML`), or has more than one document.
    """
    documents = [document.data for document in load_all(text, lenient=lenient, max_values=max_values)]
    if len(documents) > 1:
        raise ValueError(f"yaml: expected one document, found {len(documents)}")
    return documents[0] if documents else None


def repeated_keys(text: str | bytes) -> list[tuple[int, str]]:
    """Line and message of each key that the only document of ``text`` has twice, by line; empty for what is no YAML."""
    try:
        return [repeat for document in load_all(text, lenient=True) for repeat in document.repeats]
    except MalformedYAML:
        return []  # reported to whoever wants the document


def dump(data: object) -> bytes:
    """``data`` as one YAML document, keys sorted as kubectl prints them."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=True, allow_unicode=True, default_flow_style=False)
    return text.encode()


# PyYAML's C emitter is faster and comes with nearly every build; the pure one writes the same.
class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
    """Writes no anchors: an object that appears twice is written twice, as Kubernetes tools do."""

    def ignore_aliases(self, data: object) -> bool:
        return True


for _first, _resolvers in RESOLVERS.items():
    for _tag, _pattern in _resolvers:
        # Text that this loader or PyYAML's own would take for something else is quoted.
        _Dumper.add_implicit_resolver(_tag, _pattern, [_first])
