"""The shortcuts of the blocking client."""

from __future__ import annotations

import pytest

import dynkube.sync
from dynkube.errors import ClosedError, InvalidInput, NoMatch
from dynkube.meta import UnstructuredTable
from dynkube_testing import ServerThread
from tests.sync.kit import config_map

pytestmark = pytest.mark.real_time


def test_get_returns_a_collection_or_an_object(k: dynkube.sync.Client) -> None:
    created = k["cm"].create(config_map("one"))

    table = k.get("cm", namespace="default")

    assert isinstance(table, UnstructuredTable)
    assert k.get("cm", "one") == created
    assert created in table


def test_auth_can_i_whoami_and_api_resources_return_answers(k: dynkube.sync.Client) -> None:
    assert k.auth_can_i("list", "pods")
    assert k.whoami().groups
    assert "pods" in {each.gvr.resource for each in k.api_resources(verb="list")}


def test_invalid_arguments_are_rejected(k: dynkube.sync.Client) -> None:
    with pytest.raises(InvalidInput, match="resource 'pod/web'"):
        k.get("pod/web")
    with pytest.raises(InvalidInput, match="resource 'pod/web'"):
        k["pod/web"]
    with pytest.raises(TypeError):
        iter(k)  # type: ignore[call-overload]


def test_auth_can_i_impersonate_checks_the_resource_name(k: dynkube.sync.Client) -> None:
    assert k.auth_can_i("impersonate", "users", name="jane").action == "impersonate users named jane"
    with pytest.raises(NoMatch, match="not to 'user': did you mean 'users'"):
        k.auth_can_i("impersonate", "user")


def test_discovery_is_read_once_starting_with_the_connection(k: dynkube.sync.Client) -> None:
    k.mapper.load()  # waits for the read in progress

    assert k.mapper.statistics().loads == 1
    assert {"pods", "deployments"} <= set(k._ipython_key_completions_())


def test_resources_are_attributes(k: dynkube.sync.Client) -> None:
    created = k.resources.configmaps.create(config_map("one"))

    assert isinstance(k.resources.configmaps, dynkube.sync.ResourceClient)
    assert k.resources["configmaps.v1"].get("one") == created


def test_a_closed_client_has_no_resources(k: dynkube.sync.Client) -> None:
    k.close()

    with pytest.raises(ClosedError, match="this client is closed"):
        k.resources  # noqa: B018
    assert k._ipython_key_completions_() == []


def test_completion_without_a_server_raises_nothing(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url="http://127.0.0.1:9") as nowhere:
        assert nowhere._ipython_key_completions_() == []


def test_several_resources_are_one_table_whose_parts_can_be_live(k: dynkube.sync.Client) -> None:
    k["cm"].create(config_map("one"))

    found = k.get("cm,ns", namespace="default")

    maps, namespaces = found.tables
    assert "configmap/one" in str(found)
    assert list(found) == [*maps, *namespaces]
    for each in (*found.wide().tables, namespaces):
        each.live().close()
    with pytest.raises(InvalidInput, match=r"several resources: follow one of them, as in table\.tables\[0\]\.live"):
        found.live()
