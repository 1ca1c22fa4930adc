"""The server's and the client's label selectors are separate implementations; they must agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import BadRequest, InvalidSelector
from dynkube.meta import LabelSelector
from dynkube_testing._store.selectors import parse_labels

_KEYS = st.sampled_from(["a", "b", "example.com/c"])
_VALUES = st.sampled_from(["", "x", "y", "1", "20"])
_LABELS = st.dictionaries(_KEYS, _VALUES)
_SETS = st.lists(_VALUES, min_size=1, max_size=3).map(",".join)
_TERMS = st.one_of(
    st.tuples(_KEYS, st.sampled_from(["=", "==", "!=", " = "]), _VALUES).map("".join),
    st.tuples(_KEYS, st.sampled_from([" in ", " notin "]), _SETS).map(lambda term: f"{term[0]}{term[1]}({term[2]})"),
    _KEYS,
    _KEYS.map("!{}".format),
    st.tuples(_KEYS, st.sampled_from([">", "<"]), st.sampled_from(["0", "5", "30"])).map("".join),
)
_SELECTORS = st.lists(_TERMS, max_size=3).map(",".join)


@given(_SELECTORS, _LABELS)
def test_server_and_client_select_the_same_labels(text: str, labels: dict[str, str]) -> None:
    server = all(requirement.matches(labels) for requirement in parse_labels(text))

    assert server == LabelSelector.parse(text).matches(labels)


@given(_SELECTORS)
def test_the_server_parses_selectors_that_the_client_writes(text: str) -> None:
    written = str(LabelSelector.parse(text))

    assert set(parse_labels(written)) == set(parse_labels(text))


@pytest.mark.parametrize(
    "text", ["a=b=c", "a in b", "a in (b", "(a)", "a b", "=a", "a,,b", "!", "-a", "a=b c", "a>x", "a notin"]
)
def test_server_and_client_reject_the_same_selectors(text: str) -> None:
    with pytest.raises(BadRequest, match=r"found|Invalid value"):
        parse_labels(text)
    with pytest.raises(InvalidSelector):
        LabelSelector.parse(text)
