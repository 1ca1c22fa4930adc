"""``diff_all`` with ``prune``: the changes that ``apply_all`` with pruning would make."""

from __future__ import annotations

import pytest

import dynkube
from dynkube.errors import InvalidInput
from dynkube.manifests import ApplySet, DiffEntry
from dynkube_testing import APIServer, Refuse
from tests.manifests.kit import config, crd, namespace, widget

PART_OF = "applyset.kubernetes.io/part-of"


async def test_members_do_not_differ_and_without_prune_lose_their_label(
    client: dynkube.Client,
) -> None:
    await client.apply_all([config("a"), namespace("n")], prune="set")

    as_set = await client.diff_all([config("a"), namespace("n")], prune="set")
    alone = await client.diff_all([config("a")])

    assert (bool(as_set), as_set.ok, as_set.summary) == (False, True, "0 differ, 2 do not")
    assert f"-    {PART_OF}: " in str(alone)


async def test_objects_removed_from_the_source_are_reported_as_pruned(
    server: APIServer, client: dynkube.Client
) -> None:
    secret = {**config("s"), "kind": "Secret", "data": {"pin": "MTIzNDU2"}}
    await client.apply_all([config("a"), config("b", x="1"), secret], prune="set")
    revision, entries = server.revision, list[DiffEntry]()

    report = await client.diff_all([config("a", x="2"), config("new")], prune="set", on_entry=entries.append)

    assert (bool(report), report.ok, report.summary) == (True, True, "2 differ, 0 do not, 2 would be pruned")
    assert [entry.pruned for entry in report] == [False, False, True, True]
    assert str(report[2]).startswith("--- live ConfigMap default/b\n+++ pruned ConfigMap default/b\n@@")
    assert "\n-  x: '1'" in str(report[2])
    assert "MTIzNDU2" not in str(report) + report._repr_html_()
    assert entries == list(report)
    assert server.revision == revision


async def test_if_an_object_fails_pruned_objects_are_unknown(client: dynkube.Client) -> None:
    await client.apply_all([config("a")], prune="one")
    await client.apply_all([config("b"), config("c")], prune="two")
    named = config("d")
    named["metadata"]["labels"] = {PART_OF: "applyset-one-v1"}

    report = await client.diff_all([config("a"), config("b"), named, widget("w")], prune="two")

    assert "it belongs to another ApplySet" in report[0].message
    assert "of another ApplySet: remove it" in report[2].message
    assert str(report[4]) == "# nothing would be pruned, as not all objects could be applied"
    assert (report.ok, report.summary) == (False, "0 differ, 1 do not, 3 failed")


async def test_after_a_conflict_nothing_would_be_pruned_as_by_an_apply(client: dynkube.Client) -> None:
    await client.apply_all([config("a", x="1"), config("b")], prune="set")
    await client.resource("configmaps").patch("a", {"data": {"x": "2"}}, field_manager="kubectl-edit")

    report = await client.diff_all([config("a", x="1")], prune="set")
    applied = await client.apply_all([config("a", x="1")], prune="set")

    assert [(entry.pruned, entry.reason) for entry in report] == [
        (False, ""),
        (False, "nothing would be pruned, as not all objects could be applied"),
    ]
    assert not applied.of("pruned")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ApplySet("x", "pods"), "the ApplySet pods/x cannot be used: pods.v1 cannot be the parent"),
        (ApplySet("x", namespace="nowhere"), 'namespaces "nowhere" not found'),
    ],
)
async def test_an_unusable_set_is_the_only_entry(client: dynkube.Client, wanted: ApplySet, message: str) -> None:
    (entry,) = await client.diff_all([config("a")], prune=wanted)

    assert message in str(entry)
    assert entry.error is not None


async def test_a_set_that_does_not_exist_has_no_members(server: APIServer, client: dynkube.Client) -> None:
    source = [namespace("home"), config("a", namespace="home"), crd(), widget("w")]
    revision = server.revision

    report = await client.diff_all(source, prune=ApplySet("set", namespace="home"))

    assert (report.ok, report.summary) == (True, "4 differ, 0 do not")
    assert server.revision == revision


async def test_objects_that_must_not_be_deleted_are_failures(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")
    server.inject(Refuse(403), verb="delete", resource="configmaps")

    report = await client.diff_all([config("b")], prune="set")

    assert not report.ok
    assert "it is no longer in the source, but could not be pruned: 403 " in str(report)


@pytest.mark.parametrize(("source", "prune"), [([], "set"), ([config("a")], "configmaps/")])
async def test_an_empty_source_and_an_invalid_name_are_rejected(
    client: dynkube.Client, source: list[dict[str, object]], prune: str
) -> None:
    with pytest.raises(InvalidInput):
        await client.diff_all(source, prune=prune)
