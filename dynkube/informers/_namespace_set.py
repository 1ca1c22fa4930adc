"""``NamespaceSet``, and what may be given as ``namespaces=``: names, names that change, or labels of namespaces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, TypeAlias

from dynkube._text.tables import printable
from dynkube.errors import InvalidInput
from dynkube.meta import GVR, LabelSelector
from dynkube.meta._arguments import a_type, brief
from dynkube.meta._path import resource_path

_ANYTHING: Final = GVR("", "v1", "pods")
_MOST: Final = 100_000  # names: far more than a cluster has namespaces
_SHOWN: Final = 3  # names in a text


class NamespaceSet:
    """Names of namespaces, for ``client.informer(..., namespaces=...)``, which may be changed at any time.

    Informers that are given the same set follow it together: for a namespace that is added they list and watch its
    objects, for one that is removed their handlers get the deletions. A set may be used with several clients. Its
    methods do not block, and may be called from any thread. The namespaces need not exist.

    Args:
        names: the names to begin with.

    Raises:
        InvalidInput: a name is not a valid name of a namespace, or there are more than 100,000.
    """

    __slots__ = ("_listeners", "_lock", "_names")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = _checked(names)
        self._lock = threading.RLock()
        self._listeners: dict[Callable[[], None], None] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names that the set contains now."""
        return self._names

    def replace(self, names: Iterable[str]) -> None:
        """Replace all names; namespaces that were in the set before continue undisturbed.

        Raises:
            InvalidInput: as when the set is created. Then the set stays as it was.
        """
        self._become(_checked(names))

    def _become(self, new: frozenset[str]) -> None:
        with self._lock:
            if new == self._names:
                return
            self._names = new
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def add(self, *names: str) -> None:
        """Add names; those that are in the set already make no difference.

        Raises:
            InvalidInput: a name is not a valid name of a namespace. Then none is added.
        """
        more = _checked(names)
        with self._lock:
            self._become(self._names | more)

    def discard(self, *names: str) -> None:
        """Remove names; those that are not in the set make no difference."""
        gone = _checked(names)
        with self._lock:
            self._become(self._names - gone)

    def _listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after each change, in the thread that makes the change."""
        with self._lock:
            self._listeners[listener] = None

    def _unlisten(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.pop(listener, None)

    def __repr__(self) -> str:
        return printable(f"<NamespaceSet {_shortened(self._names)}>")


Namespaces: TypeAlias = Iterable[str] | Mapping[str, str] | LabelSelector | NamespaceSet
"""Namespaces to watch: names, labels that namespaces must have, or a :class:`NamespaceSet`."""
Chosen: TypeAlias = frozenset[str] | LabelSelector | NamespaceSet
"""The same, checked; sets of the same names are equal, as are selectors."""


def as_namespaces(given: Namespaces) -> Chosen:
    """Check what was given as ``namespaces=``.

    Raises:
        InvalidInput: it is neither of the above, or a name is not valid.
        InvalidSelector: the selector does not parse.
    """
    if isinstance(given, NamespaceSet):
        return given
    if isinstance(given, Mapping) and not given:  # computed, perhaps; a list without names selects none
        raise InvalidInput("namespaces={} has no labels: pass LabelSelector() for each namespace, or [] for none")
    if isinstance(given, LabelSelector | Mapping):
        return LabelSelector.parse(given)
    return _checked(given)


def namespaces_text(chosen: Chosen) -> str:
    """Return a short text for logs and tables, which does not change with the names of a set."""
    if isinstance(chosen, NamespaceSet):
        return "a set of namespaces"
    if isinstance(chosen, LabelSelector):
        return f"namespaces with {chosen}" if not chosen.empty else "each namespace"
    return _shortened(chosen)


def check_namespace(namespace: object) -> None:
    """Raise InvalidInput unless it is the name of one namespace, or ``None`` or ``""`` for all."""
    if namespace is not None and not isinstance(namespace, str):
        raise InvalidInput(
            f"namespace is {a_type(namespace)} ({brief(namespace)}): pass the name of one namespace, or namespaces= "
            "for several"
        )
    if namespace:
        resource_path(_ANYTHING, namespace=namespace)


def _shortened(names: frozenset[str]) -> str:
    first = sorted(names)[:_SHOWN]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "") if first else "no namespaces"


def _checked(names: Iterable[str]) -> frozenset[str]:
    given: object = names  # callers are not always type-checked
    if isinstance(given, str):
        raise InvalidInput(
            f"namespaces {given!r} is one string: pass namespace={given!r} for one namespace, a list of names for "
            f"several, or LabelSelector.parse({given!r}) to choose namespaces by their labels"
        )
    if not isinstance(given, Iterable):
        raise InvalidInput(f"namespaces is {a_type(given)}: pass names, a LabelSelector or a NamespaceSet")
    if isinstance(given, frozenset) and len(given) <= _MOST:
        unique = given
    else:
        some = list(islice(given, _MOST + 1))
        if len(some) > _MOST:
            raise InvalidInput(f"namespaces has more than {_MOST:,} names")
        unique = frozenset(map(_name, some))
    for name in unique:
        resource_path(_ANYTHING, namespace=_name(name))  # raises here rather than in a task
    return unique


def _name(name: object) -> str:
    if not (isinstance(name, str) and name):
        given = "an empty string" if name == "" else a_type(name)
        raise InvalidInput(f"namespaces contains {given}: pass names of namespaces")
    return name
