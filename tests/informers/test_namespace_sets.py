"""Informers of a set of namespaces: how many are watched, how rights are reviewed, and what a set may be."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, SYNCING, Client, Informer, LabelSelector, NamespaceSet, Unstructured
from dynkube.errors import InvalidInput, InvalidSelector
from dynkube.meta import Added
from dynkube.telemetry import Collection, Observer, ReflectorOutcome
from dynkube_testing import APIServer, Hang, Refuse, RequestFacts, Rewrite
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
        assert widgets.state.message.startswith("forbidden: x0, x1, x10 and 997 more (1,000 of 1,001 namespaces)")


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
        await trio.sleep(30)
        assert (names(widgets.list()), watched(server)) == (["w1", "w2"], ["n1", "n2"])
        await trio.sleep(2)  # 30 s after the first of the refusals
        assert (names(widgets.list()), watched(server)) == (["w2"], ["n2"])
        assert (await recorder.drain(), reasons(widgets)) == (["delete/w1"], {"n1": "Forbidden", "n2": "Watching"})


async def test_objects_come_when_the_right_is_granted(server: APIServer) -> None:
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        await widgets.wait_synced()
        assert (widgets.state.phase, widgets.list(), watched(server)) == (ABSENT, [], [])

        grant(server, "n2")
        await trio.sleep(31)

        assert (names(widgets.list()), widgets.state.phase) == (["w2"], LIVE)
        assert widgets.state.message == "forbidden: n1 (1 of 2 namespaces)"


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


@pytest.mark.parametrize(("body", "times"), [("", 1), ("", 4), ("<html>403</html>", 1)])
async def test_a_list_that_is_refused_for_a_moment_removes_no_object(server: APIServer, body: str, times: int) -> None:
    grant(server, "n1", "n2")
    recorder = Recorder()
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        await recorder.drain()
        server.create(widget("x", namespace="n3"))
        server.compact()
        server.inject(Refuse(403, body=body) if body else Refuse(403), verb="list", resource="widgets", times=times)
        server.end_watches("widgets", "cut")

        await trio.sleep(120)

        assert (await recorder.drain(), widgets.state.phase) == ([], LIVE)


async def test_a_list_that_is_refused_at_the_start_is_not_an_initial_list(server: APIServer) -> None:
    grant(server, "n1")
    fault = server.inject(Refuse(403), resource="widgets")
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1"]) as widgets:
        await trio.sleep(3)
        assert not widgets.has_synced
        fault.remove()

        await widgets.wait_synced()

        assert names(widgets.list()) == ["w1"]


async def test_negative_reviews_of_a_moment_remove_no_object(server: APIServer) -> None:
    grant(server, "n1", "n2")
    recorder = Recorder()
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        await recorder.drain()
        server.inject(Rewrite(lambda document: {**document, "status": {"allowed": False}}), resource=REVIEWS, times=4)

        await trio.sleep(100)

        assert await recorder.drain() == []


async def test_a_review_that_could_not_be_evaluated_is_no_answer(server: APIServer) -> None:
    grant(server, "n1")
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1"]) as widgets:
        await widgets.wait_synced()
        status = {"allowed": False, "evaluationError": "the roles are not loaded"}
        server.inject(Rewrite(lambda document: {**document, "status": status}), resource=REVIEWS)
        server.inject(Refuse(403), resource="widgets")
        server.end_watches("widgets", "cut")

        await trio.sleep(300)

        assert names(widgets.list()) == ["w1"]


async def test_an_unready_server_that_refuses_everything_keeps_the_set_unsynced(server: APIServer) -> None:
    server.fail(status=500, path_prefix="/readyz")
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1"]) as widgets:
        await trio.sleep(55)
        assert not widgets.has_synced

        await trio.sleep(30)

        assert (widgets.has_synced, widgets.state.reason) == (True, "Forbidden")


async def test_reviews_have_the_selectors_of_the_informer(server: APIServer) -> None:
    def with_selector(document: dict[str, Any]) -> dict[str, Any]:
        attributes = document["spec"]["resourceAttributes"]
        selectors = [attributes.get(field, {}).get("rawSelector") for field in ("fieldSelector", "labelSelector")]
        return {**document, "status": {"allowed": selectors == ["metadata.name!=z", "!z"]}}

    grant(server, "n1")
    server.inject(Rewrite(with_selector), resource=REVIEWS)
    selected: dict[str, Any] = {"field_selector": "metadata.name!=z", "label_selector": "!z"}
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1"], **selected) as widgets:
        await widgets.wait_synced()
        server.forget_requests()
        await trio.sleep(100)

        assert [record for record in server.requests if record.verb == "list" and "/widgets" in record.path] == []
        assert names(widgets.list()) == ["w1"]


async def test_a_namespace_that_may_only_be_watched_is_read_by_streaming_lists(server: APIServer) -> None:
    grant(server, "n1", verbs=["watch"])
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n0", "n1"]) as widgets:
        await widgets.wait_synced()
        await trio.sleep(100)
        server.compact()
        server.end_watches("widgets", "cut")
        server.create(widget("new", namespace="n1"))
        await trio.sleep(100)

        assert (names(widgets.list()), widgets.state.phase) == (["new", "w1"], LIVE)


async def test_a_trial_is_given_up_for_a_namespace_that_needs_its_place(server: APIServer) -> None:
    server.fail(resource=REVIEWS, status=403)
    grant(server, "n2", "n3")
    chosen = NamespaceSet(["n1", "n2"])
    client = connect(server, "alice", max_namespaces=2)
    async with client, client.informer(WIDGETS, namespaces=chosen) as widgets:
        await widgets.wait_synced()
        server.inject(Hang(), when=lambda request: "/n1/widgets" in request.path)
        await trio.sleep(31)
        chosen.add("n3")
        await quiet()

        assert names(widgets.list()) == ["w2", "w3"]


async def test_a_namespace_that_is_added_later_is_listed_from_etcd(server: APIServer) -> None:
    chosen = NamespaceSet(["n1"])
    both = connect(server)
    async with both as client, client.informer(WIDGETS, namespaces=chosen, streaming_lists=False) as widgets:
        await widgets.wait_synced()
        server.forget_requests()
        chosen.add("n2")
        await widgets.wait_synced()
        await quiet()

        lists = [record for record in server.requests if record.verb == "list" and "/n2/widgets" in record.path]
        assert [record.params.get("resourceVersion", "") for record in lists] == [""]


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


async def test_a_review_that_always_fails_does_not_delay_those_of_other_namespaces(server: APIServer) -> None:
    asked: list[str] = []

    def of_n2(request: RequestFacts) -> bool:
        asked.append(request.path)
        # The first is for all namespaces; that of n2 is repeated after that of n3, until three have failed in a row.
        return len(asked) % 7 not in (1, 2, 4)

    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=["n1", "n2", "n3"]) as widgets:
        await widgets.wait_synced()
        server.inject(Refuse(500), resource=REVIEWS, when=of_n2)
        grant(server, "n1", "n2", "n3")

        await trio.sleep(40)

        assert reasons(widgets) == {"n1": "Watching", "n2": "Forbidden", "n3": "Watching"}
        assert "500" in widgets.statistics().last_error


async def test_without_reviews_a_forbidden_namespace_stays_so_while_there_is_no_room(server: APIServer) -> None:
    server.fail(resource=REVIEWS, status=403)
    grant(server, "n5", "n6")
    client = connect(server, "alice", max_namespaces=2)
    async with client, client.informer(WIDGETS, namespaces=["n1", "n5", "n6"]) as widgets:
        await widgets.wait_synced()
        with trio.move_on_after(300):
            await widgets.wait_state(DEGRADED, ABSENT)
            raise AssertionError(f"became {widgets.state}")

        assert reasons(widgets) == {"n1": "Forbidden", "n5": "Watching", "n6": "Watching"}


async def test_without_reviews_forbidden_namespaces_are_tried_in_turns(server: APIServer) -> None:
    server.fail(resource=REVIEWS, status=403)
    client = connect(server, "alice", max_namespaces=2)
    async with client, client.informer(WIDGETS, namespaces=[f"n{number}" for number in range(10)]) as widgets:
        await widgets.wait_synced()
        grant(server, "n9")

        await trio.sleep(5 * 31)

        assert names(widgets.list()) == ["w9"]


async def test_without_reviews_a_single_free_place_is_used_for_one_trial_after_the_other(server: APIServer) -> None:
    server.fail(resource=REVIEWS, status=403)
    grant(server, "n0", "n1", "n2")
    client = connect(server, "alice", max_namespaces=4)
    async with client, client.informer(WIDGETS, namespaces=[f"n{number}" for number in range(7)]) as widgets:
        await widgets.wait_synced()
        grant(server, "n5")

        await trio.sleep(65)

        assert names(widgets.list()) == ["w0", "w1", "w2", "w5"]


async def test_a_set_by_labels_is_degraded_while_namespaces_cannot_be_watched(
    server: APIServer, client: Client
) -> None:
    async with client.informer(WIDGETS, namespaces={"parity": "odd"}) as widgets:
        await widgets.wait_state(LIVE)
        fault = server.fail(resource="namespaces", status=500)
        server.end_watches("namespaces", "cut")
        state = await widgets.wait_state(DEGRADED)
        assert (state.reason, len(widgets)) == ("NamespacesPending", 5)
        assert state.message.startswith("the set of namespaces is not up to date: ")

        fault.remove()
        await widgets.wait_state(LIVE)


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
        assert widgets.state.message == "n2 (1 of 2 namespaces): Listing"

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
    other = Unstructured(server.create(widget("other", namespace="n3")))
    async with client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        for _ in range(2):  # before and after the sync
            with pytest.raises(InvalidInput, match="which is not in the informer's set"):
                await widgets.wait_for(other)
            await widgets.wait_synced()


async def test_a_wait_for_an_object_ends_when_its_namespace_leaves_or_is_forbidden(server: APIServer) -> None:
    grant(server, "n1", "n2")
    chosen = NamespaceSet(["n1", "n2"])
    bodies = [widget("x", namespace=name) for name in ("n1", "n2")]
    future = [Unstructured({**body, "metadata": {**body["metadata"], "resourceVersion": "999"}}) for body in bodies]
    async with connect(server, "alice") as client, client.informer(WIDGETS, namespaces=chosen) as widgets:
        await widgets.wait_synced()
        async with trio.open_nursery() as nursery:

            async def leave() -> None:
                with pytest.raises(InvalidInput, match="which is not in the informer's set"):
                    await widgets.wait_for(future[0])

            nursery.start_soon(leave)
            nursery.start_soon(widgets.wait_for, future[1])
            await quiet()
            chosen.discard("n1")
            revoke(server, "n2")


async def test_a_wait_for_an_object_of_a_namespace_that_was_just_added_waits(server: APIServer, client: Client) -> None:
    chosen = NamespaceSet(["n1"])
    async with client.informer(WIDGETS, namespaces=chosen) as widgets:
        await widgets.wait_synced()
        created = Unstructured(server.create(widget("new", namespace="n2")))

        chosen.add("n2")
        await widgets.wait_for(created)

        assert widgets.get("new", namespace="n2") is not None


async def test_the_resource_version_of_a_set_is_the_oldest_of_its_namespaces(server: APIServer) -> None:
    chosen = NamespaceSet(["n1", "n2"])
    async with connect(server) as client, client.informer(WIDGETS, namespaces=chosen) as widgets:
        await widgets.wait_synced()
        listed = widgets.statistics().resource_version
        created = Unstructured(server.create(widget("new", namespace="n1")))
        await widgets.wait_for(created)
        assert widgets.statistics().resource_version == listed

        chosen.discard("n2")
        await quiet()

        assert widgets.statistics().resource_version == created.resource_version


async def test_events_are_counted_for_the_watch_of_their_namespace(server: APIServer) -> None:
    class Watches(Observer):
        def __init__(self) -> None:
            self.items: dict[str | None, int] = {}

        def watch_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
            if collection.gvr.resource == "widgets":
                self.items[collection.namespace] = outcome.items

    watches = Watches()
    client = dynkube.connect(transport=server.transport(), observers=[watches])
    async with client, client.informer(WIDGETS, namespaces=["n1", "n2"], streaming_lists=False) as widgets:
        await widgets.wait_state(LIVE)
        for number in range(5):
            await widgets.wait_for(Unstructured(server.create(widget(f"x{number}", namespace="n1"))))
        assert widgets.statistics().events == 5

    assert watches.items == {"n1": 5, "n2": 0}


async def test_a_set_is_named_where_informers_are_shown(client: Client) -> None:
    async with client.informer(WIDGETS, namespaces=["n1", "n2"]) as widgets:
        await widgets.wait_synced()

        assert "n1, n2" in repr(widgets)
        for displayed in (widgets, client.informers()):
            assert "n1, n2" in displayed._repr_html_()


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


async def test_events_of_another_namespace_are_refused(server: APIServer, client: Client) -> None:
    def misplaced(event: dict[str, Any]) -> dict[str, Any]:
        obj = event["object"]
        return {**event, "object": {**obj, "metadata": {**obj["metadata"], "namespace": "n9"}}}

    async with client.informer(WIDGETS, namespaces=["n1", "n2"], streaming_lists=False) as widgets:
        await widgets.wait_state(LIVE)
        server.inject(Rewrite(misplaced), verb="watch", resource="widgets", times=1)
        server.end_watches("widgets", "cut")
        await trio.sleep(5)
        for name in ("n1", "n2"):
            server.create(widget("new", namespace=name))
        await trio.sleep(30)

        assert names(widgets.list()) == ["new", "new", "w1", "w2"]
        assert {obj.namespace for obj in widgets.list()} == {"n1", "n2"}
        assert widgets.statistics().reasons["UnreadableEvent"] == 1


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
        ({}, "namespaces={} has no labels"),
    ],
)
def test_what_is_not_a_set_of_namespaces_is_refused(given: Any, message: str) -> None:
    client = dynkube.connect(transport=APIServer().transport())
    with pytest.raises((InvalidInput, InvalidSelector), match=message):
        client.informer(WIDGETS, namespaces=given)


@pytest.mark.parametrize("given", [[], ["shop"], {"shop"}, 0])
def test_several_namespaces_are_not_one(given: Any) -> None:
    client = dynkube.connect(transport=APIServer().transport())
    with pytest.raises(InvalidInput, match=r"pass the name of one namespace, or namespaces= for several"):
        client.informer(WIDGETS, namespace=given)


def test_a_namespace_and_a_set_exclude_each_other() -> None:
    client = dynkube.connect(transport=APIServer().transport())
    with pytest.raises(InvalidInput, match="namespace='a' and namespaces= exclude each other"):
        client.informer(WIDGETS, namespace="a", namespaces=["b"])


async def test_a_cluster_scoped_resource_has_no_namespaces(client: Client) -> None:
    async with client.informer("nodes.v1", namespaces=["n1"]) as nodes:
        state = await nodes.wait_state(ABSENT)

        assert (state.reason, state.message) == ("WrongScope", "nodes.v1 is cluster-scoped: leave namespaces= out")


@pytest.mark.parametrize("given", [0, 2.5, math.inf])
def test_the_limit_is_a_whole_number(given: Any) -> None:
    with pytest.raises(InvalidInput, match=f"max_namespaces must be an int >= 1, not {given}"):
        dynkube.InformerSettings(max_namespaces=given)


def test_a_set_that_is_given_a_wrong_name_stays_as_it_was() -> None:
    chosen = NamespaceSet(["a", "b"])

    with pytest.raises(InvalidInput, match="'B'"):
        chosen.add("c", "B")
    with pytest.raises(InvalidInput, match="contains a list"):
        chosen.discard(["a"])  # type: ignore[arg-type]  # names are separate arguments

    assert (sorted(chosen.names), repr(chosen)) == (["a", "b"], "<NamespaceSet a, b>")


async def test_an_empty_set_is_live_and_shows_nothing(client: Client) -> None:
    async with client.informer(WIDGETS, namespaces=[]) as widgets:
        await widgets.wait_synced()

        assert (widgets.list(), widgets.state.phase, widgets.state.message) == ([], LIVE, "no namespace is selected")
        assert "no namespaces" in repr(widgets)
