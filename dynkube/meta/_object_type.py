"""The metaclass of ``Unstructured``, whose instances Python's garbage collector does not track.

Each full collection visits every tracked object: with 200,000 ordinary objects in a cache it took 0.35 s, during which
nothing else runs, and collections took a third of the CPU (``benchmarks/growth.py``). An object cannot be part of a
reference cycle: it refers to bytes, strings, and what it shares with others, which does not refer to objects. So it is
a ``msgspec.Struct`` with ``gc=False``; a tuple of such Structs is not tracked either.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

from msgspec import StructMeta


class ObjectType(StructMeta, ABCMeta):
    """Creates Structs that are also mappings, and have an ``__init__`` of their own.

    A Struct is created from the values of its fields, and may define no ``__init__``. Here a call of the class creates
    an instance with the defaults of its fields and initializes it, as for any other class.
    """

    if not TYPE_CHECKING:  # a type checker sees an ordinary class with an __init__

        def __new__(metaclass, name, bases, namespace, **options):
            """Create the class."""
            init = namespace.pop("__init__", None)
            cls = super().__new__(metaclass, name, bases, namespace, **options)
            if init is not None:
                cls.__init__ = init  # msgspec refuses it only in the class body
            return cls

        def __call__(cls, *args, **kwargs):
            """Create and initialize an instance."""
            instance = new_instance(cls)
            instance.__init__(*args, **kwargs)
            return instance

        @property
        def __signature__(cls) -> inspect.Signature:
            """The signature of ``__init__`` without ``self``; msgspec's is that of the fields."""
            _, *parameters = inspect.signature(cls.__init__).parameters.values()
            return inspect.Signature(parameters)


new_instance: Any = StructMeta.__call__
"""``new_instance(cls, *fields)`` creates an instance from the values of its fields, without ``__init__``."""
