"""Colours that tell names apart: each name always has the same one. And those that programs write to terminals."""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

COLOURS: Final = 10
"""The number of colours."""

SGR: Final = re.compile(r"(\x1b\[[0-9;]*m)")
"""An escape sequence for colours and weights, as one group."""


def colour_of(name: str) -> int:
    """Return the number of the colour of a name, from 0."""
    return crc32(name.encode(errors="replace")) % COLOURS
