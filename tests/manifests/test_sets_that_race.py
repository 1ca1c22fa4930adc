"""Another ApplySet labels an object between the look at it and the apply: it is not taken over, not even by force."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.manifests import ApplyRun, Outcome, Report
from dynkube.testing import APIServer, Delay, Refuse
from tests.manifests.kit import JSONObject, config, definition, namespace, outcomes, widget

PART_OF = "applyset.kubernetes.io/part-of"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
OTHER = {"name": "a", "labels": {PART_OF: "applyset-other-v1"}}
THEIRS: JSONObject = {**config("a", x="theirs"), "metadata": OTHER}


@pytest.fixture
def slow(server: APIServer) -> APIServer:
    """Applies are under way for a while, and what others write by other verbs comes before them."""
    server.inject(Delay(5), verb="patch", resource="configmaps")
    return server


async def finished(run: ApplyRun) -> Report:
    async for _ in run:
        pass
    return run.report


async def with_kinds(client: dynkube.Client, kinds: str) -> JSONObject:
    """The parent, as another run writes it."""
    parent = (await client.resource("secrets").get("set")).to_dict()
    parent["metadata"]["annotations"][KINDS] = kinds
    return parent


@pytest.mark.parametrize("force", [True, [".metadata.labels"]], ids=["all", "paths"])
async def test_what_another_set_labels_meanwhile_is_left_to_it(
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
async def test_what_another_set_creates_meanwhile_is_left_to_it(
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


async def test_what_somebody_else_writes_meanwhile_is_looked_at_again_and_applied(
    slow: APIServer, client: dynkube.Client
) -> None:
    configs = client.resource("configmaps")
    await configs.create(config("a", x="1"))

    async with client.apply_all([config("a", y="2")], prune="set") as run:
        await trio.sleep(1)
        await configs.update({**(await configs.get("a")).to_dict(), "data": {"x": "3"}})
        report = await finished(run)

    assert outcomes(report) == [("changed", "configmap/a")]
    assert (await configs.get("a"))["data"] == {"x": "3", "y": "2"}


async def test_what_is_written_again_and_again_is_told_after_some_rounds(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.resource("configmaps").create(config("a"))
    server.inject(Refuse(409), verb="patch", resource="configmaps")

    report = await client.apply_all([config("a", x="1")], prune="set")

    assert report[0].outcome is Outcome.FAILED
    assert report[0].message.startswith(
        "it was read and applied 5 times, and changed by other clients in between each time: 409 "
    )


async def test_what_was_refused_and_is_looked_at_again_when_the_run_ends_was_not_written(
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


async def test_a_resource_version_in_the_manifest_is_its_authors_and_does_not_come_true_by_trying(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.resource("configmaps").create(config("a"))
    manifest = config("a", x="1")
    manifest["metadata"]["resourceVersion"] = "1"

    report = await client.apply_all([manifest], prune="set")

    assert report[0].outcome is Outcome.FAILED
    assert sum(request.verb == "patch" and request.name == "a" for request in server.requests) == 1


async def test_what_another_run_of_the_set_brings_meanwhile_stays_covered(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a")], prune="set")
    server.inject(Delay(5), verb="patch", resource="secrets")

    async with client.apply_all([config("a"), namespace("n")], prune="set") as run:
        await trio.sleep(1)
        await client.resource("secrets").update(await with_kinds(client, "ConfigMap,Pod"))
        await anext(run)  # members come after the parent
        kinds = (await client.resource("secrets").get("set")).annotations[KINDS]
        report = await finished(run)

    assert report.ok, report
    assert kinds == "ConfigMap,Namespace,Pod"


async def test_what_is_added_while_the_set_is_pruned_keeps_the_parent_wide(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a"), config("b"), definition(), widget("w")], prune="set")
    server.inject(Delay(5), verb="delete", resource="configmaps")

    async with client.apply_all([config("a"), definition()], prune="set") as run:
        await trio.sleep(1)
        await client.resource("secrets").update(await with_kinds(client, "ConfigMap,Pod"))
        report = await finished(run)

    assert report.ok, report
    assert (await client.resource("secrets").get("set")).annotations[KINDS] == "ConfigMap,Pod"


async def test_a_parent_that_changes_in_other_ways_covers_what_is_left(
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
