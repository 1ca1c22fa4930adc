"""``auth_can_i`` for virtual resources, which only RBAC rules name: misspelled names get a suggestion."""

from __future__ import annotations

import pytest

import dynkube
from dynkube.errors import NoMatch
from dynkube_testing import APIServer
from tests.manifests.kit import crd


@pytest.mark.parametrize(
    ("verb", "resource", "meant"),
    [
        ("impersonate", "user", "users"),
        ("impersonate", "User", "users"),
        ("impersonate", "Users", "users"),
        ("impersonate", "usrs", "users"),
        ("impersonate", "group", "groups"),
        ("impersonate", "groop", "groups"),
        ("impersonate", "uid", "uids"),
        ("impersonate", "uid.authentication.k8s.io", "uids"),
        ("impersonate", "userextra", "userextras"),
        ("impersonate", "serviceacounts", "serviceaccounts"),
        ("impersonate:user-info", "user", "users"),
        ("impersonate:serviceaccount", "ServiceAccount", "serviceaccounts"),  # which is served, in another group
        ("impersonate:arbitrary-node", "node", "nodes"),
        ("sign", "signer", "signers"),
        ("approve", "signer.certificates.k8s.io", "signers"),
    ],
)
async def test_a_misspelled_virtual_resource_gets_a_suggestion(
    client: dynkube.Client, verb: str, resource: str, meant: str
) -> None:
    with pytest.raises(NoMatch, match=f"the verb '{verb}' applies to .*, not to '{resource}': did you mean '{meant}'"):
        await client.auth_can_i(verb, resource)


@pytest.mark.parametrize("verb", ["impersonate", "impersonate:user-info"])
async def test_the_error_for_an_unknown_name_lists_the_valid_ones(client: dynkube.Client, verb: str) -> None:
    with pytest.raises(NoMatch, match=f"the verb '{verb}' applies to users, groups, uids, userextras.* and "):
        await client.auth_can_i(verb, "jane")


async def test_a_crd_with_the_same_kind_is_not_mistaken_for_a_virtual_resource(
    server: APIServer, client: dynkube.Client
) -> None:
    cluster_scoped = crd(scope="Cluster")
    cluster_scoped["metadata"]["name"] = "users.example.com"
    cluster_scoped["spec"]["names"] = {"plural": "users", "singular": "user", "kind": "User", "listKind": "UserList"}
    server.create(cluster_scoped)

    with pytest.raises(NoMatch, match="did you mean 'users'"):
        await client.auth_can_i("impersonate", "User")
    assert (await client.auth_can_i("impersonate", "users")).action == "impersonate users"
    assert (await client.auth_can_i("get", "User")).action == "get users of example.com"
    assert (await client.auth_can_i("impersonate", "user.example.com")).action == "impersonate users of example.com"


@pytest.mark.parametrize(
    ("verb", "resource", "action"),
    [
        ("impersonate", "sa", "impersonate serviceaccounts in namespace default"),
        ("impersonate", "ServiceAccount", "impersonate serviceaccounts in namespace default"),
        ("impersonate", "*", "impersonate * in all namespaces"),
        ("impersonate:user-info", "*", "impersonate:user-info * in all namespaces"),
        ("approve", "csr", "approve certificatesigningrequests of certificates.k8s.io"),
    ],
)
async def test_served_resources_can_be_combined_with_these_verbs(
    client: dynkube.Client, verb: str, resource: str, action: str
) -> None:
    assert (await client.auth_can_i(verb, resource)).action == action
