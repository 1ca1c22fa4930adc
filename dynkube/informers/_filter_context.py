"""The filter context of an informer: re-evaluation, and the cluster's namespaces."""

from __future__ import annotations

from collections.abc import Callable

from dynkube.informers._factory import InformerFactory
from dynkube.informers._followed_namespaces import FollowedNamespaces


class Surroundings:
    """The :class:`FilterContext` of one informer."""

    __slots__ = ("_changed", "_factory", "metadata_only")

    def __init__(
        self, factory: Callable[[], InformerFactory], changed: Callable[[], None], *, metadata_only: bool
    ) -> None:
        self._factory = factory
        self._changed = changed
        self.metadata_only = metadata_only

    def changed(self) -> None:
        """Evaluate the filter again, as its results may have changed."""
        self._changed()

    def follow_namespaces(self) -> FollowedNamespaces:
        """Watch the namespaces of the informer's cluster."""
        return FollowedNamespaces(self._factory(), self._changed)
