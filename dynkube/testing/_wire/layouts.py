"""How an answer is written down: JSON, indented JSON for people, or YAML; lists in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._wire import yaml

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"


class Layout(Protocol):
    """One way of writing.

    Attributes:
        content_type: Its media type.
        plain: Whether JSON goes out as it comes in.
    """

    content_type: str
    plain: bool

    def document(self, encoded: bytes) -> bytes:
        """A document whose JSON is given."""
        ...

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """A document with a long list in it, piece by piece; one piece an item, and the rest around them.

        Args:
            head: The document without the list.
            key: Where the list belongs.
            items: The JSON of its items.
        """
        ...


class JSON:
    """JSON on one line."""

    content_type = JSON_TYPE
    plain = True

    def document(self, encoded: bytes) -> bytes:
        """With a newline at the end, as Go's encoder writes it."""
        return encoded + b"\n"

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """The list comes last."""
        separator = b'%b,"%b":[' % (msgspec.json.encode(head)[:-1], key.encode())
        for item in items:
            yield separator + item
            separator = b","
        yield b"]}\n" if separator == b"," else separator + b"]}\n"


class Pretty:
    """JSON indented by two."""

    content_type = JSON_TYPE
    plain = False

    def document(self, encoded: bytes) -> bytes:
        """Without a newline at the end."""
        return msgspec.json.format(encoded, indent=2)

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """The list comes last."""
        start = self.document(msgspec.json.encode(head)).removesuffix(b"\n}")
        separator = b'%b,\n  "%b": [' % (start, key.encode())
        empty = True
        for item in items:
            # No newline is inside of a JSON string, so all of them are layout.
            yield separator + b"\n    " + self.document(item).replace(b"\n", b"\n    ")
            separator, empty = b",", False
        yield separator + b"]\n}" if empty else b"\n  ]\n}"


class YAML:
    """YAML in block style, keys sorted."""

    content_type = YAML_TYPE
    plain = False

    def document(self, encoded: bytes) -> bytes:
        """Decoded and written again."""
        return yaml.dump(msgspec.json.decode(encoded))

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """The list stands where its key is in the order of keys."""
        before = {name: value for name, value in head.items() if name < key}
        after = {name: value for name, value in head.items() if name > key}
        separator = (yaml.dump(before) if before else b"") + key.encode() + b":"
        empty = True
        for item in items:
            yield (separator + b"\n" if empty else b"") + yaml.dump([msgspec.json.decode(item)])
            empty = False
        yield (separator + b" []\n" if empty else b"") + (yaml.dump(after) if after else b"")
