"""Values that are not JSON are rejected with their path, and never encoded as something else."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidObject
from dynkube.meta import Unstructured
from dynkube.meta._encode import json_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"spec": {"ratio": math.nan}}, ".spec.ratio is nan"),
        ({"spec": {"items": [1.0, {"a/b": math.inf}]}}, '.spec.items[1]["a/b"] is inf'),
        ({"a": None, "b": (None, -math.inf)}, ".b[1] is -inf"),
        (MappingProxyType({"a": math.nan}), ".a is nan"),
    ],
)
def test_nan_and_infinity_are_rejected_with_their_path(value: Any, message: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        Unstructured(value)

    assert f"cannot be written as JSON: {message}, which JSON cannot represent" in str(caught.value)


@given(VALUES)
def test_encoded_values_decode_to_the_original(value: Any) -> None:
    try:
        encoded = json_of(value, "it")
    except InvalidObject:
        return

    assert json.loads(encoded) == value


@pytest.mark.parametrize("wrong", [math.nan, object(), "\ud800"])
def test_changed_objects_are_validated_as_well(wrong: object) -> None:
    obj = Unstructured({"kind": "A", "spec": {"a": 1}})

    with pytest.raises(InvalidObject, match="the object cannot be written as JSON"):
        obj.evolve(spec={"a": wrong})
    with pytest.raises(InvalidObject, match="the object cannot be written as JSON"):
        obj.transform(["spec", "a"], wrong)
