"""Hypothesis strategies for paths, sets of fields, and objects."""

from __future__ import annotations

from hypothesis import strategies as st

from dynkube.fields import Field, FieldPath, FieldSet, ItemIndex, ItemKey, ItemValue, Step

# Without lone surrogates, which JSON cannot contain.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = (
    st.sampled_from(["spec", "replicas", "app.kubernetes.io/name", "a[0]", "$ref", "", 'q"\\', "<&>", "ключ"]) | texts
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))

steps: st.SearchStrategy[Step] = (
    names.map(Field)
    | st.dictionaries(names, scalars, min_size=1, max_size=3).map(ItemKey)
    | values.map(ItemValue)
    | st.integers(0, 10**6).map(ItemIndex)
)
paths = st.lists(steps, min_size=1, max_size=5).map(FieldPath)

# Only a few steps, so that paths often share a prefix.
_near = st.sampled_from([Field("a"), Field("b"), ItemKey({"name": "x"}), ItemValue("x")])
near_paths = st.lists(_near, min_size=1, max_size=4).map(FieldPath)
field_sets = st.lists(near_paths | paths, max_size=8).map(FieldSet)
