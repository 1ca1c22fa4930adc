"""Finds the renderer of an object by its type.

The renderers of a layer's types are in the module of this package that has the layer's name. It is loaded when the
first object of the layer is displayed, so that displaying a GVR does not load informers. Layers above this package
(``dynkube.sync``) register their renderers themselves.
"""

from __future__ import annotations

from datetime import datetime
from functools import singledispatch
from importlib import import_module
from typing import Final

from dynkube._display.cards import Card

_LAYERS: Final = {
    f"dynkube.{layer}": f"dynkube._display.{layer}"
    for layer in (
        "errors",
        "meta",
        "fields",
        "rest",
        "discovery",
        "client",
        "informers",
        "pods",
        "manifests",
        "workloads",
        "inspection",
        "controllers",
    )
}


@singledispatch
def render(obj: object, now: datetime) -> Card:
    """Return the card of an object whose renderer is loaded; :func:`card_of` loads it first.

    A renderer is registered with ``@render.register(TYPE)``. It must be fast, and must not raise because of the data.

    Args:
        obj: the object.
        now: the time for ages.

    Raises:
        TypeError: the type has no renderer.
    """
    raise TypeError(f"no renderer for {type(obj).__qualname__}: register one with @render.register")


def card_of(obj: object, now: datetime) -> Card:
    """Return the card of an object, by the renderer of its type or of the nearest base class.

    Args:
        obj: the object.
        now: the time for ages.

    Raises:
        TypeError: the type has no renderer.
    """
    # All bases: one from a higher layer has precedence, such as Applied over Unstructured.
    for base in type(obj).__mro__:
        layer = ".".join(base.__module__.split(".", 2)[:2])
        if layer in _LAYERS:
            import_module(_LAYERS[layer])
    return render(obj, now)
