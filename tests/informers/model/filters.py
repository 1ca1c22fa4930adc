"""Filters by name, each in two versions: dynkube's filter, and the machine's own decision."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from dynkube import Filter, JSONPathFilter, LabelFilter, NamespaceFilter, PredicateFilter
from tests.informers.model.expected_state import ExpectedState, StoredObject


class ExpectedFilter:
    """Decides whether an object is visible; composes as filters do."""

    def __init__(self, matches: Callable[[StoredObject], bool]) -> None:
        self.matches = matches

    def __and__(self, other: ExpectedFilter) -> ExpectedFilter:
        return ExpectedFilter(lambda stored: self.matches(stored) and other.matches(stored))

    def __or__(self, other: ExpectedFilter) -> ExpectedFilter:
        return ExpectedFilter(lambda stored: self.matches(stored) or other.matches(stored))

    def __invert__(self) -> ExpectedFilter:
        return ExpectedFilter(lambda stored: not self.matches(stored))


class NamedFilters:
    """The names in filter expressions, such as ``"team & ~(chosen | big)"``.

    ``team`` looks at labels, ``chosen`` at the namespace's labels, ``big`` at a field, and ``named`` calls a function
    that looks at :attr:`letters`, which may change.
    """

    def __init__(self, expected_state: ExpectedState) -> None:
        self._expected_state = expected_state
        self.letters = "ab"
        self.named = PredicateFilter(lambda obj: obj.name in self.letters)
        self._filters: dict[str, Filter] = {
            "team": LabelFilter("team=x"),
            "chosen": NamespaceFilter("chosen=yes"),
            "big": JSONPathFilter("{.metadata.annotations.size}", equals="big"),
            "named": self.named,
        }
        self._expected_filters = {
            "team": ExpectedFilter(lambda stored: stored.labels.get("team") == "x"),
            "chosen": ExpectedFilter(self._in_chosen_namespace),
            "big": ExpectedFilter(lambda stored: stored.size == "big"),
            "named": ExpectedFilter(lambda stored: stored.key[1] in self.letters),
        }

    def filter(self, expression: str) -> Filter | None:
        """Return the filter to pass to dynkube."""
        if expression == "all":
            return None
        found: Filter = eval(expression, {}, self._filters)
        return found

    def matches(self, expression: str, stored: StoredObject) -> bool:
        """Return whether that filter has to show the object now."""
        if expression == "all":
            return True
        expected: ExpectedFilter = eval(expression, {}, self._expected_filters)
        return expected.matches(stored)

    def _in_chosen_namespace(self, stored: StoredObject) -> bool:
        namespace, name = stored.key
        if not namespace and stored.resource != "namespaces":
            return True
        labels = self._expected_state.namespace_labels(namespace or name)
        return labels is not None and labels.get("chosen") == "yes"


_NAMES = st.sampled_from(["team", "chosen", "big", "named"])

EXPRESSIONS = st.just("all") | st.recursive(
    _NAMES,
    lambda part: (
        st.builds("~{}".format, part)
        | st.builds("({} & {})".format, part, part)
        | st.builds("({} | {})".format, part, part)
    ),
    max_leaves=3,
)
"""Filter expressions, simple ones first."""
