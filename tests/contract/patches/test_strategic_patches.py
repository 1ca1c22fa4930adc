"""Strategic merge patches: lists with merge keys, sets, and directives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import APIError
from tests.contract.cluster import STRATEGIC, Cluster
from tests.contract.objects import JSONObject, config

# For each kind an object, and patches of it with the resulting object or the error.
RECORDED = json.loads(Path(__file__).with_name("strategic.json").read_text())


@pytest.fixture
async def template(cluster: Cluster) -> JSONObject:
    spec = {
        "containers": [
            {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "side", "image": "side:1"},
        ],
        "nodeSelector": {"disk": "ssd"},
    }
    body = {"metadata": {"name": "p", "finalizers": ["a.b/c"]}, "template": {"spec": spec}}
    return await cluster.create("podtemplates", body)


async def test_a_strategic_patch_merges_lists_by_key(cluster: Cluster, template: JSONObject) -> None:
    env = [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]
    spec = {"containers": [{"name": "app", "env": env}], "nodeSelector": {"zone": "a"}}

    response = await cluster.patch("podtemplates", "p", {"template": {"spec": spec}}, STRATEGIC)

    patched = response["template"]["spec"]
    app, side = patched["containers"]
    assert (app["image"], app["env"]) == ("app:1", [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}])
    assert side == template["template"]["spec"]["containers"][1]
    assert patched["nodeSelector"] == {"disk": "ssd", "zone": "a"}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"$patch": "replace", "zone": "a"}, {"zone": "a"}),
        ({"$retainKeys": ["zone"], "zone": "a"}, {"zone": "a"}),
        ({"$patch": "delete"}, {}),
        ({"disk": None, "zone": "a"}, {"zone": "a"}),
    ],
)
async def test_strategic_directives_replace_retain_and_delete(
    cluster: Cluster, template: JSONObject, patch: JSONObject, expected: JSONObject
) -> None:
    body = {"template": {"spec": {"nodeSelector": patch}}}

    patched = await cluster.patch("podtemplates", "p", body, STRATEGIC)

    assert patched["template"]["spec"].get("nodeSelector", {}) == expected


async def test_directives_replace_lists_and_delete_items_of_sets(cluster: Cluster, template: JSONObject) -> None:
    patch = {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"], "finalizers": ["d.e/f"]},
        "template": {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "x"}]}},
    }

    patched = await cluster.patch("podtemplates", "p", patch, STRATEGIC)

    assert patched["metadata"]["finalizers"] == ["d.e/f"]
    assert [each["name"] for each in patched["template"]["spec"]["containers"]] == ["only"]


async def test_null_as_a_strategic_patch_changes_nothing(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config())

    assert await cluster.patch("configmaps", "a", "null", STRATEGIC) == created


def _marks(case: JSONObject) -> list[pytest.MarkDecorator]:
    return [pytest.mark.since(case["since"], "it was an error before")] if "since" in case else []


def _cases(outcome: str) -> list[Any]:
    return [
        pytest.param(kind, recorded["object"], case, id=f"{kind}: {case['case']}", marks=_marks(case))
        for kind, recorded in RECORDED.items()
        for case in recorded["cases"]
        if outcome in case
    ]


@pytest.mark.parametrize(("kind", "obj", "case"), _cases("result"))
async def test_a_patch_has_the_recorded_result(cluster: Cluster, kind: str, obj: JSONObject, case: JSONObject) -> None:
    body = {**obj, "metadata": {"name": "a", **obj.get("metadata", {})}}
    await cluster.create(f"{kind}s", body)

    result = await cluster.patch(f"{kind}s", "a", case["patch"], STRATEGIC)

    wanted = _without_empty(case["result"])
    assert _within(wanted, result) == []
    assert _remaining(_without_empty(obj), wanted, _without_empty(result)) == []


@pytest.mark.parametrize(("kind", "obj", "case"), _cases("message"))
async def test_a_patch_has_the_recorded_error(cluster: Cluster, kind: str, obj: JSONObject, case: JSONObject) -> None:
    body = {**obj, "metadata": {"name": "a", **obj.get("metadata", {})}}
    await cluster.create(f"{kind}s", body)

    with pytest.raises(APIError) as caught:
        await cluster.patch(f"{kind}s", "a", case["patch"], STRATEGIC)

    # The object in the message has defaults.
    message, expected = (text.partition(": [[")[0] for text in (caught.value.status.message, case["message"]))
    assert (caught.value.status.code, message) == (case["code"], expected)


def _without_empty(value: Any) -> Any:
    """Return ``value`` without empty values: real servers omit them, as their objects are Go structs."""
    if isinstance(value, dict):
        return {key: part for key, item in value.items() if (part := _without_empty(item)) not in ({}, [], None)}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


def _remaining(before: Any, wanted: Any, found: Any, path: str = "") -> list[str]:
    """Return the paths that are in ``before`` and ``found``, and not in ``wanted``."""
    if not (isinstance(before, dict) and isinstance(wanted, dict) and isinstance(found, dict)):
        return []
    remaining = [f"{path}.{key}" for key in before.keys() - wanted.keys() if key in found]
    for key in before.keys() & wanted.keys():
        remaining += _remaining(before[key], wanted[key], found.get(key), f"{path}.{key}")
    return remaining


def _within(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Return the differences of ``found``, which may have additional fields (defaults), but no additional items."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            difference for key, item in wanted.items() for difference in _within(item, found.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [difference for index, (one, other) in pairs for difference in _within(one, other, f"{path}[{index}]")]
    return [] if wanted == found else [f"{path}: {found!r} instead of {wanted!r}"]
