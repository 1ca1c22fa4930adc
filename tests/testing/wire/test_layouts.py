"""Layouts of documents: compact JSON, indented JSON, YAML; lists may be written in pieces."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta import GVR
from dynkube_testing import APIServer
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._wire.layouts import JSON, YAML, Layout, Pretty

LAYOUTS: list[Layout] = [JSON(), Pretty(), YAML()]
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**31), 2**31)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abnz"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: type(layout).__name__)
@given(items=st.lists(values, max_size=3), names=st.permutations(["items", "kind", "metadata"]), data=st.data())
def test_a_list_written_in_pieces_equals_the_list_written_at_once(
    layout: Layout, items: list[Any], names: list[str], data: st.DataObject
) -> None:
    shown = names[: data.draw(st.integers(names.index("items") + 1, 3))]
    head = {name: None if name == "items" else {"about": name} for name in shown}

    pieces = b"".join(layout.items(head, "items", map(msgspec.json.encode, items)))

    assert pieces == layout.document(msgspec.json.encode({**head, "items": items}))


def test_compact_json_and_yaml_end_with_a_newline_and_indented_json_does_not() -> None:
    assert [layout.document(b'{"a":[1]}') for layout in LAYOUTS] == [
        b'{"a":[1]}\n',
        b'{\n  "a": [\n    1\n  ]\n}',
        b"a:\n- 1\n",
    ]


async def test_a_long_list_as_yaml_is_complete(server: APIServer, client: httpx2.AsyncClient) -> None:
    names = [f"c{number:03}" for number in range(100)]
    for name in names:
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "on"}})

    response = await client.get(CONFIGMAPS, headers={"Accept": "application/yaml"})

    found = yaml.safe_load(response.text)
    assert response.headers["content-type"] == "application/yaml"
    assert [item["metadata"]["name"] for item in found["items"]] == names
    assert {item["data"]["x"] for item in found["items"]} == {"on"}


async def test_browsers_get_indented_json(client: httpx2.AsyncClient) -> None:
    browser = {"User-Agent": "Mozilla/5.0 (X11)"}
    responses = [
        await client.get(CONFIGMAPS, headers=browser),
        await client.get(f"{CONFIGMAPS}/none", headers=browser),
        await client.get(CONFIGMAPS, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io", **browser}),
    ]

    for response in responses:
        assert response.text == json.dumps(response.json(), indent=2)
    compact = await client.get(CONFIGMAPS, params={"pretty": "false"}, headers=browser)
    assert compact.text.count("\n") == 1


async def test_error_responses_can_be_yaml(client: httpx2.AsyncClient) -> None:
    response = await client.get(f"{CONFIGMAPS}/none", headers={"Accept": "application/yaml"})

    assert response.headers["content-type"] == "application/yaml"
    assert yaml.safe_load(response.text)["message"] == 'configmaps "none" not found'


async def test_lists_have_their_keys_in_the_order_of_a_real_server(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    gvr = GVR("example.com", "v1", "widgets")
    server.register(Kind(gvr=gvr, kind="Widget", namespaced=False, crd_uid="1"))

    built_in = await client.get(CONFIGMAPS)
    custom = await client.get("/apis/example.com/v1/widgets")

    assert list(built_in.json()) == ["kind", "apiVersion", "metadata", "items"]
    assert list(custom.json()) == ["apiVersion", "items", "kind", "metadata"]
