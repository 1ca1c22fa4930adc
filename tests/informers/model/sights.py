"""Filters by name, each in two versions: dynkube's filter, and the machine's own decision."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from dynkube import Filter, JSONPathFilter, LabelFilter, NamespaceFilter, PredicateFilter
from tests.informers.model.truth import Thing, Truth


class Sight:
    """Decides whether an object is visible; composes as filters do."""

    def __init__(self, sees: Callable[[Thing], bool]) -> None:
        self.sees = sees

    def __and__(self, other: Sight) -> Sight:
        return Sight(lambda thing: self.sees(thing) and other.sees(thing))

    def __or__(self, other: Sight) -> Sight:
        return Sight(lambda thing: self.sees(thing) or other.sees(thing))

    def __invert__(self) -> Sight:
        return Sight(lambda thing: not self.sees(thing))


class Vocabulary:
    """The names in filter expressions, such as ``"team & ~(chosen | big)"``.

    ``team`` looks at labels, ``chosen`` at the namespace's labels, ``big`` at a field, and ``named`` calls a function
    that looks at :attr:`letters`, which may change.
    """

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.letters = "ab"
        self.named = PredicateFilter(lambda obj: obj.name in self.letters)
        self._filters: dict[str, Filter] = {
            "team": LabelFilter("team=x"),
            "chosen": NamespaceFilter("chosen=yes"),
            "big": JSONPathFilter("{.metadata.annotations.size}", equals="big"),
            "named": self.named,
        }
        self._sights = {
            "team": Sight(lambda thing: thing.labels.get("team") == "x"),
            "chosen": Sight(self._in_chosen_namespace),
            "big": Sight(lambda thing: thing.size == "big"),
            "named": Sight(lambda thing: thing.key[1] in self.letters),
        }

    def filter(self, expression: str) -> Filter | None:
        """Return the filter to pass to dynkube."""
        if expression == "all":
            return None
        found: Filter = eval(expression, {}, self._filters)
        return found

    def sees(self, expression: str, thing: Thing) -> bool:
        """Return whether that filter has to show the object now."""
        if expression == "all":
            return True
        sight: Sight = eval(expression, {}, self._sights)
        return sight.sees(thing)

    def _in_chosen_namespace(self, thing: Thing) -> bool:
        namespace, name = thing.key
        if not namespace and thing.resource != "namespaces":
            return True
        labels = self._truth.namespace_labels(namespace or name)
        return labels is not None and labels.get("chosen") == "yes"


_WORDS = st.sampled_from(["team", "chosen", "big", "named"])

EXPRESSIONS = st.just("all") | st.recursive(
    _WORDS,
    lambda part: (
        st.builds("~{}".format, part)
        | st.builds("({} & {})".format, part, part)
        | st.builds("({} | {})".format, part, part)
    ),
    max_leaves=3,
)
"""Filter expressions, simple ones first."""
