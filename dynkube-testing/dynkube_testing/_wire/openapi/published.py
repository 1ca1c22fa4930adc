"""Published OpenAPI documents with their hashes, cached until their inputs change."""

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
    """An encoded document, and the hash by which clients recognize a cached one."""

    body: bytes
    digest: str

    @classmethod
    def of(cls, body: bytes) -> Published:
        """Return ``body`` with its hash, computed like in kube-apiserver."""
        return cls(body, hashlib.sha512(body).hexdigest().upper())


def same(before: Sequence[object], now: Sequence[object]) -> bool:
    """Return whether both have the same objects, by identity.

    Then a cached result is valid.

    Any change of a CRD, even of its status, creates new kinds.
    """
    return len(before) == len(now) and all(map(operator.is_, before, now))
