"""``Warning`` headers of a response (RFC 7234, section 5.5), which kubectl prints."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

# If all warnings together have more characters than the first number, each is truncated to the second number.
_ALL, _EACH = 4096, 256


def warning_headers(warnings: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return a ``Warning`` header for each warning text.

    Duplicates are dropped, and as in kube-apiserver also warnings with control characters.
    """
    texts = [text for text in dict.fromkeys(warnings) if text and not _has_controls(text)]
    return tuple(("Warning", f'299 - "{_escaped(text)}"') for text in _limited(texts))


def _limited(texts: list[str]) -> list[str]:
    """Return the warnings, shortened if they exceed the total limit.

    Each is truncated, and the last ones are dropped.
    """
    count = next((index for index, total in enumerate(accumulate(map(len, texts)), 1) if total > _ALL), 0)
    if not count:
        return texts
    # The warnings up to the one that exceeds the limit are always included.
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
