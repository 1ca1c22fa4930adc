"""How an answer is written down: JSON, indented JSON for people, or YAML; lists in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from dynkube.meta import yaml
from dynkube.testing._calls.api import JSONObject

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
            head: The document, its keys in order, with anything in the place of the list.
            key: Where the list belongs.
            items: The JSON of its items.
        """
        ...


def _around(head: JSONObject, key: str) -> tuple[JSONObject, JSONObject]:
    """What comes before ``key``, and what behind it."""
    names = list(head)
    index = names.index(key)
    return {name: head[name] for name in names[:index]}, {name: head[name] for name in names[index + 1 :]}


class JSON:
    """JSON on one line."""

    content_type = JSON_TYPE
    plain = True

    def document(self, encoded: bytes) -> bytes:
        """With a newline at the end, as Go's encoder writes it."""
        return encoded + b"\n"

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """The list stands where ``head`` has it."""
        before, after = (msgspec.json.encode(part)[1:-1] for part in _around(head, key))
        separator = b'{%b"%b":[' % (before + b"," if before else b"", key.encode())
        empty = True
        for item in items:
            yield separator + item
            separator, empty = b",", False
        yield (separator if empty else b"") + b"]" + (b"," + after if after else b"") + b"}\n"


class Pretty:
    """JSON indented by two."""

    content_type = JSON_TYPE
    plain = False

    def document(self, encoded: bytes) -> bytes:
        """Without a newline at the end."""
        return msgspec.json.format(encoded, indent=2)

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """The list stands where ``head`` has it."""
        before, after = (self._members(part) for part in _around(head, key))
        separator = b'{%b\n  "%b": [' % (before + b"," if before else b"", key.encode())
        empty = True
        for item in items:
            # No newline is inside of a JSON string, so all of them are layout.
            yield separator + b"\n    " + self.document(item).replace(b"\n", b"\n    ")
            separator, empty = b",", False
        yield (separator + b"]" if empty else b"\n  ]") + (b"," + after if after else b"") + b"\n}"

    def _members(self, part: JSONObject) -> bytes:
        """What is between the braces, without the last newline."""
        return self.document(msgspec.json.encode(part))[1:-1].removesuffix(b"\n")


class YAML:
    """YAML in block style, keys sorted."""

    content_type = YAML_TYPE
    plain = False

    def document(self, encoded: bytes) -> bytes:
        """Decoded and written again."""
        return yaml.dump(msgspec.json.decode(encoded))

    def items(self, head: JSONObject, key: str, items: Iterable[bytes]) -> Iterator[bytes]:
        """Keys are sorted, and the list stands among them."""
        before, after = _around(dict(sorted(head.items())), key)
        separator = (yaml.dump(before) if before else b"") + key.encode() + b":"
        empty = True
        for item in items:
            yield (separator + b"\n" if empty else b"") + yaml.dump([msgspec.json.decode(item)])
            empty = False
        yield (separator + b" []\n" if empty else b"") + (yaml.dump(after) if after else b"")
