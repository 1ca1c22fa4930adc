"""Warnings as headers of an answer (RFC 7234, section 5.5), as kubectl prints them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

# Beyond so many characters in all, each is cut.
_ALL, _EACH = 4096, 256


def warning_headers(warnings: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The headers: each text once, and none with control characters, which kube-apiserver keeps to itself."""
    texts = [text for text in dict.fromkeys(warnings) if text and not _has_controls(text)]
    return tuple(("Warning", f'299 - "{_escaped(text)}"') for text in _limited(texts))


def _limited(texts: list[str]) -> list[str]:
    """All of them, or as much of each, and of them, as there is room for."""
    count = next((index for index, total in enumerate(accumulate(map(len, texts)), 1) if total > _ALL), 0)
    if not count:
        return texts
    # Those up to the one that was too much are there in any case.
    kept = [text[:_EACH] for text in texts[:count]]
    written = sum(map(len, kept))
    for text in texts[count:]:
        if written >= _ALL:
            break
        kept.append(text[:_EACH])
        written += len(kept[-1])
    return kept


def _has_controls(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(character) == "Cc" for character in text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
