"""Informers of a set of namespaces: how many are watched, how rights are reviewed, and what a set may be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, SYNCING, Client, Informer, LabelSelector, NamespaceSet, Unstructured
from dynkube.errors import InvalidInput, InvalidSelector
from dynkube.meta import Added
from dynkube.testing import APIServer, Hang, RequestFacts, Rewrite
from tests.informers.kit import WIDGETS, Recorder, crd, names, namespace, quiet, widget

REVIEWS = "selfsubjectaccessreviews"


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with ten namespaces, n0 to n9, each with a widget w0 to w9."""
    async with APIServer(rbac=True) as server:
        server.create(crd())
        for number in range(10):
            server.create(namespace(f"n{number}", {"parity": "even" if number % 2 == 0 else "odd"}))
            server.create(widget(f"w{number}", namespace=f"n{number}"))
        yield server


def connect(server: APIServer, user: str = "", **settings: Any) -> Client:
    transport = server.transport(user=user) if user else server.transport()
    return dynkube.connect(transport=transport, settings=dynkube.InformerSettings(random=Random(7), **settings))


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[Client]:
    async with connect(server) as client:
        yield client


def grant(server: APIServer, *namespaces: str, verbs: Iterable[str] = ("list", "watch")) -> None:
    """Let Alice read widgets in namespaces."""
    for name in namespaces:
        server.grant("alice", verbs=verbs, resource="widgets.example.com", namespace=name)


def revoke(server: APIServer, name: str) -> None:
    """Take all of Alice's rights in a namespace."""
    assert server.revoke("alice", namespace=name)


def watched(server: APIServer) -> list[str]:
    """Return the namespaces whose widgets are being watched."""
    return sorted(watch.namespace for watch in server.open_watches if watch.resource.resource == "widgets")


def reasons(informer: Informer) -> dict[str, str]:
    return {name: status.state.reason for name, status in informer.namespaces.items()}


# ── how many ─────────────────────────────────────────────────────────────────────────────────


async def test_namespaces_beyond_the_limit_are_reported_until_others_leave(server: APIServer) -> None:
    chosen = NamespaceSet(["n0", "n1", "n2"])
    async with connect(server, max_namespaces=2) as client, client.informer(WIDGETS, namespaces=chosen) as widgets:
        state = await widgets.wait_state(DEGRADED)
        await quiet()
        assert (state.reason, watched(server)) == ("TooManyNamespaces", ["n0", "n1"])
        assert "InformerSettings.max_namespaces is 2" in state.message
        assert (names(widgets.list()), widgets.has_synced) == (["w0", "w1"], False)

        chosen.discard("n0")
        await widgets.wait_synced()
        await widgets.wait_state(LIVE)
        assert (names(widgets.list()), watched(server)) == (["w1", "w2"], ["n1", "n2"])


async def test_forbidden_namespaces_take_no_place_of_others(server: APIServer) -> None:
    grant(server, "n7", "n9")
    ten = [f"n{number}" for number in range(10)]
    client = connect(server, "alice", max_namespaces=2)
    async with client, client.informer(WIDGETS, namespaces=ten) as widgets:
        await widgets.wait_synced()
        await widgets.wait_state(LIVE)

        assert (names(widgets.list()), watched(server)) == (["w7", "w9"], ["n7", "n9"])


async def test_a_thousand_names_are_tried_with_few_connections_at_the_same_time(server: APIServer) -> None:
    grant(server, "n7")
    many = [f"x{number}" for number in range(1000)]
    client = connect(server, "alice", max_namespaces=20)
    async with client, client.informer(WIDGETS, namespaces=["n7", *many]) as widgets:
        await widgets.wait_synced()

        assert (names(widgets.list()), watched(server)) == (["w7"], ["n7"])
        assert widgets.state.message.startswith("1000 of 1001 namespaces are forbidden: x0, x1, x10 and 997 more")


# ── rights ───────────────────────────────────────────────────────────────────────────────────


async def test_objects_go_when_the_right_is_lost_although_the_watch_stays_open(server: APIServer) -> None:
    grant(server, "n1", "n2")
    recorder = Recorder()
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert sorted(await recorder.drain()) == ["add/w1", "add/w2"]

        revoke(server, "n1")
        await trio.sleep(29)
        assert (names(widgets.list()), watched(server)) == (["w1", "w2"], ["n1", "n2"])
        await trio.sleep(2)
        assert (names(widgets.list()), watched(server)) == (["w2"], ["n2"])
        assert (await recorder.drain(), reasons(widgets)) == (["delete/w1"], {"n1": "Forbidden", "n2": "Watching"})


