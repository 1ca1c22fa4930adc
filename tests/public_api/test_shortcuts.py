"""Short calls for interactive use: ``get``, ``client[...]``, ``api_resources``, ``whoami``, ``auth_can_i``."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube.errors import ConnectFailed, InvalidInput, NoMatch, NotFound, WrongScope
from dynkube.meta import GVR, UnstructuredTable
from dynkube_testing import APIServer
from tests.manifests.kit import crd

WEB = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": {"app": "web"}}}
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "shop"}}
ROUTES = GVR("example.com", "v1", "widgets")


@pytest.fixture(autouse=True)
def _objects(server: APIServer) -> None:
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for obj in (WEB, OTHER):
        server.create(obj)


@pytest.mark.parametrize(
    "name", ["cm", "configmap", "ConfigMap", "configmaps", "configmaps.v1", "configmaps.v1.", "v1/configmaps"]
)
async def test_a_collection_is_a_table_of_all_namespaces(client: dynkube.Client, name: str) -> None:
    table = await client.get(name)

    assert isinstance(table, UnstructuredTable)
    assert {"web", "other"} <= set(table.column("Name"))


async def test_one_object_is_read_from_the_contexts_namespace(client: dynkube.Client) -> None:
    assert (await client.get("cm", "web")).key == ("default", "web")
    with pytest.raises(NotFound, match='"other" not found'):
        await client.get("cm", "other")
    assert (await client.get("cm", "other", namespace="shop")).key == ("shop", "other")


async def test_selectors_and_limits_restrict_the_table(client: dynkube.Client) -> None:
    labelled = await client.get("cm", label_selector={"app": "web"})
    named = await client.get("cm", namespace="shop", field_selector="metadata.name=other")
    first = await client.get("cm", limit=1)

    assert [obj.name for obj in labelled] == ["web"]
    assert [obj.name for obj in named] == ["other"]
    assert len(first) == 1
    assert first.continue_token


@pytest.mark.parametrize("name", ["pods", "Deployment", "deployments.apps", "deployments.v1.apps", "deploy.ap"])
async def test_brackets_return_a_resource(client: dynkube.Client, name: str) -> None:
    assert await client[name].resolve() == await client.resource(name).resolve()


async def test_an_unserved_name_raises_on_the_first_request(client: dynkube.Client) -> None:
    nosuch = client["deploymint"]

    with pytest.raises(NoMatch, match=r"does not serve 'deploymint'; did you mean 'deployments.apps'"):
        await nosuch.list()


@pytest.mark.parametrize("name", ["", "pod/web", "po ds", 3, None])
async def test_an_invalid_resource_name_is_rejected_at_once(client: dynkube.Client, name: str) -> None:
    with pytest.raises(InvalidInput, match="resource"):
        client[name]


async def test_a_client_is_not_a_container(client: dynkube.Client) -> None:
    with pytest.raises(TypeError, match="iterable"):
        iter(client)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"container|iterable"):
        "pods" in client  # type: ignore[misc]  # noqa: B015


async def test_the_error_for_type_slash_name_has_the_fix(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match=r"'pod/web' contains a slash: use get\('pod', 'web'\) for one object"):
        await client.get("pod/web")
    with pytest.raises(InvalidInput, match=r"or 'deploy\.apps' for a resource of a group"):
        await client.get("apps/deploy")


@pytest.mark.parametrize(
    ("given", "form"),
    [
        (("example.com/v1", "Widget"), "Widget.v1.example.com"),
        (("example.com/v1", "widgets"), "widgets.v1.example.com"),
        (("apps/v1", "Deployment"), "Deployment.v1.apps"),
        (("v1", "ConfigMap"), "ConfigMap.v1"),
    ],
)
async def test_the_error_for_an_api_version_and_a_kind_has_the_fix(
    client: dynkube.Client, server: APIServer, given: tuple[str, str], form: str
) -> None:
    server.create(crd())

    with pytest.raises(InvalidInput, match=rf"is an apiVersion, and .* a kind or a plural: use get\('{form}'\)"):
        await client.get(*given)

    assert isinstance(await client.get(form), UnstructuredTable)


@pytest.mark.parametrize("api_version", ["example.com/v1", "apps/v1", "v1"])
async def test_the_error_for_an_api_version_alone_says_to_add_a_kind(client: dynkube.Client, api_version: str) -> None:
    with pytest.raises(InvalidInput, match=r"is an apiVersion: add the kind or the plural, as in get\('Website\.v1"):
        await client.get(api_version)


async def test_a_resource_with_group_and_version_is_not_mistaken_for_an_api_version(client: dynkube.Client) -> None:
    assert isinstance(await client.get("ingresses.networking.k8s.io/v1"), UnstructuredTable)
    with pytest.raises(NotFound):
        await client.get("clusterroles.rbac.authorization.k8s.io/v1", "Admin")


async def test_selectors_cannot_be_combined_with_a_name(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match=r"label_selector selects among many objects, name='web' only one"):
        await client.get("cm", "web", label_selector="a=b")  # type: ignore[call-overload]


@pytest.mark.parametrize("names", ["", ["a", "b"], 3])
async def test_an_invalid_name_is_rejected(client: dynkube.Client, names: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        await client.get("cm", names)


async def test_categories_and_several_resources_are_rejected_where_one_is_needed(client: dynkube.Client) -> None:
    with pytest.raises(NoMatch, match=r"it is a category; name one of its resources, or read all with client\.get"):
        await client["all"].list()
    with pytest.raises(InvalidInput, match=r"'po,svc' names several resources: name one; client\.get\('po,svc'\)"):
        client["po,svc"]
    with pytest.raises(InvalidInput, match="names several resources"):
        await client.get("po,svc", "web")


async def test_api_resources_lists_preferred_versions(client: dynkube.Client, server: APIServer) -> None:
    before = await client.api_resources()
    server.create(crd())

    after = await client.api_resources()
    found = await client.api_resources(group=ROUTES.group, namespaced=True, verb="list")

    assert {each.gvr for each in after} - {each.gvr for each in before} == {ROUTES}
    assert [(each.gvr, each.kind) for each in found] == [(ROUTES, "Widget")]
    assert found[0] is found[:1][0]
    assert not found.failures
    names = [(each.gvr.group, each.gvr.resource) for each in after]
    assert len(names) == len(set(names)) < len(await client.api_resources(all_versions=True))
    assert "Widget" in found._repr_html_()


async def test_api_resources_can_be_filtered_by_category(client: dynkube.Client) -> None:
    assert {"pods", "services", "deployments"} <= {
        each.gvr.resource for each in await client.api_resources(category="all")
    }


@pytest.mark.parametrize("filters", [{"group": "nosuch"}, {"verb": "nosuch"}, {"category": "nosuch"}])
async def test_api_resources_without_a_match_is_an_empty_list_as_in_kubectl(
    client: dynkube.Client, filters: dict[str, str]
) -> None:
    assert len(await client.api_resources(**filters)) == 0  # type: ignore[arg-type]  # names and strings


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"group": 3}, "group is 3: pass a string"),
        ({"verb": ["get", "list"]}, "verb is .*: pass a string"),
        ({"category": b"all"}, "category is b'all': pass a string"),
        ({"namespaced": "yes"}, "namespaced is 'yes': pass True or False"),
    ],
)
async def test_filters_of_the_wrong_type_are_rejected(client: dynkube.Client, filters: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await client.api_resources(**filters)


async def test_an_api_resource_can_be_passed_as_a_resource(client: dynkube.Client) -> None:
    for resource in await client.api_resources(group="", verb="watch"):
        assert await client.auth_can_i("list", resource)
        assert (await client[resource].resolve()).gvr == resource.gvr
        assert client.informer(resource).gvr == resource.gvr


async def test_api_resources_is_never_answered_from_a_cache(client: dynkube.Client, server: APIServer) -> None:
    await client.api_resources()
    server.refuse_connections()

    with pytest.raises(ConnectFailed):
        await client.api_resources()


async def test_key_completion_uses_known_resources_and_sends_no_request(
    client: dynkube.Client, server: APIServer
) -> None:
    unknown = client._ipython_key_completions_()

    await client.get("cm")
    requests = client.statistics().requests
    known = client._ipython_key_completions_()

    assert unknown == []
    assert {"pods", "deployments", "events", "events.events.k8s.io"} <= set(known)
    assert len(known) == len(set(known))
    assert client.statistics().requests == requests


async def test_an_informer_can_be_exported_like_a_list(client: dynkube.Client) -> None:
    async with client.informer("configmaps.v1", namespace="shop") as configs:
        await configs.wait_synced()

        frame = dynkube.to_polars(configs, fields={"kind": "{.kind}"})

    assert frame.select("Namespace", "Name", "kind").rows() == [("shop", "other", "ConfigMap")]


async def test_a_client_that_is_not_open_completes_nothing() -> None:
    assert dynkube.connect(url="https://cluster.invalid")._ipython_key_completions_() == []


@pytest.mark.parametrize("limit", [0, -1, "5", 1.5, True])
async def test_an_invalid_limit_is_rejected(client: dynkube.Client, limit: int) -> None:
    with pytest.raises(InvalidInput, match=f"limit must be at least 1, or None, not {limit!r}"):
        await client.get("cm", limit=limit)


async def test_whoami_returns_the_user(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport("jane")) as client:
        me = await client.whoami()

    assert str(me) == me.username == "jane"
    assert "system:authenticated" in me.groups
    assert "jane" in me._repr_html_()


async def test_an_unknown_verb_is_rejected_with_a_suggestion(client: dynkube.Client) -> None:
    for verb, hint in (
        ("frobnicate", "use one of get, list, watch, create"),
        ("apply", "did you mean 'patch'"),
        ("delete_collection", "did you mean 'deletecollection'"),
        ("lst", "did you mean 'list'"),
        ("List", "did you mean 'list'"),
    ):
        with pytest.raises(InvalidInput, match=f"unknown verb '{verb}' for pods: {hint}"):
            await client.auth_can_i(verb, "pods")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resource": "pods", "subresource": "logs"}, "subresource 'logs': pods.v1 have only .*log"),
        ({"resource": "pods", "name": ""}, "name is ''"),
        ({"resource": "cm", "subresource": "log"}, "subresource 'log': configmaps.v1 have no subresources"),
        ({"resource": "pods/log"}, "a subresource as a separate argument"),
        ({"resource": "nodes", "namespace": "shop"}, "cluster-scoped"),
        ({"resource": "/metrics", "namespace": "shop"}, "is a path, not a resource: leave namespace out"),
        ({"resource": None}, "resource is None"),
        ({"resource": "pods", "namespace": "Shop"}, "namespace 'Shop' may only contain lowercase letters"),
        ({"resource": "pods", "namespace": "a b"}, "namespace 'a b' may only contain lowercase letters"),
        ({"resource": "pods", "namespace": "x" * 64}, "is 64 characters long; at most 63"),
        ({"resource": "pods", "namespace": 3}, "namespace is an int"),
        ({"resource": "*", "namespace": "a/b"}, "namespace 'a/b' must not contain '/'"),
        ({"resource": str(ROUTES), "namespace": "Shop"}, "namespace 'Shop' may only contain lowercase letters"),
        ({"resource": "pods", "name": "a/b"}, "name 'a/b' must not contain '/'"),
        ({"resource": "pods", "name": ".."}, "it would change the path"),
        ({"resource": "users"}, "does not serve 'users'"),
    ],
)
async def test_invalid_arguments_of_auth_can_i_are_rejected(
    client: dynkube.Client, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((InvalidInput, NoMatch, WrongScope), match=message):
        await client.auth_can_i("get", **arguments)


@pytest.mark.parametrize(
    ("verb", "arguments", "action"),
    [
        ("impersonate", {"resource": "users"}, "impersonate users"),
        ("impersonate", {"resource": "users", "name": "a/b"}, "impersonate users named a/b"),
        ("impersonate", {"resource": "groups", "name": "system:masters"}, "impersonate groups named system:masters"),
        ("impersonate", {"resource": "uids"}, "impersonate uids of authentication.k8s.io"),
        (
            "impersonate",
            {"resource": "userextras", "subresource": "scopes"},
            "impersonate userextras/scopes of authentication.k8s.io",
        ),
        ("impersonate", {"resource": "serviceaccounts"}, "impersonate serviceaccounts in namespace default"),
        ("impersonate:user-info", {"resource": "users"}, "impersonate:user-info users of authentication.k8s.io"),
        (
            "impersonate:serviceaccount",
            {"resource": "serviceaccounts", "namespace": "shop"},
            "impersonate:serviceaccount serviceaccounts of authentication.k8s.io in namespace shop",
        ),
        (
            "impersonate-on:user-info:list",
            {"resource": "cm"},
            "impersonate-on:user-info:list configmaps in namespace default",
        ),
        (
            "approve",
            {"resource": "signers", "name": "example.com/*"},
            "approve signers of certificates.k8s.io named example.com/*",
        ),
        ("sign", {"resource": "signers.certificates.k8s.io"}, "sign signers of certificates.k8s.io"),
    ],
)
async def test_virtual_resources_of_rbac_rules_can_be_checked(
    client: dynkube.Client, verb: str, arguments: dict[str, Any], action: str
) -> None:
    assert (await client.auth_can_i(verb, **arguments)).action == action


@pytest.mark.parametrize(
    ("verb", "arguments", "error"),
    [
        ("impersonate", {"resource": "users", "namespace": "shop"}, WrongScope),
        ("impersonate", {"resource": "users.example.com"}, NoMatch),
        ("impersonate:user-info", {"resource": "serviceaccounts", "namespace": "Shop"}, InvalidInput),
        ("approve", {"resource": "users"}, NoMatch),
    ],
)
async def test_virtual_resources_with_invalid_arguments_are_rejected(
    client: dynkube.Client, verb: str, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await client.auth_can_i(verb, **arguments)


async def test_unserved_resources_must_be_named_in_full(client: dynkube.Client) -> None:
    with pytest.raises(NoMatch, match="does not serve 'widgets'"):
        await client.auth_can_i("watch", "widgets")

    assert await client.auth_can_i("watch", str(ROUTES))
    assert await client.auth_can_i("watch", ROUTES, "shop")
