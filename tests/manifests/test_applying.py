"""Applying many objects: order, concurrency, and the report."""

from __future__ import annotations

from collections import Counter, UserDict
from collections.abc import Callable, KeysView
from pathlib import Path

import pytest
import trio

import dynkube
from dynkube.errors import ClosedError, InvalidInput
from dynkube.manifests import Entry, Outcome
from dynkube_testing import APIServer, Delay
from tests.manifests.kit import JSONObject, config, crd, namespace, outcomes, text_of, widget


async def test_objects_are_reported_as_created_unchanged_or_changed(client: dynkube.Client) -> None:
    source = [config("a", x="1"), config("b")]

    first = await client.apply_all(source)
    again = await client.apply_all(source)
    edited = await client.apply_all([config("a", x="2"), config("b")])

    assert outcomes(first) == [("created", "configmap/a"), ("created", "configmap/b")]
    assert outcomes(again) == [("unchanged", "configmap/a"), ("unchanged", "configmap/b")]
    assert outcomes(edited) == [("changed", "configmap/a"), ("unchanged", "configmap/b")]
    assert first.ok
    assert (first.changed, again.changed, edited.changed) == (True, False, True)
    assert first.counts == {Outcome.CREATED: 2}


async def test_a_second_run_changes_no_resource_version(server: APIServer, client: dynkube.Client) -> None:
    source = [crd(), widget("w", size=1), config("a")]
    await client.apply_all(source)
    revision = server.revision

    report = await client.apply_all(source)

    assert [entry.outcome for entry in report] == [Outcome.UNCHANGED] * 3
    assert server.revision == revision


async def test_each_entry_has_file_and_line_and_the_live_object(client: dynkube.Client, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(text_of(config("a"), config("b")))

    report = await client.apply_all(path)

    assert [entry.source for entry in report] == [f"{path}:1", f"{path}:10"]
    assert all(entry.object is not None and entry.object.uid for entry in report)
    assert f"created  configmap/b  default    {path}:10" in str(report)


async def test_objects_that_others_need_are_applied_first(server: APIServer, client: dynkube.Client) -> None:
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}}
    source = [{**policy, "metadata": {"name": "v"}}, widget("w"), config("c", namespace="shop"), account]

    report = await client.apply_all([*source, crd(), namespace("shop")])

    written = [request.resource.resource for request in server.requests if request.verb == "patch" and request.resource]
    assert report.ok, report
    assert set(written[:2]) == {"namespaces", "customresourcedefinitions"}
    assert written[2] == "serviceaccounts"
    assert set(written[3:5]) == {"configmaps", "widgets"}
    assert written[5:] == ["validatingwebhookconfigurations"]


async def test_the_number_of_requests_in_flight_is_limited(server: APIServer, client: dynkube.Client) -> None:
    running: list[Entry] = []
    server.inject(Delay(1), verb="patch", resource="configmaps")

    began = trio.current_time()
    await client.apply_all([config(f"c{n}") for n in range(12)], parallel=4, on_entry=running.append)

    assert len(running) == 12
    assert trio.current_time() - began == pytest.approx(3)


async def test_entries_are_yielded_during_the_run_as_they_complete(client: dynkube.Client) -> None:
    entries: list[Entry] = []

    async with client.apply_all([config("a"), namespace("shop")], on_entry=entries.append) as run:
        names = [entry.name async for entry in run]

    assert names == ["namespace/shop", "configmap/a"]
    assert [entry.name for entry in entries] == names
    assert [entry.name for entry in run.report] == ["configmap/a", "namespace/shop"]
    assert run.total == 2


async def test_an_exception_in_a_callback_ends_the_run_and_is_raised(client: dynkube.Client) -> None:
    def fail(entry: Entry) -> None:
        raise LookupError(entry.name)

    run = client.apply_all([config("a"), config("b")], on_entry=fail, parallel=1)
    with pytest.raises(LookupError, match="configmap/a"):
        await run

    assert run.report.interrupted


async def test_a_run_can_be_started_only_once(client: dynkube.Client) -> None:
    run = client.apply_all(config("a"))
    await run

    with pytest.raises(ClosedError, match="started before"):
        await run


async def test_a_run_that_was_not_entered_cannot_be_iterated(client: dynkube.Client) -> None:
    with pytest.raises(ClosedError, match="not started: iterate over it inside"):
        async for _ in client.apply_all(config("a")):
            pass


async def test_an_empty_source_is_not_an_error(client: dynkube.Client) -> None:
    report = await client.apply_all([])

    assert (list(report), report.ok, report.changed, report.summary) == ([], True, False, "nothing to apply")


