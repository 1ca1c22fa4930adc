"""The status of ResourceQuotas, which kube-controller-manager keeps in a cluster."""

from __future__ import annotations

from dynkube_testing import APIServer
from tests.contract.objects import JSONObject, config, pod, service


def quota(**hard: str) -> JSONObject:
    spec = {"hard": {name.replace("_", "/"): value for name, value in hard.items()}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}


def used(server: APIServer) -> JSONObject:
    status: JSONObject = server.get("resourcequotas", "q")["status"]["used"]
    return status


def test_a_new_quota_counts_the_objects_that_exist() -> None:
    server = APIServer()
    for name in ("a", "b"):
        server.create(config(name))
    server.create(service())

    server.create(quota(count_configmaps="5", services="5", pods="5"))

    assert used(server) == {"count/configmaps": "2", "pods": "0", "services": "2"}  # with the service kubernetes


def test_deleted_objects_are_subtracted() -> None:
    server = APIServer()
    server.create(quota(count_configmaps="1"))
    server.create(config("a"))

    server.delete("configmaps", "a")

    assert used(server) == {"count/configmaps": "0"}
    server.create(config("b"))


def test_a_changed_limit_is_measured_again() -> None:
    server = APIServer()
    created = server.create(quota(pods="5"))
    server.create(config("a"))

    server.update({**created, "spec": {"hard": {"count/configmaps": "1", "pods": "5"}}, "metadata": {"name": "q"}})

    status = server.get("resourcequotas", "q")["status"]
    assert status["hard"] == {"count/configmaps": "1", "pods": "5"}
    assert status["used"] == {"count/configmaps": "1", "pods": "0"}


def test_a_pod_that_has_ended_uses_nothing_but_its_count() -> None:
    server = APIServer()
    server.create(quota(count_pods="5", pods="5"))
    created = server.create(pod())

    server.update({**created, "status": {"phase": "Succeeded"}}, subresource="status")

    assert used(server) == {"count/pods": "1", "pods": "0"}


def test_a_restored_snapshot_is_measured_again() -> None:
    server = APIServer()
    server.create(quota(count_configmaps="5"))
    server.create(config("a"))
    with_one = server.snapshot()
    server.delete("configmaps", "a")

    server.restore(with_one)

    assert used(server) == {"count/configmaps": "1"}


def test_quotas_in_other_namespaces_are_not_changed() -> None:
    server = APIServer()
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    server.create(quota(count_configmaps="5"))

    server.create(config("a", namespace="other"))

    assert used(server) == {"count/configmaps": "0"}