async def test_objects_come_when_the_right_is_granted(server: APIServer) -> None:
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        await widgets.wait_synced()
        assert (widgets.state.phase, widgets.list(), watched(server)) == (ABSENT, [], [])

        grant(server, "n2")
        await trio.sleep(31)

        assert (names(widgets.list()), widgets.state.phase) == (["w2"], LIVE)
        assert widgets.state.message == "1 of 2 namespaces are forbidden: n1"


async def test_reviews_are_one_for_each_namespace_or_one_for_all(server: APIServer) -> None:
    def reviews() -> int:
        return sum(record.path.endswith(REVIEWS) for record in server.requests)

    grant(server, "n1")
    for user, each in (("alice", 1 + 3), ("", 1)):
        client = connect(server, user)
        async with client, client.informer(WIDGETS, namespaces=["n1", "n2", "n3"]) as widgets:
            await widgets.wait_synced()
            server.forget_requests()
            await trio.sleep(31)
            assert reviews() == each


async def test_where_rights_cannot_be_reviewed_forbidden_namespaces_are_tried_again(server: APIServer) -> None:
    server.fail(resource=REVIEWS, status=403)
    grant(server, "n1")
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        await widgets.wait_synced()
        assert names(widgets.list()) == ["w1"]

        grant(server, "n2")
        await trio.sleep(31)

        assert names(widgets.list()) == ["w1", "w2"]


async def test_reviews_that_fail_change_nothing_and_are_reported(server: APIServer) -> None:
    grant(server, "n1")
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        await widgets.wait_synced()
        server.inject(Rewrite(lambda document: {"status": "Success"}), resource=REVIEWS)

        await trio.sleep(40)

        assert reasons(widgets) == {"n1": "Watching", "n2": "Forbidden"}
        assert "not a SelfSubjectAccessReview" in widgets.statistics().last_error


async def test_where_only_watching_is_forbidden_objects_are_listed_at_intervals(server: APIServer) -> None:
    grant(server, "n1", verbs=["list"])
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1"]) as widgets:
        await widgets.wait_synced()
        server.create(widget("new", namespace="n1"))
        await trio.sleep(120)

        assert names(widgets.list()) == ["new", "w1"]
        assert (widgets.state.phase, widgets.state.reason) == (DEGRADED, "Forbidden")


async def test_labels_of_namespaces_that_may_not_be_listed_leave_the_set_unknown(server: APIServer) -> None:
    grant(server, "n1")
    odd = LabelSelector.parse("parity=odd")
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=odd) as widgets:
        await trio.sleep(60)

        assert (widgets.state.phase, widgets.state.reason) == (SYNCING, "NamespacesPending")
        assert "Forbidden" in widgets.state.message
        assert (widgets.has_synced, dict(widgets.namespaces)) == (False, {})


# ── changes of the set ───────────────────────────────────────────────────────────────────────


async def test_a_namespace_that_leaves_while_it_is_listed_ends_the_list(server: APIServer) -> None:
    chosen = NamespaceSet(["n1", "n2"])
    server.inject(Hang(), when=lambda request: "/n2/widgets" in request.path)
    async with connect(server) as client, client.informer(WIDGETS, namespaces=chosen) as widgets:
        await quiet()
        assert (widgets.state.phase, widgets.has_synced) == (SYNCING, False)
        assert widgets.state.message == "1 of 2 namespaces are being listed: n2"

        chosen.discard("n2")
        await widgets.wait_synced()

        assert (names(widgets.list()), widgets.state.phase) == (["w1"], LIVE)


async def test_informers_of_the_same_namespaces_share_lists_and_watches(server: APIServer, client: Client) -> None:
    one, other = client.informer(WIDGETS, namespaces=["n1", "n2"]), client.informer(WIDGETS, namespaces={"n2", "n1"})
    async with one, other:
        await one.wait_synced()
        await other.wait_synced()

        assert watched(server) == ["n1", "n2"]
        (status,) = [each for each in client.informers() if each.gvr.resource == "widgets"]
        assert (status.namespaces, status.users, status.objects) == ("n1, n2", 2, 2)
        assert "n1, n2" in str(client.informers())


async def test_a_set_is_followed_by_informers_of_several_resources(server: APIServer, client: Client) -> None:
    chosen = NamespaceSet(["n1"])
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c2", "namespace": "n2"}})
    async with (
        client.informer(WIDGETS, namespaces=chosen) as widgets,
        client.informer("configmaps.v1", namespaces=chosen) as configs,
    ):
        await widgets.wait_synced()
        await configs.wait_synced()

        chosen.add("n2")
        await quiet()

        assert (names(widgets.list()), names(configs.list())) == (["w1", "w2"], ["c2"])
    chosen.add("n3")  # is followed by nothing any more
    assert chosen.names == {"n1", "n2", "n3"}


