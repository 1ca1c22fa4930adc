"""Formatting of cells for several kinds: labels, selectors, containers, lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dynkube_testing._tables.fields import Fields

NONE = "<none>"
UNSET = "<unset>"

_OPERATORS = {"In": "in", "NotIn": "notin"}


def labels_text(labels: Mapping[str, object]) -> str:
    """Format labels, or a selector without expressions, as ``a=1,b=2``.

    The result is ``<none>`` if there are none.
    """
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def selector_text(obj: Fields, path: str, *, empty: str = NONE) -> str:
    """Format a ``metav1.LabelSelector`` as ``app=web,tier in (a,b)``.

    Args:
        obj: The object that contains the selector.
        path: The path of the selector in ``obj``.
        empty: The result for an empty or missing selector.
    """
    selector = obj.at(path)
    terms = [(key, f"{key}={value}") for key, value in selector.mapping("matchLabels").items()]
    terms += [(term.text("key"), _requirement(term)) for term in selector.each("matchExpressions")]
    # Requirements are sorted by key.
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0])) or empty


def _requirement(term: Fields) -> str:
    key, operator = term.text("key"), term.text("operator")
    match operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
    return f"{key} {_OPERATORS.get(operator, operator)} ({','.join(sorted(term.texts('values')))})"


def containers_text(obj: Fields, path: str) -> tuple[str, str]:
    """Return names and images of the containers in the pod spec at ``path``."""
    containers = obj.each(f"{path}.containers")
    return ",".join(each.text("name") for each in containers), ",".join(each.text("image") for each in containers)


def shortened(values: Sequence[str], shown: int = 3, *, separator: str = ",") -> str:
    """Join the first values, and append the number of the others."""
    text = separator.join(values[:shown])
    return f"{text} + {len(values) - shown} more..." if len(values) > shown else text


def addresses_text(ingresses: Iterable[Fields]) -> str:
    """Join the addresses of a load balancer status, sorted and without duplicates."""
    return ",".join(sorted({each.text("ip") or each.text("hostname") for each in ingresses} - {""}))
