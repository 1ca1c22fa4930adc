"""``FieldPath.parse`` of the fields in conflicts returns the paths of ``managedFields``."""

from __future__ import annotations

import json

import pytest

from dynkube import FieldPath, owners
from dynkube.errors import ApplyConflict
from dynkube.fields._diff.yaml_json import readable_as_yaml
from tests.contract.cluster import APPLY, Cluster
from tests.contract.objects import JSONObject, structural, version, workload

KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["on", "size", "text"],
    "items": {
        "type": "object",
        "required": ["on", "size", "text"],
        "properties": {
            "on": {"type": "boolean"},
            "size": {"type": "integer"},
            "text": {"type": "string"},
            "value": {"type": "string"},
        },
    },
}


async def apply(cluster: Cluster, resource: str, obj: JSONObject, manager: str) -> JSONObject:
    body = readable_as_yaml(json.dumps(obj, ensure_ascii=False).encode())
    params = {"fieldManager": manager}
    return await cluster.patch(resource, obj["metadata"]["name"], body, APPLY, params=params)


async def conflicts(
    cluster: Cluster, resource: str, mine: JSONObject, theirs: JSONObject
) -> tuple[JSONObject, list[str]]:
    """Provoke a conflict; returns the live object, and the fields of the causes."""
    live = await apply(cluster, resource, mine, "one")
    with pytest.raises(ApplyConflict) as caught:
        await apply(cluster, resource, theirs, "two")
    return live, [cause.field for cause in caught.value.causes]


def deployment(text: str) -> JSONObject:
    container = {"name": "web", "image": text}
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}
    obj = workload(template=template)
    obj["metadata"]["labels"] = {"app.kubernetes.io/name": text, "plain": text}
    return obj


async def test_paths_of_items_and_quoted_names_are_parsed(cluster: Cluster) -> None:
    live, fields = await conflicts(cluster, "deployments", deployment("x"), deployment("y"))

    found = [FieldPath.parse(text, among=owners(live)) for text in fields]
    container = '.spec.template.spec.containers[name="web"]'
    assert sorted(map(str, found)) == [
        ".metadata.labels.plain",
        '.metadata.labels["app.kubernetes.io/name"]',
        f"{container}.image",
    ]
    assert all(path in owners(live) for path in found)


@pytest.mark.parametrize("text", ["plain", 'a"b\\c', "<&>", "ü 😀", "tab\tend", "\x01\x7f\x85", "\u2028\ufeff"])
async def test_keys_with_all_kinds_of_characters_are_parsed(cluster: Cluster, text: str) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(schema=structural(keyed=KEYED))]))
    key = {"on": True, "size": 1000000, "text": text}

    def widget(value: str) -> JSONObject:
        return cluster.widget(spec={"keyed": [{**key, "value": value}]})

    live, (field,) = await conflicts(cluster, "widgets", widget("1"), widget("2"))

    path = FieldPath() / "spec" / "keyed" / key / "value"  # type: ignore[operator]  # a dict of JSON values
    assert FieldPath.parse(field) == path
    assert path in owners(live)
    assert path.find(live) == "1"
