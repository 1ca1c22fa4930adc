"""Layer 0: ``Bound``, a mixin that refuses pickling and copying."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class Bound:
    """Mixin that refuses pickling and copying with a clear error.

    Both are attempted by ``multiprocessing``, joblib and dask, for example. Objects with connections, tasks or threads
    cannot be serialized. Without this, ``pickle`` fails with a message about some nested object, and a shallow copy is
    a second handle that closes the first one.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        name = type(self).__name__
        article = "an" if name[0] in "AEIOU" else "a"
        raise TypeError(
            f"{article} {name} cannot be pickled or copied: it holds connections or tasks of this process; "
            "connect again in the other process, and send objects, lists, tables or errors instead"
        )
