"""YAML as kubectl reads it: YAML 1.1 scalars without the dates, times and other surprises of PyYAML's own loader.

A module to import by itself: PyYAML is loaded with it, which those who read no YAML need not pay for.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

# PyYAML's C parser is 8 times faster and comes with nearly every build; the pure one reads the same.
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# PyYAML's C code descends by recursion that nothing bounds: deeper texts end the process. No object is half as deep.
_DEEPEST = 1_000
# After a byte order mark, too, in whichever coding it is.
_MAY_BE_DEEP = re.compile(rf"^[\ufeff\xef\xbb\xbf\xff\xfe]*[-?: \t]{{{_DEEPEST // 2},}}", re.MULTILINE)

_BOOL = re.compile(r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z")
_TRUE = {"y", "yes", "true", "on"}
_INT = re.compile(r"[-+]?(?:0b_*[01][01_]*|0o?_*[0-7][0-7_]*|0|[1-9][0-9_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")


class _Loader(_Base):  # type: ignore[misc, valid-type]  # chosen at run time between two classes of one shape
    """Scalars as go-yaml (and so kubectl and the API server) resolves them; a repeated key is an error."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's protocol

    def __init__(self, text: str | bytes) -> None:
        _refuse_depth(text)
        super().__init__(text)

    def flatten_mapping(self, node: MappingNode) -> None:
        # A merge (<<) writes the keys of its base into the node, also those that the node has itself, and perhaps
        # before the node's own turn: what is there twice is looked for once, while it is as it was written.
        if not hasattr(node, "written"):
            node.written = True  # type: ignore[attr-defined]  # a mark of ours, on a node that has no slots
            for key in _repeated(node):
                self.repeated(key)
        super().flatten_mapping(node)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, object]:
        mapping: dict[Hashable, object] = super().construct_mapping(node, deep)
        if all(isinstance(key, str) for key in mapping):
            return mapping
        return {_json_key(key, node): value for key, value in mapping.items()}

    def repeated(self, key: ScalarNode) -> None:
        """Refuse a key that is there for the second time."""
        raise yaml.constructor.ConstructorError(None, None, f'key "{key.value}" already set in map', key.start_mark)


class _LenientLoader(_Loader):
    """Takes the last of what is there twice, and says where."""

    def __init__(self, text: str | bytes) -> None:
        super().__init__(text)
        self.repeats: list[tuple[int, str]] = []

    def repeated(self, key: ScalarNode) -> None:
        self.repeats.append((key.start_mark.line + 1, f'key "{key.value}" already set in map'))


def _repeated(node: MappingNode) -> Iterator[ScalarNode]:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, ScalarNode):
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                yield key
            seen.add(key.value)


def repeated_keys(text: str | bytes) -> list[tuple[int, str]]:
    """Line and trouble of each key that the only document of ``text`` has twice, by line."""
    loader: _LenientLoader | None = None
    try:
        loader = _LenientLoader(text)
        loader.get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        pass  # whoever wants the document will say what is wrong with it
    finally:
        if loader is not None:
            loader.dispose()
    return sorted(loader.repeats) if loader is not None else []


def _refuse_depth(text: str | bytes) -> None:
    """Raise for what is nested too deep to be read; where a glance shows that nothing is, no more than that."""
    shown = text if isinstance(text, str) else text.decode("latin-1").replace("\0", "")
    if shown.count("[") + shown.count("{") < _DEEPEST // 2 and _MAY_BE_DEEP.search(shown) is None:
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Base):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise yaml.composer.ComposerError(
                    None,
                    None,
                    f"nested more than {_DEEPEST} levels deep",
                    event.start_mark,  # type: ignore[arg-type]  # its stubs do not know the marks of its C parser
                )
    except (yaml.reader.ReaderError, yaml.scanner.ScannerError, yaml.parser.ParserError, UnicodeDecodeError):
        return  # the loader finds the same


def _json_key(key: Hashable, node: MappingNode) -> str:
    """A key as JSON has it: ``y: 1`` in a mapping is the key ``"true"``, as kubectl reads it."""
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return str(key)
    raise yaml.constructor.ConstructorError(None, None, f"unsupported map key {key!r}", node.start_mark)


def _construct_bool(loader: yaml.SafeLoader, node: ScalarNode) -> bool:
    return loader.construct_scalar(node).lower() in _TRUE


def _construct_int(loader: yaml.SafeLoader, node: ScalarNode) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    digits = text.lstrip("+-")
    sign = -1 if text.startswith("-") else 1
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if digits.startswith(prefix):
            return sign * int(digits[2:], base)
    return sign * int(digits, 8 if digits.startswith("0") and digits != "0" else 10)


