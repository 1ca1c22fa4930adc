"""Encodings of response bodies: JSON, indented JSON or YAML.

Lists are encoded in pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.api import JSONObject

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"


class Layout(Protocol):
    """An encoding of responses.

    Attributes:
        content_type: The media type.
        plain: Whether the compact JSON of list items is sent unchanged.
    """

    content_type: str
    plain: bool

    def document(self, encoded: bytes) -> bytes:
        """Convert a document from compact JSON to this encoding."""
        ...

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """Encode a document with a long list, in pieces.

        Args:
            head: The document, with its keys in order and any value in place of the list.
            key: The key of the list.
            items: The items as compact JSON.

        Returns:
            An iterator over the pieces, at least one for each item. Joined, they are the encoded document.
        """
        ...


def _around(head: JSONObject, key: str) -> tuple[JSONObject, JSONObject]:
    """Return the fields of ``head`` before ``key``, and those after it."""
    names = list(head)
    index = names.index(key)
    return {name: head[name] for name in names[:index]}, {name: head[name] for name in names[index + 1 :]}


class JSON:
    """JSON on one line."""

    content_type = JSON_TYPE
    plain = True

    def document(self, encoded: bytes) -> bytes:
        """Encode with a trailing newline, as Go's encoder does."""
        return encoded + b"\n"

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """Encode a list in pieces, at its position in ``head``."""
        before, after = (msgspec.json.encode(part)[1:-1] for part in _around(head, key))
        separator = b'{%b"%b":[' % (before + b"," if before else b"", key.encode())
        empty = True
        for item in items:
            yield separator + item
            separator, empty = b",", False
        yield (separator if empty else b"") + b"]" + (b"," + after if after else b"") + b"}\n"


class Pretty:
    """JSON indented by two spaces."""

    content_type = JSON_TYPE
    plain = False

    def document(self, encoded: bytes) -> bytes:
        """Encode without a trailing newline."""
        return msgspec.json.format(encoded, indent=2)

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """Encode a list in pieces, at its position in ``head``."""
        before, after = (self._members(part) for part in _around(head, key))
        separator = b'{%b\n  "%b": [' % (before + b"," if before else b"", key.encode())
        empty = True
        for item in items:
            # JSON strings contain no literal newlines, so all newlines are between tokens and can be indented.
            yield separator + b"\n    " + self.document(item).replace(b"\n", b"\n    ")
            separator, empty = b",", False
        yield (separator + b"]" if empty else b"\n  ]") + (b"," + after if after else b"") + b"\n}"

    def _members(self, part: JSONObject) -> bytes:
        """Return the encoded fields without the enclosing braces and the last newline."""
        return self.document(msgspec.json.encode(part))[1:-1].removesuffix(b"\n")


class YAML:
    """YAML in block style, keys sorted."""

    content_type = YAML_TYPE
    plain = False

    def document(self, encoded: bytes) -> bytes:
        """Decode the JSON and encode it as YAML."""
        return yaml.dump(msgspec.json.decode(encoded))

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """Encode a list in pieces, with the keys of ``head`` sorted."""
        before, after = _around(dict(sorted(head.items())), key)
        separator = (yaml.dump(before) if before else b"") + key.encode() + b":"
        empty = True
        for item in items:
            yield (separator + b"\n" if empty else b"") + yaml.dump([msgspec.json.decode(item)])
            empty = False
        yield (separator + b" []\n" if empty else b"") + (yaml.dump(after) if after else b"")
