"""Users of a control plane: their certificates, and their permissions on a real kube-apiserver."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

import dynkube
from dynkube.errors import Forbidden, InvalidInput, Unauthorized
from dynkube_testing import ControlPlane

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]


def certificate_of(kubeconfig: dict[str, Any]) -> x509.Certificate:
    data = kubeconfig["users"][0]["user"]["client-certificate-data"]
    return x509.load_pem_x509_certificate(base64.b64decode(data))


def names(certificate: x509.Certificate, which: x509.ObjectIdentifier) -> list[str | bytes]:
    return [attribute.value for attribute in certificate.subject.get_attributes_for_oid(which)]


def test_a_user_has_a_certificate_with_its_name_and_each_of_its_groups(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        alice = certificate_of(plane.add_user("alice", groups=["readers", "system:nodes"]).kubeconfig())
        admin = certificate_of(plane.kubeconfig())

    assert names(alice, NameOID.COMMON_NAME) == ["alice"]
    assert sorted(map(str, names(alice, NameOID.ORGANIZATION_NAME))) == ["readers", "system:nodes"]
    assert names(admin, NameOID.ORGANIZATION_NAME) == ["system:masters"]


@pytest.mark.parametrize(
    ("name", "groups", "message"),
    [
        ("", [], "the name of the user is empty"),
        ("a" * 65, [], "the name of the user must have at most 64 characters, not 65"),
        ("a", ["b" * 65], "the name of a group must have at most 64 characters, not 65"),
        ("a", [""], "the name of a group is empty"),
        ("a", "readers", r"groups must be a list of names, not the string 'readers'; pass groups=\['readers'\]"),
    ],
)
def test_names_that_certificates_cannot_have_are_rejected(
    fakes: Path, name: str, groups: list[str], message: str
) -> None:
    with ControlPlane(fakes) as plane, pytest.raises(InvalidInput, match=message):
        plane.add_user(name, groups=groups)


def test_kubeconfigs_have_the_requested_context_and_namespace(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        kubeconfig: Any = plane.add_user("alice").kubeconfig(context="alice", namespace="shop")
        assert kubeconfig["clusters"][0]["cluster"]["server"] == plane.url

    assert kubeconfig["current-context"] == "alice"
    assert kubeconfig["contexts"][0]["context"]["namespace"] == "shop"


async def test_a_user_has_the_permissions_of_its_groups_and_no_others(plane: ControlPlane) -> None:
    alice, root = plane.add_user("alice"), plane.add_user("root", groups=["devs", "system:masters"])

    async with dynkube.connect(kubeconfig=root.kubeconfig()) as client:
        await client.resource("secrets").list()
    async with dynkube.connect(kubeconfig=alice.kubeconfig()) as client:
        assert (await client.server_version()).git_version == plane.version
        with pytest.raises(Forbidden, match='User "alice" cannot list resource "secrets"'):
            await client.resource("secrets").list(namespace="default")


async def test_a_certificate_of_another_control_plane_is_not_accepted(plane: ControlPlane, fakes: Path) -> None:
    with ControlPlane(fakes) as other:
        stranger: Any = other.kubeconfig()
    mine: Any = plane.kubeconfig()
    stranger["clusters"] = mine["clusters"]

    async with dynkube.connect(kubeconfig=stranger) as client:
        with pytest.raises(Unauthorized, match="401 Unauthorized"):
            await client.resource("namespaces").list()
