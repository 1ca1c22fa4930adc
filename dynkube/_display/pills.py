"""Coloured labels for the phases of informers and the outcomes of writes."""

from __future__ import annotations

from typing import Final

from dynkube._display.cards import Span, Tone

_TONES: Final = {
    "LIVE": Tone.GOOD,
    "SYNCING": Tone.INFO,
    "UNKNOWN": Tone.WARN,
    "DEGRADED": Tone.BAD,
    "ABSENT": Tone.PLAIN,
    "STOPPED": Tone.PLAIN,
    "created": Tone.GOOD,
    "changed": Tone.INFO,
    "applied": Tone.INFO,
    "unchanged": Tone.PLAIN,
    "pruned": Tone.WARN,
    "conflicted": Tone.BAD,
    "failed": Tone.BAD,
    "skipped": Tone.PLAIN,
    "interrupted": Tone.WARN,
    "unknown": Tone.WARN,
    "terminating": Tone.WARN,
    "complete": Tone.GOOD,
    "progressing": Tone.INFO,
    "unsupported": Tone.WARN,
    "blocked": Tone.WARN,
    "evicted": Tone.GOOD,
    "refused": Tone.BAD,
    "waiting": Tone.PLAIN,
}


def pill(word: str, title: str = "") -> Span:
    """Return a phase or outcome as a label; unknown words have no colour."""
    return Span(word, _TONES.get(word, Tone.PLAIN), title, chip=True)
