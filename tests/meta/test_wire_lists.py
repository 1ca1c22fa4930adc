"""Splitting of a list into objects while it arrives."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import ProtocolError
from dynkube.meta import Unstructured, UnstructuredList
from dynkube.meta._wire.lists import ListDecoder
from dynkube.meta._wire.objects import ObjectDecoder

LEAF = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8)
BODY = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
LOOKALIKES = st.lists(
    st.sampled_from(
        [
            {"apiVersion": "x.dev/v1", "kind": "Widget", "metadata": {"name": "nested"}},
            {"apiVersion": "x.dev/v1", "fieldsType": "FieldsV1"},
            {"metadata": {"name": "nested"}},
            {"items": []},
        ]
    ),
    max_size=5,
)


@st.composite
def custom_objects(draw: st.DrawFn) -> dict[str, Any]:
    extra = draw(st.dictionaries(st.sampled_from(["data", "spec", "status"]), BODY, max_size=3))
    metadata = {"managedFields": draw(LOOKALIKES), "name": draw(st.text("abc-", min_size=1, max_size=6))}
    return {"apiVersion": "x.dev/v1", **extra, "kind": "Widget", "metadata": metadata, "refs": draw(LOOKALIKES)}


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    metadata = {"name": draw(st.text("abc-", min_size=1, max_size=6)), "ownerReferences": draw(LOOKALIKES)}
    return {"metadata": metadata, "spec": draw(BODY), "templates": draw(LOOKALIKES)}


def split(raw: bytes, size: int) -> tuple[list[Unstructured], UnstructuredList]:
    decoder = ListDecoder(ObjectDecoder())
    items = [item for at in range(0, len(raw), size) for item in decoder.feed(raw[at : at + size])]
    last, listing = decoder.finish()
    return items + last, listing


@given(items=st.lists(custom_objects(), max_size=6), size=st.integers(1, 400))
def test_custom_objects_keep_the_bytes_of_the_server(items: list[dict[str, Any]], size: int) -> None:
    metadata = {"continue": "abc", "remainingItemCount": 7, "resourceVersion": "42"}
    document = {"apiVersion": "x.dev/v1", "items": items, "kind": "WidgetList", "metadata": metadata}

    got, listing = split(msgspec.json.encode(document), size)

    assert [item.json for item in got] == [msgspec.json.encode(item) for item in items]
    assert (listing.resource_version, listing.continue_token, listing.remaining_item_count) == ("42", "abc", 7)


@given(items=st.lists(pods(), max_size=6), size=st.integers(1, 400))
def test_built_in_objects_get_the_kind_of_their_list(items: list[dict[str, Any]], size: int) -> None:
    document = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items}

    got, listing = split(msgspec.json.encode(document), size)

    assert [item.to_dict() for item in got] == [{"apiVersion": "v1", "kind": "Pod", **item} for item in items]
    assert listing.resource_version == "9"


@given(items=st.lists(custom_objects(), max_size=4), size=st.integers(1, 400), indent=st.sampled_from([None, 2]))
def test_a_list_in_another_json_layout_is_decoded(items: list[dict[str, Any]], size: int, indent: int) -> None:
    document = {"kind": "WidgetList", "apiVersion": "x.dev/v1", "metadata": {"resourceVersion": "1"}, "items": items}

    got, _ = split(json.dumps(document, indent=indent).encode(), size)

    assert [item.to_dict() for item in got] == items


def test_most_objects_are_decoded_before_the_list_ends() -> None:
    items = [{"apiVersion": "x.dev/v1", "kind": "Widget", "metadata": {"name": f"w{n}"}} for n in range(10)]
    raw = msgspec.json.encode({"apiVersion": "x.dev/v1", "items": items, "kind": "WidgetList", "metadata": {}})
    decoder = ListDecoder(ObjectDecoder())

    early = decoder.feed(raw)

    assert [item.name for item in early] == [f"w{n}" for n in range(9)]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a Kubernetes list"),
        (b"<html>", "not a Kubernetes list"),
        (b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}},{"meta', "truncated"),
        (b'{"kind":"Pod","apiVersion":"v1","metadata":{}}', "expected a list, the server returned a Pod"),
    ],
)
def test_a_response_that_is_not_a_list_is_an_error(raw: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        split(raw, 10)


@pytest.mark.parametrize("items", [b"[]", b"null"])
def test_an_empty_list_is_decoded(items: bytes) -> None:
    got, listing = split(
        b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":' + items + b"}", 7
    )

    assert (got, listing.resource_version, listing.kind) == ([], "3", "PodList")


@pytest.mark.parametrize("where", ["item", "before the items"])
def test_a_very_long_item_or_head_is_buffered_in_pieces(where: str) -> None:
    small, pad, chunk = b'{"apiVersion":"v1","kind":"X","metadata":{"name":"s"}}', b'","pad":"', b"x" * (1 << 18)
    start, between, end = (
        b'{"apiVersion":"v1","kind":"XList","metadata":{"resourceVersion":"7"},"p":"',
        b'","items":[',
        b"]}",
    )
    long = [pad] + [chunk] * 80  # 20 MB, more than is buffered in one piece
    item = [small[:-2], b',"p":"', *long, b'"}}']
    before = [start, *(long[1:] if where != "item" else []), between, small, b","]
    decoder = ListDecoder(ObjectDecoder())

    parts = [*before, *(item if where == "item" else [small]), b",", small, end]
    found = [obj for part in parts for obj in decoder.feed(part)]
    last, listing = decoder.finish()

    assert [obj.name for obj in [*found, *last]] == ["s"] * 3
    assert (listing.resource_version, decoder._buffer) == ("7", b"")
