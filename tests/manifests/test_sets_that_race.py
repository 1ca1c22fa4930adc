"""Another client changes an object between its read and its apply; members of other sets are not taken over."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.manifests import ApplyRun, Outcome, Report
from dynkube_testing import APIServer, Delay, Refuse
from tests.manifests.kit import JSONObject, config, crd, namespace, outcomes, widget

PART_OF = "applyset.kubernetes.io/part-of"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
OTHER = {"name": "a", "labels": {PART_OF: "applyset-other-v1"}}
THEIRS: JSONObject = {**config("a", x="theirs"), "metadata": OTHER}


@pytest.fixture
def slow(server: APIServer) -> APIServer:
    """A server that delays applies, so that writes of others with other verbs precede them."""
    server.inject(Delay(5), verb="patch", resource="configmaps")
    return server


async def finished(run: ApplyRun) -> Report:
    async for _ in run:
        pass
    return run.report


async def with_kinds(client: dynkube.Client, kinds: str) -> JSONObject:
    """Return the parent as written by another run."""
    parent = (await client.resource("secrets").get("set")).to_dict()
    parent["metadata"]["annotations"][KINDS] = kinds
    return parent


@pytest.mark.parametrize("force", [True, [".metadata.labels"]], ids=["all", "paths"])
async def test_an_object_labelled_by_another_set_meanwhile_is_not_taken_over(
    slow: APIServer, client: dynkube.Client, force: bool | list[str]
) -> None:
    configs = client.resource("configmaps")
    await configs.create(config("a", x="1"), field_manager="other")

    async with client.apply_all([config("a", x="1", y="2")], prune="set", force=force) as run:
        await trio.sleep(1)
        await configs.update({**(await configs.get("a")).to_dict(), **THEIRS}, field_manager="other")
        report = await finished(run)

    assert report[0].outcome is Outcome.FAILED
    assert report[0].message.startswith("it belongs to another ApplySet")
    assert (await configs.get("a"))["data"] == {"x": "theirs"}


@pytest.mark.parametrize("force", [True, False])
async def test_an_object_created_by_another_set_meanwhile_is_not_taken_over(
    slow: APIServer, client: dynkube.Client, force: bool
) -> None:
    configs = client.resource("configmaps")

    async with client.apply_all([config("a", x="1")], prune="set", force=force) as run:
        await trio.sleep(1)
        await configs.create(THEIRS, field_manager="other")
        report = await finished(run)

    assert report[0].outcome is Outcome.FAILED
    assert report[0].message.startswith("it belongs to another ApplySet")
    assert (await configs.get("a"))["data"] == {"x": "theirs"}


async def test_an_object_changed_meanwhile_is_read_again_and_applied(slow: APIServer, client: dynkube.Client) -> None:
    configs = client.resource("configmaps")
    await configs.create(config("a", x="1"))

    async with client.apply_all([config("a", y="2")], prune="set") as run:
        await trio.sleep(1)
        await configs.update({**(await configs.get("a")).to_dict(), "data": {"x": "3"}})
        report = await finished(run)

    assert outcomes(report) == [("changed", "configmap/a")]
    assert (await configs.get("a"))["data"] == {"x": "3", "y": "2"}


async def test_an_object_that_changes_repeatedly_fails_after_five_attempts(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.resource("configmaps").create(config("a"))
    server.inject(Refuse(409), verb="patch", resource="configmaps")

    report = await client.apply_all([config("a", x="1")], prune="set")

    assert report[0].outcome is Outcome.FAILED
    assert report[0].message.startswith(
        "it was read and applied 5 times, and changed by other clients in between each time: 409 "
    )


async def test_an_object_with_a_conflict_before_the_run_ends_is_skipped(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.resource("configmaps").create(config("a"))
    server.inject(Delay(10), verb="get", resource="configmaps")
    server.inject(Refuse(409), verb="patch", resource="configmaps")

    with trio.move_on_after(15):
        async with client.apply_all([config("a", x="1")], prune="set") as run:
            await finished(run)

    assert sum(request.verb == "patch" and request.name == "a" for request in server.requests) == 1
    assert outcomes(run.report) == [("skipped", "configmap/a")]


async def test_a_conflict_by_the_manifests_resource_version_is_not_retried(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.resource("configmaps").create(config("a"))
    manifest = config("a", x="1")
    manifest["metadata"]["resourceVersion"] = "1"

    report = await client.apply_all([manifest], prune="set")

    assert report[0].outcome is Outcome.FAILED
    assert sum(request.verb == "patch" and request.name == "a" for request in server.requests) == 1


async def test_kinds_added_by_another_run_meanwhile_stay_in_the_parent(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a")], prune="set")
    server.inject(Delay(5), verb="patch", resource="secrets")

    async with client.apply_all([config("a"), namespace("n")], prune="set") as run:
        await trio.sleep(1)
        await client.resource("secrets").update(await with_kinds(client, "ConfigMap,Pod"))
        await anext(run)  # members are written after the parent
        kinds = (await client.resource("secrets").get("set")).annotations[KINDS]
        report = await finished(run)

    assert report.ok, report
    assert kinds == "ConfigMap,Namespace,Pod"


async def test_kinds_added_during_pruning_stay_in_the_parent(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b"), crd(), widget("w")], prune="set")
    server.inject(Delay(5), verb="delete", resource="configmaps")

    async with client.apply_all([config("a"), crd()], prune="set") as run:
        await trio.sleep(1)
        await client.resource("secrets").update(await with_kinds(client, "ConfigMap,Pod"))
        report = await finished(run)

    assert report.ok, report
    assert (await client.resource("secrets").get("set")).annotations[KINDS] == "ConfigMap,Pod"


async def test_other_changes_of_the_parent_do_not_keep_kinds_that_are_not_used(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a"), config("b"), namespace("n")], prune="set")
    server.inject(Delay(5), verb="delete", resource="configmaps")

    async with client.apply_all([config("a")], prune="set") as run:
        await trio.sleep(1)
        await client.resource("secrets").patch("set", {"metadata": {"labels": {"x": "y"}}})
        report = await finished(run)

    assert report.ok, report
    assert (await client.resource("secrets").get("set")).annotations[KINDS] == "ConfigMap"
