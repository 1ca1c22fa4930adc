"""Mutating webhooks and policies, in one round or two.

If an object has changed, those that were called before are called again, if they ask for it (``reinvocationPolicy``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from dynkube_testing._schemas.correlation import same_json
from dynkube_testing._verbs.admission import Attributes

Item = TypeVar("Item")


class Rounds(Generic[Item]):
    """The calls for one request.

    Args:
        items: Returns what may be called for a request, with a key that is the same in both rounds.
        call: Calls one, and returns the request with the changed object; ``None`` if it does not match.
        called_again: Returns whether an item asks to be called again if the object changes afterwards.
        finish: Called after each round.
    """

    def __init__(
        self,
        items: Callable[[Attributes], Iterable[tuple[object, Item]]],
        call: Callable[[Item, Attributes], Attributes | None],
        called_again: Callable[[Item], bool],
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        self._items = items
        self._call = call
        self._called_again = called_again
        self._finish = finish
        self.changed = False
        self._last: object = None
        self._eligible: list[object] = []  # called, and to be called again if the object changes afterwards
        self._again: set[object] = set()

    def call(self, attributes: Attributes, *, again: bool = False) -> Attributes:
        """Call all that match, and return the request with the changed object.

        With ``again`` those are called that must be called again; others may have changed the object since.
        """
        if again and not same_json(self._last, attributes.obj):
            self._again |= set(self._eligible)
        only = set(self._again) if again else None
        for key, item in self._items(attributes):
            if only is not None and key not in only:
                continue
            result = self._call(item, attributes)
            if result is None:
                continue
            if not same_json(result.obj, attributes.obj):
                self.changed = True
                self._again |= set(self._eligible)
                self._eligible.clear()
            attributes = result
            if self._called_again(item):
                self._eligible.append(key)
        self._finish()
        self._last = attributes.obj
        return attributes
