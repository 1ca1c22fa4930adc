"""Pauses between the reads of a body that arrives in many small pieces. Pure.

kube-apiserver flushes a list, and the initial events of a watch, in pieces of about 4 KB, each a TLS record. A reader
that takes each piece as it arrives spends more on turns of the event loop than on decoding: 65,000 reads for 40,000
objects of 4 KB. A short pause before the next read lets the pieces collect in the socket's buffer.
"""

from __future__ import annotations

from typing import Final

PAUSE: Final = 0.004
"""Seconds of a pause: 100 KB at 25 MB/s, which is what kube-apiserver sends on loopback."""

_WAITED: Final = 0.0005  # seconds; a read that waited longer was ahead of the sender
_BEGINNING: Final = 32 << 10  # bytes of a burst that are read without a pause, as most responses are no longer
_LARGE: Final = 48 << 10  # bytes; after a read of so many, more has usually arrived, and a pause would only delay it


class Burst:
    """Decides after each read whether the reader pauses before the next one.

    It pauses while data arrives faster than it is read, after the first 32 KB. A watch with fewer than some 1,000
    events a second is never delayed; the others by at most :data:`PAUSE`.
    """

    __slots__ = ("_received",)

    def __init__(self) -> None:
        self._received = 0  # bytes of this burst

    def pause_after(self, size: int, waited: float) -> float:
        """Return for how many seconds to pause.

        Args:
            size: the bytes that were read.
            waited: seconds until they had arrived.
        """
        if waited > _WAITED:
            self._received = 0
            return 0.0
        self._received += size
        return PAUSE if self._received > _BEGINNING and size < _LARGE else 0.0
