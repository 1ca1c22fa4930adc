"""The filter on namespaces by their labels: it follows the cluster's namespaces while an informer uses it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dynkube.informers._filters import BoundFilter, Filter, FilterContext, NamespaceFollower, Predicate
from dynkube.informers._store import Snapshot
from dynkube.meta import LabelSelector, Unstructured


class NamespaceFilter(Filter):
    """Shows objects in namespaces whose labels match, and follows the namespaces as they change.

    Args:
        selectors: label selectors for namespaces; one that matches is enough. None at all, or an empty
            one, selects every namespace that exists. They are no names: ``"shop"`` asks for a label of that name,
            the namespace ``shop`` is ``"kubernetes.io/metadata.name=shop"``.

    Raises:
        InvalidSelector: one of them does not parse.

    Objects without a namespace are always shown, except namespaces themselves, which are shown if they
    match. The semantics are those of Istio's discovery selectors, except that nothing is lost: a
    namespace that is deleted takes its objects out of sight at once, with a Deleted for each. Until the namespaces
    are known nothing is shown, and an informer that is LIVE otherwise is SYNCING (``FilterPending``).
    """

    __slots__ = ("selectors",)

    def __init__(self, *selectors: str | Mapping[str, str] | LabelSelector) -> None:
        self.selectors: tuple[LabelSelector, ...] = tuple(LabelSelector.parse(selector) for selector in selectors) or (
            LabelSelector.parse(None),
        )

    def bind(self, context: FilterContext) -> BoundFilter:
        """Follows the namespaces of the informer's cluster."""
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
    """Which namespaces match, worked out once per version of the namespaces."""

    __slots__ = ("_namespaces", "_of", "_selectors")

    def __init__(self, namespaces: NamespaceFollower, selectors: tuple[LabelSelector, ...]) -> None:
        self._namespaces = namespaces
        self._selectors = selectors
        # The verdicts travel with the snapshot they belong to: reads on other threads never mix two.
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