async def test_objects_without_a_namespace_get_the_given_one(client: dynkube.Client) -> None:
    await client.apply_all([namespace("shop"), namespace("other")])

    report = await client.apply_all(
        [config("a"), config("b", namespace="shop"), config("c", namespace="other"), namespace("more")],
        namespace="shop",
        on_error="continue",
    )

    assert [entry.namespace for entry in report] == ["shop", "shop", "other", ""]
    assert [str(entry.outcome) for entry in report] == ["created", "created", "failed", "created"]
    assert "the call has namespace='shop'" in report[2].message


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"on_error": "ignore"}, "on_error must be 'stop' or 'continue', not 'ignore'"),
        ({"parallel": 0}, "parallel must be an integer >= 1"),
        ({"parallel": 2.5}, "parallel must be an integer >= 1"),
        ({"parallel": "5"}, "parallel must be an integer >= 1"),
        ({"crd_timeout": "1m"}, "crd_timeout must be a positive number"),
        ({"timeout": -1}, "timeout must be a positive number"),
        ({"timeout": "1m"}, "timeout must be a positive number"),
        ({"field_validation": "strict"}, "field_validation must be one of 'Ignore', 'Warn', 'Strict', not 'strict'"),
        ({"namespace": 7}, "namespace=7 is not the name of a namespace"),
        ({"crd_timeout": 0}, "crd_timeout must be a positive number"),
        ({"dry_run": "client"}, "dry_run must be True or False"),
        ({"namespace": ""}, "namespace='' is not the name of a namespace"),
        ({"prune": 7}, "prune is 7: pass the name of an ApplySet"),
        ({"prune": "configmaps/"}, "neither NAME nor RESOURCE/NAME"),
    ],
)
def test_invalid_options_are_rejected_by_the_call(option: dict[str, object], message: str) -> None:
    client = dynkube.connect(url="http://nowhere.invalid")

    with pytest.raises(InvalidInput, match=message.replace("(", r"\(")):
        _ = client.apply_all(config("a"), **option)  # type: ignore[arg-type]  # invalid on purpose


class ObservedDict(UserDict[str, object]):
    """A mapping that calls ``on_read`` when it is read."""

    def __init__(self, data: JSONObject, on_read: Callable[[], None]) -> None:
        super().__init__(data)
        self._on_read = on_read

    def keys(self) -> KeysView[str]:
        self._on_read()
        return super().keys()


async def test_thousands_of_objects_are_read_in_steps_when_the_run_begins(
    client: dynkube.Client,
) -> None:
    turn = 0
    read: list[int] = []

    async def turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await trio.lowlevel.checkpoint()

    objects = [ObservedDict(config("a"), lambda: read.append(turn)) for _ in range(2_000)]
    run = client.apply_all(objects)
    assert read == []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns)
        report = await run
        nursery.cancel_scope.cancel()

    assert report.ok
    assert len(read) >= 2_000
    assert max(Counter(read).values()) < 100


async def test_the_namespace_of_a_cluster_scoped_object_is_ignored_with_a_warning(client: dynkube.Client) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    source = [{**role, "metadata": {"name": "r", "namespace": "nowhere"}}, config("a")]

    first = await client.apply_all(source, namespace="default", prune="set")
    second = await client.apply_all(source, namespace="default", prune="set")
    shown = await client.diff_all(source, namespace="default", prune="set")

    assert [[str(entry.outcome) for entry in report] for report in (first, second)] == [
        ["created"] * 2,
        ["unchanged"] * 2,
    ]
    roles = "clusterroles.v1.rbac.authorization.k8s.io"
    assert first[0].message == f"its metadata.namespace 'nowhere' is ignored, as {roles} are cluster-scoped: remove it"
    assert second[0].message == first[0].message
    assert (bool(shown), shown.ok) == (False, True)


@pytest.mark.parametrize("applied", [False, True])
async def test_another_namespace_than_that_of_the_run_is_an_error_also_if_nothing_changes(
    client: dynkube.Client, applied: bool
) -> None:
    if applied:
        await client.apply_all(config("a", namespace="default", x="1"))

    report = await client.apply_all(config("a", namespace="default", x="1"), namespace="kube-system")
    shown = await client.diff_all(config("a", namespace="default", x="1"), namespace="kube-system")

    assert "metadata.namespace 'default', but the call has namespace='kube-system'" in report[0].message
    assert shown[0].message == report[0].message


async def test_an_object_of_a_kind_status_is_no_error(client: dynkube.Client) -> None:
    definition = crd()
    definition["spec"]["names"] |= {"kind": "Status", "listKind": "StatusList"}
    failed = {**widget("a"), "kind": "Status", "status": "Failure", "code": 404}

    first = await client.apply_all([definition, failed])
    second = await client.apply_all([definition, failed])

    assert outcomes(first)[1:] == [("created", "status.example.com/a")]
    assert outcomes(second)[1:] == [("unchanged", "status.example.com/a")]
    assert [each.name for each in await client.resource("widgets.example.com").list()] == ["a"]
