"""The filter by labels of namespaces; watches them while an informer uses it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dynkube.informers._cache.store import Snapshot
from dynkube.informers._filters.filters import BoundFilter, Filter, FilterContext, NamespaceFollower, Predicate
from dynkube.meta import LabelSelector, Unstructured


class NamespaceFilter(Filter):
    """Shows objects in namespaces whose labels match, and watches the namespaces.

    Cluster-scoped objects are always shown, except namespaces, which are shown if they match. Works like Istio's
    discovery selectors, except that no delete is lost: when a namespace is deleted, its objects are hidden at once,
    with a ``Deleted`` event for each. Until the namespaces have synced, no objects are shown, and the informer is
    SYNCING with reason ``FilterPending`` instead of LIVE.

    Args:
        selectors: label selectors for namespaces, of which at least one must match. No selector, or an empty one,
            selects every namespace that exists. Strings are selectors, not names: ``"shop"`` selects namespaces that
            have a label ``shop``; for the namespace ``shop`` use ``"kubernetes.io/metadata.name=shop"``.

    Raises:
        InvalidSelector: a selector does not parse.
    """

    __slots__ = ("selectors",)

    def __init__(self, *selectors: str | Mapping[str, str] | LabelSelector) -> None:
        self.selectors: tuple[LabelSelector, ...] = tuple(LabelSelector.parse(selector) for selector in selectors) or (
            LabelSelector.parse(None),
        )

    def _bind(self, context: FilterContext) -> BoundFilter:
        """Watch the namespaces of the informer's cluster."""
        namespaces = context.follow_namespaces()
        verdicts = _NamespaceVerdicts(namespaces, self.selectors)
        return BoundFilter(
            verdicts.matches,
            lambda: namespaces.synced,
            lambda: "" if namespaces.synced else namespaces.pending,
            namespaces.close,
            verdicts.at_once,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamespaceFilter) and self.selectors == other.selectors

    def __hash__(self) -> int:
        return hash(self.selectors)

    def __repr__(self) -> str:
        return f"NamespaceFilter({', '.join(repr(str(selector)) for selector in self.selectors)})"


class _NamespaceVerdicts:
    """Which namespaces match: computed once for each version of the cache of namespaces, not for each object."""

    __slots__ = ("_namespaces", "_of", "_selectors")

    def __init__(self, namespaces: NamespaceFollower, selectors: tuple[LabelSelector, ...]) -> None:
        self._namespaces = namespaces
        self._selectors = selectors
        # Results are stored with the snapshot they belong to, so that reads on other threads never mix two.
        self._of: tuple[Snapshot | None, dict[str, bool]] = (None, {})

    def at_once(self) -> Predicate:
        snapshot = self._namespaces.snapshot
        known, verdicts = self._of
        if known is not snapshot:
            verdicts = {}
            self._of = (snapshot, verdicts)
        return partial(self._matches, snapshot, verdicts)

    def matches(self, obj: Unstructured) -> bool:
        return self.at_once()(obj)

    def _matches(self, snapshot: Snapshot, verdicts: dict[str, bool], obj: Unstructured) -> bool:
        name = obj.namespace
        if not name:
            return not (obj.kind == "Namespace" and obj.api_version == "v1") or self._selected(obj.labels)
        verdict = verdicts.get(name)
        if verdict is None:
            namespace = snapshot.get(("", name))
            verdict = verdicts[name] = namespace is not None and self._selected(namespace.labels)
        return verdict

    def _selected(self, labels: Mapping[str, str]) -> bool:
        return any(selector.matches(labels) for selector in self._selectors)