@pytest.mark.real_time
async def test_a_set_may_be_changed_in_another_thread(client: Client) -> None:
    chosen = NamespaceSet(["n1"])
    async with client.informer(WIDGETS, namespaces=chosen) as widgets:
        await widgets.wait_synced()
        async with widgets.events() as events:
            assert await anext(events) == Added(widgets.list()[0], initial=True)
            await trio.to_thread.run_sync(chosen.add, "n2")
            event = await anext(events)
            assert isinstance(event, Added)
            assert event.object.name == "w2"
    await trio.to_thread.run_sync(chosen.discard, "n2")


async def test_a_filter_and_an_index_span_the_namespaces(client: Client) -> None:
    everything = client.informer(WIDGETS, namespaces=["n1", "n2", "n3"], indexes={"name": "{.metadata.name}"})
    async with everything as widgets:
        recorder = Recorder()
        recorder.attach(widgets)
        await widgets.wait_synced()
        await recorder.drain()

        widgets.set_filter(lambda obj: obj.namespace != "n2")

        assert await recorder.drain() == ["delete/w2"]
        assert (names(widgets.by_index("name", "w1")), widgets.by_index("name", "w2")) == (["w1"], [])


async def test_a_wait_for_an_object_of_another_namespace_raises(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        await widgets.wait_synced()
        other = Unstructured(server.create(widget("other", namespace="n3")))

        with pytest.raises(InvalidInput, match="which the informer does not follow now"):
            await widgets.wait_for(other)


async def test_objects_of_another_namespace_are_refused(server: APIServer, client: Client) -> None:
    def misplaced(document: dict[str, Any]) -> dict[str, Any]:
        items = [{**item, "metadata": {**item["metadata"], "namespace": "n9"}} for item in document["items"]]
        return {**document, "items": items}

    def lists_of_n1(request: RequestFacts) -> bool:
        return request.verb == "list" and "/n1/" in request.path

    server.inject(Rewrite(misplaced), when=lists_of_n1)
    both = client.informer(WIDGETS, namespaces=["n1", "n2"], streaming_lists=False)
    async with both as widgets:
        await widgets.wait_state(DEGRADED)

        assert (names(widgets.list()), widgets.has_synced) == (["w2"], False)
        assert "the list of namespace 'n1' contains" in widgets.statistics().last_error


# ── what is given ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("shop", "is one string: pass namespace='shop' for one namespace"),
        (7, "namespaces is an int"),
        ([7], "contains an int"),
        (["a", ""], "contains an empty string"),
        (["Not_Valid"], "Not_Valid"),
        (["a/b"], "a/b"),
        (frozenset(["A"]), "'A'"),
        ((str(number) for number in range(100_001)), "more than 100,000 names"),
        ({"a b": "c"}, "a b"),
    ],
)
def test_what_is_not_a_set_of_namespaces_is_refused(given: Any, message: str) -> None:
    client = dynkube.connect(transport=APIServer().transport())
    with pytest.raises((InvalidInput, InvalidSelector), match=message):
        client.informer(WIDGETS, namespaces=given)


def test_a_namespace_and_a_set_exclude_each_other() -> None:
    client = dynkube.connect(transport=APIServer().transport())
    with pytest.raises(InvalidInput, match="namespace='a' and namespaces= exclude each other"):
        client.informer(WIDGETS, namespace="a", namespaces=["b"])


async def test_a_cluster_scoped_resource_has_no_namespaces(client: Client) -> None:
    async with client.informer("nodes.v1", namespaces=["n1"]) as nodes:
        state = await nodes.wait_state(ABSENT)

        assert (state.reason, state.message) == ("WrongScope", "nodes.v1 is cluster-scoped: leave namespaces= out")


def test_a_set_that_is_given_a_wrong_name_stays_as_it_was() -> None:
    chosen = NamespaceSet(["a", "b"])

    with pytest.raises(InvalidInput, match="'B'"):
        chosen.add("c", "B")

    assert (sorted(chosen.names), repr(chosen)) == (["a", "b"], "<NamespaceSet a, b>")


async def test_an_empty_set_is_live_and_shows_nothing(client: Client) -> None:
    async with client.informer(WIDGETS, namespaces=[]) as widgets:
        await widgets.wait_synced()

        assert (widgets.list(), widgets.state.phase, widgets.state.message) == ([], LIVE, "no namespace is selected")
        assert "no namespaces" in repr(widgets)
