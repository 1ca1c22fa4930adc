"""Roles and bindings are checked for their shape, on servers with and without RBAC."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import Invalid
from dynkube.testing import APIServer

GROUP = "rbac.authorization.k8s.io"
URLS = 'rules[0].nonResourceURLs: Invalid value: ["/x"]'


def _object(kind: str, **content: object) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "x"}, **content}


@pytest.mark.parametrize(
    ("obj", "causes"),
    [
        (
            _object("Role", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": []}]),
            ["rules[0].verbs: Required value: verbs must contain at least one value"],
        ),
        (
            _object("Role", rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"]}]),
            [('rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs')],
        ),
        (
            _object(
                "ClusterRole",
                rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"], "apiGroups": [""]}],
            ),
            [
                (
                    'rules[0].nonResourceURLs: Invalid value: ["/x"]: '
                    "rules cannot apply to both regular resources and non-resource URLs"
                )
            ],
        ),
        (
            _object("Role", rules=[{"verbs": ["get"]}]),
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            _object("RoleBinding"),
            [
                'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
                "roleRef.name: Required value",
            ],
        ),
        (
            _object(
                "ClusterRoleBinding",
                roleRef={"apiGroup": GROUP, "kind": "Role", "name": "x"},
                subjects=[{"kind": "ServiceAccount", "name": "a"}, {"kind": "Robot", "name": ""}],
            ),
            [
                'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
                "subjects[0].namespace: Required value",
                "subjects[1].name: Required value",
                'subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
            ],
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_every_cause(obj: dict[str, Any], causes: list[str]) -> None:
    server = APIServer()

    with pytest.raises(Invalid) as refused:
        server.create(obj)

    assert [f"{cause.field}: {cause.message}" for cause in refused.value.status.causes] == causes


def test_a_binding_stays_with_its_role() -> None:
    server = APIServer()
    ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "a"}
    bound = server.create(_object("RoleBinding", roleRef=ref))

    with pytest.raises(Invalid) as refused:
        server.update({**bound, "roleRef": {**ref, "name": "b"}})

    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"b"}'
    assert refused.value.status.causes[0].message == f"Invalid value: {shown}: cannot change roleRef"


def test_the_api_groups_of_a_binding_are_filled_in() -> None:
    subjects = [{"kind": "User", "name": "a"}, {"kind": "ServiceAccount", "name": "b", "namespace": "c"}]

    bound = APIServer().create(_object("RoleBinding", roleRef={"kind": "Role", "name": "r"}, subjects=subjects))

    assert bound["roleRef"] == {"apiGroup": GROUP, "kind": "Role", "name": "r"}
    assert bound["subjects"] == [{**subjects[0], "apiGroup": GROUP}, subjects[1]]
