"""Failures of single objects: one entry each; other objects are applied with ``on_error="continue"``."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.errors import ApplyConflict, InvalidObject
from dynkube.manifests import Outcome
from dynkube_testing import APIServer, Delay, Disconnect, Hang, Refuse
from tests.manifests.kit import config, namespace, outcomes

SELECTOR = {"matchLabels": {"app": "web"}}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": SELECTOR,
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


def selecting(app: str) -> dict[str, object]:
    """Return the Deployment with another selector, which is immutable."""
    template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return {**WEB, "spec": {"selector": {"matchLabels": {"app": app}}, "template": template}}


async def test_a_conflict_names_field_and_manager_and_both_values(client: dynkube.Client) -> None:
    await client.apply_all(config("a", x="theirs"), field_manager="other")

    report = await client.apply_all([config("a", x="ours"), config("b")], on_error="continue")

    assert outcomes(report) == [("conflicted", "configmap/a"), ("created", "configmap/b")]
    assert isinstance(report[0].error, ApplyConflict)
    assert [(each.path, each.manager) for each in report[0].error.conflicts] == [(".data.x", "other")]
    assert '"ours"' in str(report)
    assert '"theirs"' in report._repr_html_().replace("&quot;", '"')


async def test_force_takes_over_all_or_the_given_fields(client: dynkube.Client) -> None:
    await client.apply_all(config("a", x="theirs", y="theirs"), field_manager="other")

    named = await client.apply_all(config("a", x="ours", y="ours"), force=[".data.x"])
    one = await client.apply_all(config("a", x="ours"), force=[".data.x"])
    all_of_it = await client.apply_all(config("a", x="ours", y="ours"), force=True)

    assert [report[0].outcome for report in (named, one, all_of_it)] == ["conflicted", "changed", "changed"]


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (
            config("a", namespace="nowhere"),
            "namespace nowhere does not exist: create it, or add a Namespace to the source",
        ),
        (selecting("other"), "field is immutable"),
        (config("no spaces allowed"), "a lowercase RFC 1123 subdomain"),
        ({**config("a"), "kind": "Configmap"}, "Configmap"),
        ({**config("a"), "data": {"x": 1}}, ".data.x"),
        ({**config("a"), "metadata": {"name": "a", "managedFields": [{"manager": "x"}]}}, "managedFields"),
        ({**config("a"), "metadata": {"name": "a", "uid": "other"}}, "uid"),
    ],
)
async def test_rejected_objects_are_failures_and_other_objects_are_applied(
    client: dynkube.Client, obj: dict[str, object], message: str
) -> None:
    await client.apply_all([WEB, config("a")])

    report = await client.apply_all([obj, config("z")], on_error="continue")

    assert [entry.outcome for entry in report] == [Outcome.FAILED, Outcome.CREATED]
    assert message in report[0].message
    assert not report.ok


@pytest.mark.parametrize("code", [403, 500])
async def test_missing_permissions_and_webhook_denials_are_failures(
    server: APIServer, client: dynkube.Client, code: int
) -> None:
    server.inject(
        Refuse(code, message='admission webhook "no.example.com" denied the request'),
        verb="patch",
        when=lambda request: request.name == "a",
    )

    report = await client.apply_all([config("a"), config("b")], on_error="continue")

    assert [entry.outcome for entry in report] == [Outcome.FAILED, Outcome.CREATED]
    assert 'admission webhook "no.example.com" denied the request' in report[0].message


async def test_an_object_that_must_not_be_read_is_reported_as_applied(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all(config("a"))
    server.inject(Refuse(403), verb="get", resource="configmaps")

    report = await client.apply_all([config("a"), config("b")])

    assert [entry.outcome for entry in report] == [Outcome.APPLIED, Outcome.CREATED]
    assert report.ok
    assert report.changed


async def test_by_default_nothing_is_sent_after_the_first_failure(client: dynkube.Client) -> None:
    report = await client.apply_all([config("a"), config("b", namespace="nowhere"), config("c")], parallel=1)

    assert [entry.outcome for entry in report] == [Outcome.CREATED, Outcome.FAILED, Outcome.SKIPPED]
    assert report[2].reason == "not sent: the run stopped at the first failure, <object 2>"


async def test_requests_in_flight_are_completed_after_a_failure(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Delay(5), verb="patch", when=lambda request: request.name == "slow")

    report = await client.apply_all([config("slow"), config("bad", namespace="nowhere")])

    assert [entry.outcome for entry in report] == [Outcome.CREATED, Outcome.FAILED]
    assert trio.current_time() == pytest.approx(5)


async def test_by_default_nothing_is_sent_if_the_source_has_an_error(server: APIServer, client: dynkube.Client) -> None:
    source = [config("a"), "kind: {\n"]

    stopped = await client.apply_all(source)
    written = [request for request in server.requests if request.verb == "patch"]
    went_on = await client.apply_all(source, on_error="continue")

    assert not written
    assert [entry.outcome for entry in stopped] == [Outcome.SKIPPED, Outcome.FAILED]
    assert [entry.outcome for entry in went_on] == [Outcome.CREATED, Outcome.FAILED]
    assert isinstance(went_on[1].error, InvalidObject)
    assert went_on[1].source.startswith("<text>:2:1")


async def test_contradictory_manifests_fail_and_identical_ones_are_applied_once(client: dynkube.Client) -> None:
    report = await client.apply_all(
        [config("a", x="1"), config("a", x="2"), config("b"), config("b")], on_error="continue"
    )

    assert [str(entry.outcome) for entry in report] == ["failed", "failed", "created", "skipped"]
    assert report[3].reason == "identical to the object at <object 3>"


async def test_the_report_of_an_interrupted_run_has_all_outcomes(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Hang(), verb="patch", when=lambda request: request.name == "b")
    run = client.apply_all([config("a"), config("b"), config("c")], parallel=1)

    with trio.move_on_after(3):
        await run

    assert [str(entry.outcome) for entry in run.report] == ["created", "interrupted", "skipped"]
    assert [entry.reason for entry in run.report][1:] == [
        "sent, but the run ended before the response",
        "not sent: the run was interrupted",
    ]
    assert run.report.summary == "1 created, 1 skipped, 1 interrupted; the run was interrupted"


async def test_leaving_the_block_early_ends_the_run(server: APIServer, client: dynkube.Client) -> None:
    async with client.apply_all([config(f"c{n}") for n in range(50)], parallel=1) as run:
        async for _ in run:
            break

    assert run.report.interrupted
    assert not run.report.ok
    assert len(run.report) == 50


async def test_a_broken_connection_is_a_failure_of_its_object(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Disconnect("reset"), verb="patch", when=lambda request: request.name == "a")

    report = await client.apply_all([config("a"), config("b")], on_error="continue", timeout=10)

    assert [entry.outcome for entry in report] == [Outcome.FAILED, Outcome.CREATED]


async def test_in_a_dry_run_a_kind_namespace_of_another_group_is_not_special(client: dynkube.Client) -> None:
    foreign = {"apiVersion": "example.com/v1", "kind": "Namespace", "metadata": {"name": "a"}}

    report = await client.apply_all(foreign, dry_run=True)

    assert "the server does not serve 'example.com/v1 Namespace'" in report[0].message


async def test_a_dry_run_writes_nothing(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(config("b"))
    revision = server.revision

    report = await client.apply_all(
        [namespace("n"), config("a"), config("b"), config("c", namespace="n")], dry_run=True
    )

    assert [str(entry.outcome) for entry in report] == ["created", "created", "unchanged", "skipped"]
    assert report[3].reason == "its namespace n would be created, and without it the server cannot check this"
    assert report.summary == "2 created, 1 unchanged, 1 skipped (dry run: nothing was written)"
    assert server.revision == revision
