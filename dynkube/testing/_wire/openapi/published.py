"""What both versions of OpenAPI have in common: documents with hashes, kept until what they are made of changes."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SECURITY: Mapping[str, Mapping[str, str]] = {
    "BearerToken": {"type": "apiKey", "description": "A bearer token.", "name": "authorization", "in": "header"}
}


@dataclass(frozen=True, slots=True)
class Published:
    """A document as it is sent, and the hash by which clients keep it."""

    body: bytes
    digest: str

    @classmethod
    def of(cls, body: bytes) -> Published:
        """With the hash that kube-apiserver would give it."""
        return cls(body, hashlib.sha512(body).hexdigest().upper())


def same(before: Sequence[object], now: Sequence[object]) -> bool:
    """Whether these are the very same objects; who changes a definition, or only its status, makes new kinds of it."""
    return len(before) == len(now) and all(map(operator.is_, before, now))
