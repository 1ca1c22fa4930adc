"""One answer of a server that is starting, or of a proxy, makes no run succeed, and no kind or object forgotten."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.manifests import ApplySet, Outcome
from dynkube_testing import APIServer, Delay, Refuse, Rewrite, rewrites
from tests.manifests.kit import config, crd, namespace, outcomes, widget
from tests.suite.transient import TRANSIENT

KINDS = "applyset.kubernetes.io/contains-group-kinds"
PAGE = TRANSIENT["404 page"]
MEMBERS = [config("a"), config("b"), crd(), widget("v"), widget("w")]
LEFT = [config("a"), crd(), widget("v")]
PRUNED = [("pruned", "configmap/b"), ("pruned", "widget.example.com/w")]


async def annotation(server: APIServer) -> str:
    return str(server.get("secrets", "set", "default")["metadata"]["annotations"][KINDS])


def live(server: APIServer) -> set[str]:
    return {each["metadata"]["name"] for kind in ("configmaps", "widgets") for each in server.list(kind)}


@pytest.mark.parametrize("skip", range(16))
@pytest.mark.parametrize("answer", TRANSIENT)
async def test_a_transient_answer_to_any_request_never_hides_a_member(
    server: APIServer, client: dynkube.Client, answer: str, skip: int
) -> None:
    await client.apply_all(MEMBERS, prune="set")
    fault = server.inject(TRANSIENT[answer], skip=skip, times=1)
    async with dynkube.connect(transport=server.transport()) as fresh:
        report = await fresh.apply_all(LEFT, prune="set", on_error="continue")
    if not fault.hits:
        pytest.skip("fewer requests")

    assert not report.ok or live(server) == {"a", "v"}
    assert {"a", "v"} <= live(server)
    if len(live(server)) > 2:
        assert "Widget.example.com" in await annotation(server)
        later = await client.apply_all(LEFT, prune="set")
        assert later.ok
        assert live(server) == {"a", "v"}


@pytest.mark.parametrize("answer", TRANSIENT)
async def test_a_transient_answer_for_the_members_of_a_kind_fails_and_the_kind_stays(
    server: APIServer, client: dynkube.Client, answer: str
) -> None:
    await client.apply_all([config("a"), crd(), widget("w")], prune="set")
    fault = server.inject(TRANSIENT[answer], verb="list", resource="widgets", duration=100)

    report = await client.apply_all([config("a"), crd()], prune="set")
    fault.remove()

    assert [entry.outcome for entry in report][2:] == [Outcome.FAILED]
    assert "nothing was pruned, and Widget.example.com remains one of its kinds" in report[2].message
    assert "Widget.example.com" in await annotation(server)
    assert outcomes(await client.apply_all([config("a"), crd()], prune="set"))[2:] == [PRUNED[1]]


async def test_discovery_that_lacks_a_group_for_a_moment_forgets_no_kind(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        await client.apply_all([config("a"), crd(), widget("w")], prune="set")
    server.inject(Rewrite(rewrites.without_group("example.com")), path_prefix="/apis", duration=5)
    server.inject(PAGE, path_prefix="/apis/example.com", duration=5)

    async with dynkube.connect(transport=server.transport()) as fresh:
        report = await fresh.apply_all([config("a"), crd()], prune="set")

    assert "although a CRD defines it" in report[2].message
    assert "Widget.example.com" in await annotation(server)


@pytest.mark.parametrize(("seconds", "ok"), [(5, False), (3600, True)])
async def test_without_rights_on_crds_discovery_has_to_lack_a_kind_twice(
    server: APIServer, seconds: float, ok: bool
) -> None:
    server.create(crd())
    async with dynkube.connect(transport=server.transport()) as client:
        await client.apply_all([config("a"), widget("w")], prune="set")
        server.inject(Rewrite(rewrites.without_group("example.com")), path_prefix="/apis", duration=seconds)
        server.inject(PAGE, path_prefix="/apis/example.com", duration=seconds)
        server.inject(Refuse(403), resource="customresourcedefinitions")
    async with dynkube.connect(transport=server.transport()) as fresh:
        began = trio.current_time()
        report = await fresh.apply_all([config("a")], prune="set")

    assert report.ok is ok
    assert ("Widget" in await annotation(server)) is not ok
    assert 10 <= trio.current_time() - began < 15


async def test_a_server_that_is_not_ready_confirms_nothing_for_a_minute(server: APIServer) -> None:
    server.create(crd())
    async with dynkube.connect(transport=server.transport()) as client:
        await client.apply_all([config("a"), widget("w")], prune="set")
    server.delete("customresourcedefinitions", "widgets.example.com")
    server.inject(Refuse(403), resource="customresourcedefinitions")
    server.inject(Refuse(500), path_prefix="/readyz")
    async with dynkube.connect(transport=server.transport()) as fresh:
        began = trio.current_time()
        report = await fresh.apply_all([config("a")], prune="set")

    assert report.ok, str(report)
    assert trio.current_time() - began >= 60


@pytest.mark.parametrize("answer", [each for each in TRANSIENT if each != "503"])
async def test_a_delete_without_a_proof_is_a_failure(server: APIServer, client: dynkube.Client, answer: str) -> None:
    await client.apply_all([config("a"), config("b")], prune="set")
    fault = server.inject(TRANSIENT[answer], verb="delete", resource="configmaps", duration=100)

    report = await client.apply_all([config("a")], prune="set")
    fault.remove()

    assert outcomes(report)[1:] == [("failed", "configmap/b")]
    assert outcomes(await client.apply_all([config("a")], prune="set"))[1:] == [PRUNED[0]]


async def test_an_old_set_with_a_resource_in_doubt_cannot_be_used(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all([config("a"), crd(), widget("w")], prune="set")
    old = {"applyset.kubernetes.io/contains-group-resources": "configmaps,widgets.example.com", KINDS: None}
    await client.resource("secrets").patch("set", {"metadata": {"annotations": old}})
    server.inject(Rewrite(rewrites.without_group("example.com")), path_prefix="/apis", duration=5)
    server.inject(PAGE, path_prefix="/apis/example.com", duration=5)

    async with dynkube.connect(transport=server.transport()) as fresh:
        report = await fresh.apply_all([config("a")], prune="set")
    await trio.sleep(10)
    later = await client.apply_all([config("a"), crd()], prune="set")

    assert not report.ok
    assert "although a CRD defines it" in str(report)
    assert outcomes(later)[2:] == [PRUNED[1]]


async def test_a_kind_that_is_discovered_late_is_one_of_the_set(server: APIServer) -> None:
    server.create(crd())
    server.inject(PAGE, path_prefix="/apis/example.com", duration=8)
    server.inject(Rewrite(rewrites.without_group("example.com")), path_prefix="/apis", duration=8)
    server.inject(Delay(10), verb="patch", resource="configmaps")
    async with dynkube.connect(transport=server.transport()) as client:
        report = await client.apply_all([config("a"), widget("w")], prune="set", parallel=1)

    assert "Widget.example.com" in await annotation(server), report


@pytest.mark.parametrize("answer", TRANSIENT)
async def test_a_diff_with_an_unproven_absence_is_an_error(
    server: APIServer, client: dynkube.Client, answer: str
) -> None:
    await client.apply_all([config("a", x="1")])
    server.inject(TRANSIENT[answer], verb="get", resource="configmaps", duration=100)

    report = await client.diff_all([config("a", x="1")])

    assert not report.ok
    assert report[0].diff is None


async def test_a_diff_of_a_kind_that_is_missing_for_a_moment_is_an_error(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        await client.apply_all([crd(), widget("w")])
    server.inject(Rewrite(rewrites.without_group("example.com")), path_prefix="/apis", duration=5)
    server.inject(PAGE, path_prefix="/apis/example.com", duration=5)

    async with dynkube.connect(transport=server.transport()) as fresh:
        report = await fresh.diff_all([crd(), widget("w")])
        dry_run = await fresh.apply_all([crd(), widget("w")], dry_run=True)

    assert (report.ok, report[1].new) == (False, False)
    assert (dry_run.ok, dry_run[1].outcome) == (False, Outcome.FAILED)


@pytest.mark.parametrize("answer", ["404 page", "404 Status without a name", "404 HTML"])
async def test_a_parent_that_is_not_found_for_a_moment_is_not_created_again(
    server: APIServer, client: dynkube.Client, answer: str
) -> None:
    await client.apply_all([config("a"), namespace("n")], prune=ApplySet("set"))
    server.inject(TRANSIENT[answer], verb="get", resource="secrets", duration=100)

    report = await client.apply_all([config("a")], prune="set", dry_run=True)

    assert not report.ok
    assert "the ApplySet secrets/set cannot be used" in report[1].message


async def test_a_diff_of_an_object_whose_live_crd_does_not_serve_its_version_yet_is_not_known(
    client: dynkube.Client,
) -> None:
    await client.apply_all([crd(), widget("w")])

    report = await client.diff_all([crd(served=("v1", "v2")), widget("w", version="v2")])

    assert (report.ok, report[1].new, report[1].diff) == (False, False, None)
    assert "its CRD widgets.example.com does not serve v2 before it is changed" in report[1].message


async def test_discovery_has_to_lack_a_kind_of_an_aggregated_api_twice(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.apply_all([config("a")], prune="set")
    kinds = {"metadata": {"annotations": {KINDS: "ConfigMap,Route.route.openshift.io"}}}
    await client.resource("secrets").patch("set", kinds)
    spec = {"group": "route.openshift.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    spec |= {"service": {"name": "api", "namespace": "default"}, "insecureSkipTLSVerify": True}
    name = {"name": "v1.route.openshift.io"}
    server.create({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": name, "spec": spec})
    server.inject(Rewrite(rewrites.without_group("route.openshift.io")), path_prefix="/apis")
    server.inject(PAGE, path_prefix="/apis/route.openshift.io")

    async with dynkube.connect(transport=server.transport()) as fresh:
        began = trio.current_time()
        await fresh.apply_all([config("a")], prune="set")

    assert trio.current_time() - began >= 10
