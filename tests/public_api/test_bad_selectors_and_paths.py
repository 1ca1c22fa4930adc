"""Malformed selectors, JSONPaths, filters and indexes are rejected by the call, with the position."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

import dynkube
from dynkube import JSONPathFilter, LabelFilter, NamespaceFilter
from dynkube.errors import BadRequest, InvalidInput, InvalidJSONPath, InvalidSelector
from dynkube_testing import APIServer

LABEL_SELECTORS: list[tuple[object, str]] = [
    ("a in b", r"'a in b': expected '\(' and the values, like '\(a,b\)', found 'b'"),
    ("a=b=c", "expected ',' or the end, found '='"),
    ("a>b", "operator '>' requires a 64-bit integer, not 'b'"),
    ("a/b/c=d", r"label key 'a/b/c' has more than one '/'; expected NAME or DNS\.PREFIX/NAME"),
    ({"a": 1}, "the value of label 'a' is 1, not a string: quote it"),
    ({"matchExpressions": [{"key": "a", "operator": "Foo"}]}, r"matchExpressions\[0\]: operator is 'Foo', not one of"),
    (["a=b"], "label selector is a list: pass a string like 'app=web'"),
]
FIELD_SELECTORS: list[tuple[object, str]] = [
    ("metadata.name", "has no operator: write FIELD=VALUE or FIELD!=VALUE"),
    ("=x", "no field name before '=': write FIELD=VALUE"),
    ({"metadata.name": 1}, "the value of field 'metadata.name' is 1, not a string: quote it"),
    (3, r"field selector is an int: pass a string like 'metadata\.name=web'"),
]
JSON_PATHS: list[tuple[object, str]] = [
    ("{.spec", "expected '}' at the end of the expression, found the end"),
    ("{.a[}", "expected an index, a slice"),
    ("", r"the expression is empty: write a path like '{\.metadata\.name}'"),
    ("{.a}{.b}", "expected a single expression, found several"),
    (3, "JSONPath is an int: pass a string like"),
]


@pytest.mark.parametrize(("selector", "message"), LABEL_SELECTORS)
async def test_a_malformed_label_selector_is_rejected_by_every_call(
    server: APIServer, client: dynkube.Client, selector: str, message: str
) -> None:
    uses: list[Callable[[], object]] = [
        lambda: client.informer("pods.v1", label_selector=selector),
        lambda: client.informer("pods.v1").list(label_selector=selector),
        lambda: client.resource("pods").watch(label_selector=selector),
        lambda: LabelFilter(selector),
        lambda: NamespaceFilter(selector),
    ]
    for use in uses:
        with pytest.raises(InvalidSelector, match=message):
            use()
    with pytest.raises(InvalidSelector, match=message):
        await client.resource("pods").list(label_selector=selector)
    assert not server.requests


@pytest.mark.parametrize(("selector", "message"), FIELD_SELECTORS)
async def test_a_malformed_field_selector_is_rejected_by_every_call(
    server: APIServer, client: dynkube.Client, selector: str, message: str
) -> None:
    with pytest.raises(InvalidSelector, match=message):
        client.informer("pods.v1", field_selector=selector)
    with pytest.raises(InvalidSelector, match=message):
        await client.resource("pods").list(field_selector=selector)
    assert not server.requests


async def test_an_unsupported_field_label_is_named_in_error_and_state(client: dynkube.Client) -> None:
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.foo"):
        await client.resource("pods").list(field_selector="spec.foo=x")

    async with (
        client.informer("pods.v1", field_selector="spec.foo=x") as bad,
        client.informer("configmaps.v1") as good,
    ):
        with trio.fail_after(60):
            state = await bad.wait_state(dynkube.DEGRADED)
            await good.wait_state(dynkube.LIVE)

        assert state.reason == "BadRequest"
        assert "field label not supported: spec.foo" in state.message
        assert good.state.phase is dynkube.LIVE


@pytest.mark.parametrize(("path", "message"), JSON_PATHS)
async def test_a_malformed_jsonpath_is_rejected_by_every_call(client: dynkube.Client, path: str, message: str) -> None:
    uses: list[Callable[[], object]] = [
        lambda: JSONPathFilter(path),
        lambda: client.informer("pods.v1", indexes={"x": path}),
        lambda: client.informer("pods.v1").add_index("x", path),
        lambda: dynkube.JSONPath.compile(path),
    ]
    for use in uses:
        with pytest.raises(InvalidJSONPath, match=message):
            use()


@pytest.mark.parametrize("filter_", ["app=web", {"app": "web"}, 3, [lambda obj: True]])
async def test_an_invalid_filter_is_rejected_and_the_old_one_is_kept(
    client: dynkube.Client, filter_: LabelFilter
) -> None:
    message = r"filter is an? \w+: pass a Filter \(like LabelFilter\('app=web'\)\), a function of the object, or None"
    old = LabelFilter("a=b")

    async with client.informer("pods.v1", filter=old) as pods:
        with pytest.raises(InvalidInput, match=message):
            pods.set_filter(filter_)
        assert pods.filter == old
    with pytest.raises(InvalidInput, match=message):
        client.informer("pods.v1", filter=filter_)
    with pytest.raises(InvalidInput, match=message):
        _ = old & filter_


async def test_the_error_for_an_unknown_index_lists_the_known_ones(client: dynkube.Client) -> None:
    async with client.informer("pods.v1", indexes={"node": "{.spec.nodeName}"}) as pods:
        with pytest.raises(InvalidInput, match=r"no index 'nodes' \(known: node\); pass indexes="):
            pods.by_index("nodes", "worker-1")
