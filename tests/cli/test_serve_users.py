"""``dynkube serve --token --user --rbac``: authentication and permissions."""

from __future__ import annotations

import httpx2
import pytest
import yaml

from tests.cli.test_serve import failing, serving

PODS = "/api/v1/namespaces/default/pods"


def status(url: str, token: str) -> int:
    return httpx2.get(f"{url}{PODS}", headers={"Authorization": f"Bearer {token}"}).status_code


def test_with_rbac_users_need_roles_and_the_kubeconfig_is_the_administrators() -> None:
    with serving("--rbac", "--user", "alice=a-token", "--user", "bob=b-token") as served:
        admin = yaml.safe_load(served.kubeconfig.read_bytes())["users"][0]["user"]["token"]
        binding = {
            "metadata": {"name": "view"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
        }
        path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
        bound = httpx2.post(f"{served.url}{path}", json=binding, headers={"Authorization": f"Bearer {admin}"})
        codes = [status(served.url, token) for token in (admin, "a-token", "b-token", "none")]

    assert bound.status_code == 201
    assert codes == [200, 200, 403, 401]


def test_without_rbac_every_user_may_do_everything() -> None:
    with serving("--token", "mine", "--user", "alice=a-token") as served:
        codes = [status(served.url, token) for token in ("mine", "a-token", "none")]

    assert codes == [200, 200, 401]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "alice"], "--user alice: pass NAME=TOKEN, like alice=secret"),
        (["--user", "alice="], "--user alice: pass NAME=TOKEN"),
        (["--user", "alice=x", "--user", "bob=x"], "--user bob: has the same token as alice"),
    ],
)
def test_an_invalid_user_is_rejected(arguments: list[str], message: str) -> None:
    assert message in failing(*arguments)
