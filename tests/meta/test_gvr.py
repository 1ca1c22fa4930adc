"""Parsing and printing of resource names in the forms of kubectl."""

import pytest

from dynkube.errors import InvalidInput
from dynkube.meta import GVK, GVR, GroupVersion, ResourceArg
from dynkube.meta._gvr import check_resource, version_priority


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pods", ResourceArg("pods")),
        ("deploy", ResourceArg("deploy")),
        ("Deployment", ResourceArg("Deployment")),
        ("deployments.apps", ResourceArg("deployments", None, "apps")),
        ("deployments.v1.apps", ResourceArg("deployments", "v1", "apps")),
        (
            "httproutes.v1beta1.gateway.networking.k8s.io",
            ResourceArg("httproutes", "v1beta1", "gateway.networking.k8s.io"),
        ),
        ("pods.v1", ResourceArg("pods", "v1", "")),
        ("pods.v1.", ResourceArg("pods", "v1", "")),
        ("apps/v1/deployments", ResourceArg("deployments", "v1", "apps")),
        ("v1/pods", ResourceArg("pods", "v1", "")),
        ("ingresses.networking.k8s.io/v1", ResourceArg("ingresses", "v1", "networking.k8s.io")),
        ("widgets.v1x.example.com", ResourceArg("widgets", None, "v1x.example.com")),
    ],
)
def test_every_form_of_kubectl_can_be_parsed(text: str, expected: ResourceArg) -> None:
    assert ResourceArg.parse(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "pods.UPPER", "a/b/c", "a/b/v1/c", "po ds", "deployments..apps", ".apps"])
def test_the_error_for_a_malformed_resource_has_the_fix(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"write|expected|not a resource name|not an API group"):
        ResourceArg.parse(text)


@pytest.mark.parametrize("text", ["pods.v1", "deployments.v1.apps", "httproutes.v1.gateway.networking.k8s.io"])
def test_a_gvr_can_be_parsed_from_its_string(text: str) -> None:
    assert str(GVR.parse(text)) == text


def test_the_error_for_a_gvr_without_a_version_has_the_fix() -> None:
    with pytest.raises(InvalidInput, match=r"has no version: expected RESOURCE\.VERSION\.GROUP"):
        GVR.parse("deployments.apps")


def test_a_gvk_is_parsed_from_the_fields_of_an_object() -> None:
    gvk = GVK.parse("apps/v1", "Deployment")

    assert (gvk.group, gvk.version, gvk.kind, gvk.api_version) == ("apps", "v1", "Deployment", "apps/v1")
    assert GVK.parse("v1", "Pod").group == ""


@pytest.mark.parametrize("api_version", ["", "a/b/c", "/v1", "apps/"])
def test_a_malformed_api_version_is_rejected(api_version: str) -> None:
    with pytest.raises(InvalidInput, match="GROUP/VERSION"):
        GroupVersion.parse(api_version)


def test_versions_are_sorted_by_the_servers_preference() -> None:
    shuffled = ["v1alpha1", "v2", "foo", "v1beta1", "v1", "v2beta3", "v10"]

    assert sorted(shuffled, key=version_priority) == ["v10", "v2", "v1", "v2beta3", "v1beta1", "v1alpha1", "foo"]


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (None, "resource is None: pass a string like 'deployments.v1.apps', a GVR or a GVK"),
        (b"pods", "resource is b'pods': pass a string"),
        (("", "v1", "pods"), r"resource is \('', 'v1', 'pods'\): pass a string"),
        ("apps/v1", "'apps/v1' looks like an apiVersion: add the resource, as in 'apps/v1/deployments'"),
        (GVR("apps/v1", "v1", "deployments"), "invalid group 'apps/v1'"),
        (GVR("v1", "", "pods"), "version is empty; only the group may be"),
        (GVR("", "v1", ""), "resource is empty"),
        (GVR("", "v1", "pods/status"), "invalid resource 'pods/status'"),
        (GVK("", "v1", ""), "kind is empty"),
    ],
)
def test_the_error_for_an_invalid_resource_names_the_invalid_part(resource: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_resource(resource)
