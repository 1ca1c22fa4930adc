"""Bad requests are refused with the code, the reason, the words and the causes of kube-apiserver 1.36.

The table was recorded from one, and holds the requests that both answer alike. On purpose, malformed JSON is not in
it: here the position comes behind the real server's words.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dynkube.testing import APIServer

_ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("bad_requests_1_36.json").read_text())
_CONFIGMAPS = "/api/v1/namespaces/shop/configmaps"
_SEED = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: have, namespace: shop}, data: {a: "1"}}
---
{apiVersion: shop.example/v1, kind: Widget, metadata: {name: have, namespace: shop}, spec: {size: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: shop}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
"""


@pytest.fixture
async def shop() -> AsyncIterator[httpx2.AsyncClient]:
    async with APIServer() as server:
        server.load(_SEED)
        client = httpx2.AsyncClient(transport=server.transport(), base_url=server.url)
        async with client:
            yield client


def _name(row: dict[str, Any]) -> str:
    return f"{row['request'].replace('/api/v1/namespaces/shop', '')[:70]} {row.get('body') or ''}"[:110]


@pytest.mark.parametrize("row", _ROWS, ids=_name)
async def test_a_bad_request_is_refused_as_by_a_real_server(shop: httpx2.AsyncClient, row: dict[str, Any]) -> None:
    method, _, target = row["request"].partition(" ")
    headers = {"Accept": "application/json", **row.get("headers", {})}
    if row.get("type"):
        headers["Content-Type"] = row["type"]

    answer = await shop.request(method, target, content=row.get("body"), headers=headers)

    status = answer.json()
    told = (answer.status_code, status.get("reason", ""), status["message"], status.get("details"))
    assert told == (row["code"], row["reason"], row["message"], row.get("details"))
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", row["code"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            '{"kind":\n oops}',
            "invalid character 'o' looking for beginning of value at line 2, column 2 ({\"kind\":\n oops})",
        ),
        ("{} trailing", "invalid character 't' after top-level value at line 1, column 4 ({} trailing)"),
        ('{"a": NaN}', "invalid character 'N' looking for beginning of value at line 1, column 7"),
        ('{"a": tru}', "invalid character '}' in literal true (expecting 'e') at line 1, column 10"),
        ('{"a" 1}', "invalid character '1' after object key at line 1, column 6"),
        ('{"a": 1 "b"}', "invalid character '\"' after object key:value pair at line 1, column 9"),
        ('{"a": [1 2]}', "invalid character '2' after array element at line 1, column 10"),
        ("{a: 1}", "invalid character 'a' looking for beginning of object key string at line 1, column 2"),
        ('{"a": "x\ny"}', "invalid character '\\n' in string literal at line 1, column 9"),
        ('{"a": "\\q"}', "invalid character 'q' in string escape code at line 1, column 9"),
        ('{"a": 1', 'unexpected end of JSON input ({"a": 1)'),
        ("", "unexpected end of JSON input (<empty>)"),
        ("[" * 20_000, "invalid character '[' exceeded max depth"),
    ],
)
async def test_malformed_json_is_told_in_the_words_of_go_with_its_position(
    shop: httpx2.AsyncClient, body: str, told: str
) -> None:
    answer = await shop.post(_CONFIGMAPS, content=body, headers={"Content-Type": "application/json"})

    expected = (
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
    )
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(expected + told)


async def test_malformed_yaml_is_told_with_its_position(shop: httpx2.AsyncClient) -> None:
    answer = await shop.post(_CONFIGMAPS, content="a: b: c", headers={"Content-Type": "application/yaml"})

    assert answer.json()["message"] == (
        "the object provided is unrecognized (must be of type ConfigMap): "
        "yaml: line 1, column 5: mapping values are not allowed in this context (613a20623a2063)"
    )


async def test_bytes_that_are_no_utf8_become_replacement_characters(shop: httpx2.AsyncClient) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"x": "\xff"}}'

    answer = await shop.post(_CONFIGMAPS, content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["data"]) == (201, {"x": "\ufffd"})


@pytest.mark.parametrize("path", ["/have/status/x", "//have", "/a%2Fb", "/have/nope"])
async def test_what_is_no_path_of_a_resource_is_a_404(shop: httpx2.AsyncClient, path: str) -> None:
    answer = await shop.get(f"{_CONFIGMAPS}{path}")

    assert (answer.status_code, answer.json()["reason"]) == (404, "NotFound")
    assert answer.json()["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("name", "problem"), [("%2e%2e", "\"..\": may not be '..'"), ("a%25b", "\"a%b\": may not contain '%'")]
)
async def test_a_name_that_is_no_path_segment_is_a_400(shop: httpx2.AsyncClient, name: str, problem: str) -> None:
    answer = await shop.get(httpx2.URL(f"http://embedded.invalid{_CONFIGMAPS}/{name}"))

    assert (answer.status_code, answer.json()["message"]) == (400, f"Name parameter invalid: {problem}")


async def test_of_a_parameter_given_twice_the_first_counts_and_a_malformed_one_is_passed_over(
    shop: httpx2.AsyncClient,
) -> None:
    for query in ("limit=1&limit=x", "labelSelector=%zz", "limit=1;2"):
        assert (await shop.get(f"{_CONFIGMAPS}?{query}")).status_code == 200


async def test_a_json_patch_may_have_ten_thousand_operations(shop: httpx2.AsyncClient) -> None:
    operation = {"op": "test", "path": "/metadata/name", "value": "have"}
    headers = {"Content-Type": "application/json-patch+json"}

    answer = await shop.patch(f"{_CONFIGMAPS}/have", content=json.dumps([operation] * 10_001), headers=headers)

    assert (answer.status_code, answer.json()["reason"]) == (413, "RequestEntityTooLarge")
    assert answer.json()["message"] == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )
