"""Strategies for inputs: awkward JSON values, and valid bytes with random edits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

Edit: TypeAlias = Callable[[bytes], bytes]

_AWKWARD_NUMBERS = [0, -1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e300, 5e-324]
_AWKWARD_TEXTS = [
    "",
    " ",
    "a",
    "\x00",
    "\n",
    "\ud7ff\ue000",
    "a" * 300,
    "é",
    "𝄞",
    "null",
    "1",
    "..",
    "/",
    "%2f",
    "~1",
    "-",
]

scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from(_AWKWARD_NUMBERS),
    st.sampled_from(_AWKWARD_TEXTS),
    st.text(max_size=8),
)


def values(keys: Sequence[str] = ("a", "b", "metadata", "spec")) -> st.SearchStrategy[Any]:
    """Return a strategy for any JSON value; the keys of objects are some of ``keys``, and others."""
    names = st.one_of(st.sampled_from(keys), st.sampled_from(_AWKWARD_TEXTS))
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
    )


def nested(depth: int, kind: str) -> bytes:
    """Return JSON of nested lists or objects; with a large ``depth`` a recursive parser would overflow."""
    return b"[" * depth + b"]" * depth if kind == "lists" else b'{"a":' * depth + b"1" + b"}" * depth


def texts(documents: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Return a strategy for documents as JSON, some of them with edits, and for bytes that are not JSON."""
    return st.one_of(
        st.builds(_edited, documents.map(_dumped), st.lists(_edits(), max_size=3)),
        documents.map(_dumped),
        st.binary(max_size=60),
        st.builds(nested, st.sampled_from([10, 150, 1_200, 40_000]), st.sampled_from(["lists", "objects"])),
    )


def edited(texts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return a strategy for bytes with up to four edits: parts are removed, doubled or inserted, or the end is cut."""
    return st.builds(_edited, texts, st.lists(_edits(), max_size=4))


def _dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


def _edited(text: bytes, edits: Sequence[Edit]) -> bytes:
    for edit in edits:
        text = edit(text)
    return text


def _edits() -> st.SearchStrategy[Edit]:
    places = st.floats(0, 1)
    inserted = st.one_of(
        st.binary(min_size=1, max_size=4),
        st.sampled_from(
            [b"\r\n", b"\n", b"\r\n\r\n", b'"', b"{", b"}", b"[", b",", b":", b"\x00", b"\xff", b"0", b"- "]
        ),
    )
    return st.one_of(
        st.builds(_cut, places, st.integers(1, 40)),
        st.builds(_double, places, st.integers(1, 40)),
        st.builds(_insert, places, inserted),
        st.builds(_end, places),
    )


def _cut(place: float, size: int) -> Edit:
    def edit(text: bytes) -> bytes:
        at = int(place * len(text))
        return text[:at] + text[at + size :]

    return edit


def _double(place: float, size: int) -> Edit:
    def edit(text: bytes) -> bytes:
        at = int(place * len(text))
        return text[: at + size] + text[at:]

    return edit


def _insert(place: float, inserted: bytes) -> Edit:
    def edit(text: bytes) -> bytes:
        at = int(place * len(text))
        return text[:at] + inserted + text[at:]

    return edit


def _end(place: float) -> Edit:
    return lambda text: text[: int(place * len(text))]
