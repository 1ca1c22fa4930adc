"""G21, G22: informers without permission to read their resource, or to watch CRDs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, Client
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.informers.kit import Recorder, names, put, put_widget, resource, wait_live

# An informer retries a 403 after a second, with increasing delays.
TIMEOUT = 3 * GIVE_UP


async def grant(cluster: Cluster, user: str, group: str, plural: str) -> None:
    """Give a user permission to read a resource in all namespaces."""
    name = f"{user}-{plural}"
    rule = {"apiGroups": [group], "resources": [plural], "verbs": ["get", "list", "watch"]}
    await cluster.create("clusterroles", {"metadata": {"name": name}, "rules": [rule]})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    await cluster.create("clusterrolebindings", binding)


@pytest.fixture
def user(cluster: Cluster) -> str:
    """A user without permissions."""
    return f"user-of-{cluster.namespace}"


@pytest.mark.scenario("G21", "F14", "P8")
@pytest.mark.one_collection("a forbidden namespace of a set is empty instead")
async def test_a_forbidden_resource_is_degraded_until_it_is_allowed_and_delays_no_other(
    cluster: Cluster, connect: Callable[..., Client], user: str
) -> None:
    await put(cluster, "a")
    await grant(cluster, user, "", "secrets")
    async with connect(user=user) as client:
        configs = client.informer("configmaps.v1", namespace=cluster.namespace)
        secrets = client.informer("secrets.v1", namespace=cluster.namespace)
        async with configs, secrets:
            await wait_live(secrets)
            assert (await configs.wait_state(DEGRADED)).reason == "Forbidden"
            assert (configs.has_synced, configs.list()) == (False, [])

            await grant(cluster, user, "", "configmaps")

            with trio.fail_after(TIMEOUT):
                await configs.wait_synced()
                assert (await configs.wait_state(LIVE)).reason == "Watching"
            assert names(configs.list()) == ["a"]


@pytest.mark.scenario("G22", "F1", "F14")
async def test_without_permission_to_watch_crds_discovery_finds_new_crds(
    cluster: Cluster, connect: Callable[..., Client], user: str
) -> None:
    await grant(cluster, user, cluster.group, "widgets")
    settings = dynkube.InformerSettings(discovery_poll=0.2)
    recorder = Recorder()
    async with connect(user=user, settings=settings) as client, client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        assert (await widgets.wait_state(ABSENT)).reason == "CRDNotFound"

        await cluster.create_crd()
        await put_widget(cluster, "a")
        await wait_live(widgets)
        assert await recorder.take(1) == ["add/a"]

        await cluster.delete_crd()
        with trio.fail_after(TIMEOUT):
            await widgets.wait_state(ABSENT)
        assert (await recorder.take(1), widgets.list()) == (["delete/a"], [])

        await cluster.create_crd()
        await put_widget(cluster, "b")
        await wait_live(widgets)
        assert await recorder.take(1) == ["add/b"]
