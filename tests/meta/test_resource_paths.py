"""URL paths of resources, and the characters that they must not contain."""

import pytest

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.meta._path import resource_path

PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
ROLES = GVR("rbac.authorization.k8s.io", "v1", "clusterroles")


@pytest.mark.parametrize(
    ("gvr", "where", "expected"),
    [
        (PODS, {}, "/api/v1/pods"),
        (PODS, {"namespace": ""}, "/api/v1/pods"),
        (PODS, {"namespace": "shop"}, "/api/v1/namespaces/shop/pods"),
        (PODS, {"namespace": "shop", "name": "web-0"}, "/api/v1/namespaces/shop/pods/web-0"),
        (
            DEPLOYMENTS,
            {"namespace": "shop", "name": "web", "subresource": "scale"},
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
        ),
        (GVR("", "v1", "namespaces"), {"name": "shop"}, "/api/v1/namespaces/shop"),
        (ROLES, {"name": "system:node"}, "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"),
        (ROLES, {"name": "a b?c#d"}, "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b%3Fc%23d"),
        (ROLES, {"name": "é"}, "/apis/rbac.authorization.k8s.io/v1/clusterroles/%C3%A9"),
    ],
)
def test_paths_of_collections_objects_and_subresources(gvr: GVR, where: dict[str, str], expected: str) -> None:
    assert resource_path(gvr, **where) == expected


@pytest.mark.parametrize("part", ["namespace", "name", "subresource"])
@pytest.mark.parametrize("bad", [".", "..", "a/b", "../secrets", "a%2fb", "%"])
def test_the_error_for_a_part_that_would_change_the_path_names_it(part: str, bad: str) -> None:
    where = {"namespace": "shop", "name": "web", "subresource": "status"} | {part: bad}

    with pytest.raises(InvalidInput, match=f"^{part} '"):
        resource_path(PODS, **where)


@pytest.mark.parametrize("part", ["group", "version", "resource"])
def test_a_malformed_gvr_is_rejected(part: str) -> None:
    gvr = GVR(**{"group": "apps", "version": "v1", "resource": "deployments"} | {part: "a/b"})

    with pytest.raises(InvalidInput, match=f"^{part} 'a/b' must not contain '/'"):
        resource_path(gvr)


@pytest.mark.parametrize("namespace", ["Shop", "my_shop", "team a", "-shop", "shop.example", "x" * 64])
def test_an_invalid_namespace_is_rejected_instead_of_found_empty(namespace: str) -> None:
    with pytest.raises(InvalidInput, match=f"^namespace '{namespace}' (may only contain|is 64 characters)"):
        resource_path(PODS, namespace=namespace)


def test_an_empty_name_never_addresses_the_collection() -> None:
    with pytest.raises(InvalidInput, match=r"^name is empty"):
        resource_path(PODS, namespace="shop", name="")


def test_a_subresource_requires_a_name() -> None:
    with pytest.raises(InvalidInput, match=r"subresource 'status' of pods.v1 requires the name of an object"):
        resource_path(PODS, namespace="shop", subresource="status")


def test_a_name_that_is_not_a_string_is_rejected() -> None:
    with pytest.raises(InvalidInput, match=r"name is an int \(5\), not a string"):
        resource_path(PODS, name=5)  # type: ignore[arg-type]  # invalid on purpose
