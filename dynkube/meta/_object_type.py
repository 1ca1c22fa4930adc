"""The metaclass of ``Unstructured``, whose instances Python's garbage collector does not track.

Each full collection visits every tracked object: with 200,000 ordinary objects in a cache it took 0.35 s, during which
nothing else runs, and collections took a third of the CPU (``benchmarks/growth.py``). An object cannot be part of a
reference cycle: it refers to bytes, strings, and what it shares with others, which does not refer to objects. So it is
a ``msgspec.Struct`` with ``gc=False``; a tuple of such Structs is not tracked either.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from typing import Any

import msgspec

_StructType: Any = type(msgspec.Struct)


class ObjectType(_StructType, ABCMeta):  # type: ignore[misc]  # msgspec does not export the metaclass of Struct
    """Creates Structs that are also mappings, and have an ``__init__`` of their own.

    A Struct is created from the values of its fields, and may define no ``__init__``. Here a call of the class creates
    an instance with the defaults of its fields and initializes it, as for any other class.
    """

    def __new__(metaclass, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """Create the class."""
        init = namespace.pop("__init__", None)
        cls = super().__new__(metaclass, name, bases, namespace, **options)
        if init is not None:
            type.__setattr__(cls, "__init__", init)  # msgspec refuses it only in the class body
        return cls

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Create and initialize an instance."""
        instance = new_instance(cls)
        type(instance).__init__(instance, *args, **kwargs)
        return instance

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of ``__init__`` without ``self``; msgspec's is that of the fields."""
        _, *parameters = inspect.signature(getattr(cls, "__init__")).parameters.values()  # noqa: B009  # for mypy
        return inspect.Signature(parameters)


new_instance: Any = _StructType.__call__
"""``new_instance(cls, *fields)`` creates an instance from the values of its fields, without ``__init__``."""
