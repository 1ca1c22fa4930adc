"""Floor 0: what cannot leave the process that it was made in."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class Bound:
    """Gives a class a clear refusal to be copied or pickled, as for ``multiprocessing``, joblib and dask.

    What has connections, tasks or a thread is nothing that could be written down. Without this, ``pickle`` names
    whatever it stumbles over first deep inside, and a shallow copy is a second handle that closes the first one.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        name = type(self).__name__
        article = "an" if name[0] in "AEIOU" else "a"
        raise TypeError(
            f"{article} {name} can be neither pickled nor copied: it has connections or tasks of this process. "
            "In another process connect again; objects, lists, tables and errors can be sent there"
        )
