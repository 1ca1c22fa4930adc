"""Compressed bodies: each object of a cache is stored compressed with a dictionary made from others of the same cache.

The objects of one resource resemble each other, so a dictionary (zstd's) of 16 KB shrinks pods of 3 KB to 350 bytes and
takes 3 to 5 us for each; reading one takes 0.5 to 2.5 us. The package ``zstandard`` is used also where the standard
library has zstd, as that creates a context for each frame: 11 us for each read (CPython 3.14, backports.zstd 1.8).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dynkube.errors import ConfigError

if TYPE_CHECKING:
    import zstandard

_DICTIONARY: Final = 16 << 10  # bytes; 8 and 32 KB are not better
_SEGMENT: Final = 2000  # bytes of a sample that the dictionary takes at a time; 8 times less makes it 30 % worse
_FREQUENCIES: Final = 16  # log2 of a table's size; zstd's 20 makes it touch 13 MB, for 7 to 30 ms and no gain
_SAMPLES: Final = 64  # with 1,024 of them objects shrink by 2 % more, and it takes 90 ms instead of 2
_SAMPLE: Final = 4 << 10  # bytes of each
_LARGEST: Final = 1 << 20  # bytes of a body; compressing more at once would block the event loop for over 5 ms
_STRIDES: Final = (1, 64)  # the second dictionary has samples from 4,096 objects, as lists are sorted by namespace
_WINDOW: Final = 1024  # objects after which it is checked how well the dictionary fits
_WORTHWHILE: Final = 0.8  # of the size
_WORSE: Final = 1.5  # times as large as in the best window
_GIVEN_UP_FOR: Final = 64 * _WINDOW  # objects, where compression is not worthwhile


def check_available() -> None:
    """Raise if the package is missing.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import zstandard  # noqa: F401  # now, as it would block the event loop later
    except ModuleNotFoundError as error:
        if error.name != "zstandard":
            raise
        raise ConfigError("compact=True requires the package zstandard: pip install 'dynkube[compact]'") from None


class BodyCodec:
    """Compresses bodies with one dictionary.

    Args:
        samples: bodies of other objects.

    Raises:
        zstandard.ZstdError: a dictionary cannot be made of these, as they are too short or all the same.
    """

    __slots__ = ("_compress", "_dictionary", "_local")

    def __init__(self, samples: Sequence[bytes]) -> None:
        import zstandard  # an extra

        self._dictionary: zstandard.ZstdCompressionDict = zstandard.train_dictionary(
            _DICTIONARY, list(samples), k=_SEGMENT, d=8, f=_FREQUENCIES
        )
        self._dictionary.precompute_compress(level=1)
        self._compress = zstandard.ZstdCompressor(
            level=1, dict_data=self._dictionary, write_checksum=False, write_dict_id=False
        ).compress
        self._local = threading.local()

    def compress(self, body: bytes) -> bytes:
        """Return ``body`` compressed. Not thread-safe."""
        # Copied, as the result is the start of a block with room for an incompressible body, and the rest of the block
        # is too small for the next one: without a copy a cache would take as much memory as uncompressed.
        return bytes(memoryview(self._compress(body)))

    def decompress(self, compressed: bytes) -> bytes:
        """Return the body. Thread-safe."""
        # A decompressor serves one thread at a time, and releases the GIL while it works.
        decompress = getattr(self._local, "decompress", None)
        if decompress is None:
            import zstandard

            decompress = self._local.decompress = zstandard.ZstdDecompressor(dict_data=self._dictionary).decompress
        body: bytes = decompress(compressed)
        return body


class Compactor:
    """Compresses the bodies of one cache, with a dictionary made from its objects.

    The first dictionary is made from the first 64 objects, and the second from 64 among 4,096. After that another one
    is made when 1,024 new objects are over 1.5 times as large, compressed, as the best 1,024 before them: probably
    their shape has changed. The wait until the next one doubles each time, as each takes 150 KB while an object needs
    it. If 1,024 objects shrink by less than a fifth, compression is given up for 65,536 objects.

    Stored as they are: the objects before the first dictionary, bodies over 1 MiB, and bodies that shrink by less than
    a fifth. Objects keep the dictionary with which they were compressed.

    Args:
        codec: the dictionary to begin with.
    """

    __slots__ = (
        "_after",
        "_before",
        "_best",
        "_codec",
        "_objects",
        "_patience",
        "_samples",
        "_skip",
        "_stage",
        "_windows",
    )

    def __init__(self, codec: BodyCodec | None = None) -> None:
        self._codec = codec
        self._samples: list[bytes] = []
        self._stage = 0  # index of _STRIDES; as many as these once no samples are taken
        self._skip = 0  # objects before the next sample
        self._best = 0.0  # compressed size, relative to the original, in the best window with this dictionary
        self._windows = 0  # with this dictionary
        self._patience = 1  # windows with this dictionary before another one is made
        self._before = self._after = self._objects = 0  # bytes and objects of the window

    def compress(self, body: bytes) -> tuple[BodyCodec, bytes] | None:
        """Return ``body`` compressed, and what decompresses it; ``None`` if it is to be stored as it is."""
        if self._stage < len(_STRIDES):
            self._sample(body)
        elif self._codec is None:
            self._wait()
        codec = self._codec
        if codec is None or len(body) > _LARGEST:
            return None
        compressed = codec.compress(body)
        self._judge(len(body), len(compressed))
        return (codec, compressed) if len(compressed) < _WORTHWHILE * len(body) else None

    def _sample(self, body: bytes) -> None:
        if self._skip:
            self._skip -= 1
            return
        self._skip = _STRIDES[self._stage] - 1
        self._samples.append(body[:_SAMPLE])
        if len(self._samples) == _SAMPLES:
            self._train()

    def _train(self) -> None:
        import zstandard

        samples, self._samples = self._samples, []
        self._stage += 1
        try:
            self._codec = BodyCodec(samples)
        except zstandard.ZstdError:  # keep the dictionary there is, if any
            return
        self._best, self._windows = 0.0, 0
        self._new_window()

    def _judge(self, before: int, after: int) -> None:
        """Count an object, and judge the dictionary after each window, once it is not about to be replaced."""
        self._before += before
        self._after += after
        self._objects += 1
        if self._objects < _WINDOW:
            return
        ratio = self._after / self._before
        self._new_window()
        self._windows += 1
        if self._stage < len(_STRIDES):
            return
        if ratio > _WORTHWHILE:
            self._codec = None
        elif self._best and ratio > _WORSE * self._best and self._windows > self._patience:
            self._patience *= 2
            self._start_again()
        else:
            self._best = min(ratio, self._best or ratio)

    def _wait(self) -> None:
        """Try again after many objects, which may be others."""
        self._objects += 1
        if self._objects >= _GIVEN_UP_FOR:
            self._start_again()

    def _start_again(self) -> None:
        self._stage = self._skip = 0
        self._new_window()

    def _new_window(self) -> None:
        self._before = self._after = self._objects = 0
