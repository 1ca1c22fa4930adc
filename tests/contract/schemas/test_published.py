"""CRDs and manifests that projects publish: they are accepted unchanged, and read back as they were written.

Their groups get a prefix, so that they do not conflict with those of other tests.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynkube.errors import APIError, Invalid
from dynkube_testing import APIServer
from tests.contract.backends import Backend, open_cluster
from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject, conditions

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = [pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}"), pytest.mark.timeout(120)]
NEWER = ("x-kubernetes-validations", "selectableFields")


def _documents(pattern: str) -> list[JSONObject]:
    paths = sorted(DATA.glob(pattern))
    return [found for path in paths for found in yaml.load_all(path.read_text(), yaml.CSafeLoader) if found]


PUBLISHED = [found for found in _documents("*/crds/*.yaml") if found["kind"] == "CustomResourceDefinition"]
KINDS = {
    (f"{found['spec']['group']}/{version['name']}", found["spec"]["names"]["kind"]): found["spec"]["names"]["plural"]
    for found in PUBLISHED
    for version in found["spec"]["versions"]
    if version["served"]
}
EXAMPLES = [found for found in _documents("*/examples/**/*.yaml") if (found["apiVersion"], found["kind"]) in KINDS]
each_crd = pytest.mark.parametrize("body", [pytest.param(body, id=body["metadata"]["name"]) for body in PUBLISHED])


def _own(cluster: Cluster, body: JSONObject) -> JSONObject:
    """Return the CRD with its group changed to one of the test's."""
    group = _group(cluster, body["spec"]["group"])
    metadata = {**body["metadata"], "name": f"{body['spec']['names']['plural']}.{group}"}
    return {**body, "metadata": metadata, "spec": {**body["spec"], "group": group}}


def _group(cluster: Cluster, group: str) -> str:
    return f"{cluster.group.partition('.')[0]}.{group}"


def _can_be_created(cluster: Cluster, body: JSONObject) -> bool:
    """Return whether the server accepts the CRD: old ones read the default ``""`` as null, which is no string."""
    return cluster.version >= (1, 25) or '"default": ""' not in json.dumps(body)


def _can_be_applied(cluster: Cluster, body: JSONObject) -> bool:
    """Return whether a server knows all fields of the CRD, as an apply requires; a create drops unknown ones."""
    return cluster.version >= (1, 32) or not any(f'"{word}"' in json.dumps(body) for word in NEWER)


@pytest.fixture(scope="module")
async def installed(backend: Backend, server: APIServer | None) -> AsyncIterator[Cluster]:
    """A cluster with all of the CRDs, applied if possible and otherwise created."""
    async with open_cluster(backend, server) as cluster:
        taken = [body for body in PUBLISHED if _can_be_created(cluster, body)]
        for body in taken:
            own = _own(cluster, body)
            if _can_be_applied(cluster, body):
                await cluster.apply(CRDS, own, "installer")
                cluster.leftovers.append(cluster.path(CRDS, own["metadata"]["name"]))
            else:
                await cluster.create(CRDS, own)
            cluster.register_crd(own)
        for body in taken:
            await cluster.until_served(body["spec"]["names"]["plural"])
        yield cluster


@each_crd
async def test_a_published_crd_is_created_without_warnings(cluster: Cluster, body: JSONObject) -> None:
    params = {"dryRun": "All", "fieldValidation": "Strict"}

    response = await cluster.call("POST", cluster.path(CRDS), body=_own(cluster, body), params=params)

    assert (response.code, response.warnings) == (201 if _can_be_created(cluster, body) else 422, [])
    if response.code == 422:
        found = {(cause["field"].rpartition(".")[2], cause["message"]) for cause in response.body["details"]["causes"]}
        assert found == {("default", 'Invalid value: "null":  in body must be of type string: "null"')}


@each_crd
async def test_a_published_crd_is_served_in_all_of_its_versions(installed: Cluster, body: JSONObject) -> None:
    own = _own(installed, body)
    if not _can_be_created(installed, body):
        pytest.skip("this server does not accept it")

    found = await installed.get(CRDS, own["metadata"]["name"])

    assert conditions(found)["Established"] == ("True", "InitialNamesAccepted")
    for version in own["spec"]["versions"]:
        path = f"/apis/{own['spec']['group']}/{version['name']}/{own['spec']['names']['plural']}"
        response = await installed.call("GET", path, params={"limit": "1"})
        assert response.code == (200 if version["served"] else 404)


@each_crd
async def test_a_second_apply_of_a_published_crd_changes_nothing(installed: Cluster, body: JSONObject) -> None:
    own = _own(installed, body)
    if not _can_be_created(installed, body):
        pytest.skip("this server does not accept it")
    before = await installed.get(CRDS, own["metadata"]["name"])

    if _can_be_applied(installed, body):
        await installed.apply(CRDS, own, "installer")
    else:
        with pytest.raises(APIError, match=r"(x-kubernetes-validations|selectableFields): field not declared"):
            await installed.apply(CRDS, own, "installer")

    assert await installed.get(CRDS, own["metadata"]["name"]) == before


@pytest.mark.parametrize("example", [pytest.param(each, id=each["metadata"]["name"]) for each in EXAMPLES])
async def test_an_example_is_read_back_with_all_of_its_fields(installed: Cluster, example: Any) -> None:
    group, _, name = example["apiVersion"].partition("/")
    plural = f"{KINDS[example['apiVersion'], example['kind']]}.{name}"
    if plural not in installed.resources:
        pytest.skip("this server does not accept its CRD")
    metadata = {key: value for key, value in example["metadata"].items() if key != "namespace"}
    body = {**example, "apiVersion": f"{_group(installed, group)}/{name}", "metadata": metadata}

    if installed.version < (1, 25) and '": ""' in json.dumps(body):
        with pytest.raises(Invalid, match="must be of type string: "):
            await installed.apply(plural, body, "user")
        return
    await installed.apply(plural, body, "user", params={"fieldValidation": "Strict"})
    applied = await installed.apply(plural, body, "user", params={"fieldValidation": "Strict"})
    again = await installed.apply(plural, body, "user", params={"fieldValidation": "Strict"})

    # The second apply may have stored defaults that reads had only shown.
    found = await installed.get(plural, metadata["name"])
    assert found == applied == again
    assert _within(body, found)
    await installed.delete(plural, metadata["name"])


def _within(expected: Any, found: Any) -> bool:
    """Return whether ``found`` has all fields of ``said``; it may have defaults too, and nulls are ignored."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(_within(value, found.get(key)) for key, value in expected.items() if value is not None)
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(_within, expected, found))
    return bool(expected == found)