def _construct_float(loader: yaml.SafeLoader, node: ScalarNode) -> float | int | str:
    # JSON has one kind of number and Kubernetes writes whole ones without a fraction: 1e3 is 1000.
    text: str = loader.construct_scalar(node)
    number = float(text)
    if math.isinf(number):  # 1e999, an abbreviated commit as likely as not: text, as there is no such number
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _construct_binary(loader: yaml.SafeLoader, node: ScalarNode) -> str:
    # JSON has no bytes either: go-yaml makes text of them.
    try:
        return base64.b64decode("".join(loader.construct_scalar(node).split()), validate=True).decode()
    except (binascii.Error, ValueError):
        raise yaml.constructor.ConstructorError(None, None, "!!binary is no text in base64", node.start_mark) from None


for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", _BOOL, "yYnNtTfFoO"),
    ("tag:yaml.org,2002:int", _INT, "-+0123456789"),
    ("tag:yaml.org,2002:float", _FLOAT, "-+0123456789."),
    ("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:merge", re.compile(r"<<\Z"), "<"),
):
    _Loader.add_implicit_resolver(_tag, _pattern, list(_first))
_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
_Loader.add_constructor("tag:yaml.org,2002:binary", _construct_binary)
# Merges are keys: as a value it is text.
_Loader.add_constructor("tag:yaml.org,2002:merge", lambda loader, node: loader.construct_scalar(node))
# A date that someone tags as one stays what was written: JSON has no dates.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))


def reads_as_text(text: str) -> bool:
    """Whether this text, without quotes, is text and neither a number, a bool nor null."""
    for tag, pattern in _Loader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return tag == "tag:yaml.org,2002:merge" or (tag.endswith(":float") and math.isinf(float(text)))
    return True


class MalformedYAML(ValueError):
    """A text that is not YAML; the message has line and column, where the parser tells."""

    def __init__(self, problem: str, *, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}, column {column}: "
        super().__init__(f"yaml: {where}{problem}")
        self.problem = problem
        self.line = line
        """From 1; ``None`` where the parser does not tell."""
        self.column = column
        """From 1; ``None`` where the parser does not tell."""


@dataclass(frozen=True, slots=True)
class Located:
    """One document that is not empty.

    Attributes:
        line: Of its beginning, from 1.
        data: What it says.
        item_lines: Where each of its ``items`` begins, if it has some.
    """

    line: int
    data: object
    item_lines: tuple[int, ...] = ()


def load_all(text: str | bytes, *, lenient: bool = False) -> Iterator[Located]:
    """Each document of ``text`` that is not empty.

    Where it is ``lenient`` the last of several equal keys counts; they are refused otherwise.

    Raises:
        MalformedYAML: It is not YAML.
    """
    # Made where what it raises is caught: it looks for characters that YAML does not have.
    loader: _Loader | None = None
    try:
        loader = _LenientLoader(text) if lenient else _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            document = loader.construct_document(node)
            if document is not None:
                yield Located(node.start_mark.line + 1, document, _item_lines(node))
    except yaml.MarkedYAMLError as error:
        raise _located(error) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: numbers that Python does not read
        raise MalformedYAML(" ".join(str(error).split())) from None
    finally:
        if loader is not None:
            loader.dispose()


def _item_lines(node: Node) -> tuple[int, ...]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.value == "items" and isinstance(value, SequenceNode):
                return tuple(item.start_mark.line + 1 for item in value.value)
    return ()


def load_located(text: str | bytes, *, lenient: bool = False) -> Iterator[tuple[int, object]]:
    """Each document of ``text`` that is not empty, with the number of its first line; see :func:`load_all`."""
    for document in load_all(text, lenient=lenient):
        yield document.line, document.data


def load_document(text: str | bytes, *, lenient: bool = False) -> object:
    """The only document of ``text``; ``None`` where it has none. See :func:`load_located`.

    Raises:
        ValueError: It is not YAML, or has more than one document.
    """
    documents = [document for _, document in load_located(text, lenient=lenient)]
    if len(documents) > 1:
        raise ValueError(f"yaml: expected one document, found {len(documents)}")
    return documents[0] if documents else None


def dump(data: object) -> bytes:
    """``data`` as one YAML document, keys sorted as kubectl prints them."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=True, allow_unicode=True, default_flow_style=False)
    return text.encode()


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time, like _Base
    """Writes no anchors: an object that appears twice is written twice, as Kubernetes tools do."""

    def ignore_aliases(self, data: object) -> bool:
        return True


for _first, _resolvers in _Loader.yaml_implicit_resolvers.items():
    for _tag, _pattern in _resolvers:
        # Text that this loader or PyYAML's own would take for something else is quoted.
        _Dumper.add_implicit_resolver(_tag, _pattern, [_first])


def _located(error: yaml.MarkedYAMLError) -> MalformedYAML:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "malformed"
    if mark is None:
        return MalformedYAML(problem)
    return MalformedYAML(problem, line=mark.line + 1, column=mark.column + 1)
