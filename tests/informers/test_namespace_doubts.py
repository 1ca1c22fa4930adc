"""Sets of namespaces under refusals that are wrong, or true for a moment only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, Client, Informer, NamespaceSet
from dynkube.meta import JSONObject
from dynkube_testing import APIServer, Hang, Refuse, RequestFacts, Rewrite
from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send
from tests.informers.kit import WIDGETS, Recorder, crd, names, namespace, widget

PLACES = ("n0", "n1", "n2")
REVIEWS = "selfsubjectaccessreviews"
HTML = "<html>403 by a proxy</html>"


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with three namespaces, each with a widget; Alice may read all three."""
    async with APIServer(rbac=True) as server:
        server.create(crd())
        for place in PLACES:
            server.create(namespace(place))
            server.create(widget(f"w-{place}", namespace=place))
        grant(server, *PLACES)
        yield server


def grant(server: APIServer, *places: str, verbs: Iterable[str] = ("list", "watch")) -> None:
    for place in places:
        server.grant("alice", verbs=verbs, resource="widgets.example.com", namespace=place)


def connect(server: APIServer, **settings: Any) -> Client:
    settings = {"random": Random(7), **settings}
    return dynkube.connect(transport=server.transport(user="alice"), settings=dynkube.InformerSettings(**settings))


@asynccontextmanager
async def watching(
    server: APIServer, places: Any = PLACES, **settings: Any
) -> AsyncIterator[tuple[Informer, Recorder]]:
    """Enter an informer of a set, and record its events after the first list."""
    recorder = Recorder()
    async with connect(server, **settings) as client, client.informer(WIDGETS, namespaces=places) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        await recorder.drain()
        yield widgets, recorder


def expire(server: APIServer) -> None:
    """Have all informers list again."""
    server.compact()
    server.create(namespace("later"))
    server.compact()
    server.end_watches("widgets", "cut")


@pytest.mark.parametrize("body", [None, HTML], ids=["Status", "HTML"])
@pytest.mark.parametrize("times", [1, 4])
async def test_a_refused_list_deletes_nothing(server: APIServer, body: str | None, times: int) -> None:
    async with watching(server) as (widgets, recorder):
        server.inject(Refuse(403, body=body), verb="list", resource="widgets", times=times)
        server.inject(Refuse(403, body=body), verb="watch", resource="widgets", times=times)
        expire(server)
        await trio.sleep(120)

        assert await recorder.drain() == []
        assert widgets.state.phase is LIVE


@pytest.mark.parametrize("seconds", [1, 5, 10, 20, 50])
async def test_an_api_server_that_has_not_loaded_its_roles_deletes_nothing(server: APIServer, seconds: float) -> None:
    def of_alice(request: RequestFacts) -> bool:
        return any(part in request.path for part in ("widgets", REVIEWS, "readyz"))

    async with watching(server) as (widgets, recorder):
        denial = server.inject(Refuse(403), when=of_alice)
        await server.restart(2)
        await trio.sleep(seconds)
        denial.remove()
        await trio.sleep(120)

        assert await recorder.drain() == []
        assert (len(widgets), widgets.state.phase) == (3, LIVE)


@pytest.mark.parametrize("seconds", [3, 20])
async def test_one_of_several_servers_that_denies_while_another_is_ready_deletes_nothing(
    server: APIServer, seconds: float
) -> None:
    async with watching(server) as (widgets, recorder):
        denial = server.inject(Refuse(403), when=lambda request: "widgets" in request.path or REVIEWS in request.path)
        expire(server)
        await trio.sleep(seconds)
        denial.remove()
        await trio.sleep(120)

        assert await recorder.drain() == []
        assert widgets.state.phase is LIVE


@pytest.mark.parametrize("body", [None, HTML], ids=["Status", "HTML"])
async def test_a_set_does_not_sync_by_refusals_at_the_start(server: APIServer, body: str | None) -> None:
    refused = {"widgets", REVIEWS, "readyz"}
    denial = server.inject(Refuse(403, body=body), when=lambda request: any(part in request.path for part in refused))
    async with (
        connect(server) as client,
        client.informer(WIDGETS, namespaces=PLACES) as widgets,
    ):
        await trio.sleep(3)
        assert not widgets.has_synced
        denial.remove()
        await widgets.wait_synced()
        assert len(widgets) == 3


async def test_a_binding_that_is_replaced_deletes_nothing(server: APIServer) -> None:
    async with watching(server) as (_, recorder):
        await trio.sleep(29.95)
        for place in PLACES:
            server.revoke("alice", namespace=place)
        await trio.sleep(5)
        grant(server, *PLACES)
        await trio.sleep(120)

        assert await recorder.drain() == []


async def test_reviews_that_deny_while_lists_succeed_delete_nothing(server: APIServer) -> None:
    def denied(document: JSONObject) -> JSONObject:
        return {**document, "status": {"allowed": False, "reason": "RBAC: role not found"}}

    async with watching(server) as (widgets, recorder):
        server.inject(Rewrite(denied), resource=REVIEWS)
        await trio.sleep(3600)

        assert await recorder.drain() == []
        assert widgets.state.phase is LIVE


async def test_a_review_that_could_not_be_evaluated_is_no_answer(server: APIServer) -> None:
    def unknown(document: JSONObject) -> JSONObject:
        return {**document, "status": {"allowed": False, "evaluationError": "no such role"}}

    async with watching(server) as (_, recorder):
        server.inject(Rewrite(unknown), resource=REVIEWS)
        server.inject(Refuse(403), verb="list", resource="widgets")
        server.inject(Refuse(403), verb="watch", resource="widgets")
        expire(server)
        await trio.sleep(3600)

        assert await recorder.drain() == []


class Late:
    """Lets a request take effect at once, and delays the response."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        async def later(message: Message) -> None:
            if message["type"] == "http.response.start":
                await trio.sleep(self._seconds)
            await send(message)

        await app(scope, receive, later)


class LateRefusal(Late):
    """Refuses a request at once, and delays the response."""

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
            await Refuse(403).apply(request, app, scope, receive, send)

        await super().apply(request, refuse, scope, receive, send)


async def test_a_late_review_does_not_overrule_a_newer_list(server: APIServer) -> None:
    server.revoke("alice", namespace="n1")
    chosen = NamespaceSet(["n0", "n1"])
    async with watching(server, chosen) as (widgets, recorder):
        server.inject(Late(20), resource=REVIEWS)
        await trio.sleep(71)  # a review of n1 has been decided
        grant(server, "n1")
        chosen.discard("n1")
        await trio.sleep(0.2)
        chosen.add("n1")
        await trio.sleep(200)

        assert await recorder.drain() == ["add/w-n1"]
        assert len(widgets) == 2


async def test_a_late_refusal_is_as_old_as_its_request(server: APIServer) -> None:
    """A server that is starting refuses lists; the refusals arrive after it has reported that it is ready."""

    def starting(part: str) -> Any:
        return lambda request: part in request.path and 1 < trio.current_time() < 9

    server.inject(Refuse(403), resource="widgets", times=3)
    server.inject(LateRefusal(12), when=starting("widgets"))
    server.inject(Refuse(403), when=starting(REVIEWS))
    server.inject(Refuse(403), when=lambda request: REVIEWS in request.path and trio.current_time() <= 1)
    server.inject(Refuse(500), when=lambda request: "readyz" in request.path and trio.current_time() < 9)
    server.inject(Late(5), when=lambda request: REVIEWS in request.path and trio.current_time() >= 9)
    async with connect(server, streaming_lists=False) as client, client.informer(WIDGETS, namespaces=PLACES) as widgets:
        await widgets.wait_synced()
        assert len(widgets) == 3


async def test_reviews_carry_the_selectors(server: APIServer) -> None:
    """As the node authorizer: a list is allowed with a field selector only."""
    asked: list[Any] = []

    def authorize(document: JSONObject) -> JSONObject:
        attributes: Any = document["spec"]["resourceAttributes"]  # type: ignore[index,call-overload]
        asked.append(attributes)
        return {**document, "status": {"allowed": "fieldSelector" in attributes}}

    server.inject(Rewrite(authorize), resource=REVIEWS)
    selection: dict[str, Any] = {"label_selector": "!hidden", "field_selector": "metadata.name!=x"}
    async with (
        connect(server) as client,
        client.informer(WIDGETS, namespaces=PLACES, **selection) as widgets,
    ):
        await widgets.wait_synced()
        await trio.sleep(300)
        assert len(widgets) == 3
    assert asked[0]["labelSelector"] == {"rawSelector": "!hidden"}
    assert asked[0]["fieldSelector"] == {"rawSelector": "metadata.name!=x"}


async def test_a_right_to_one_name_is_reviewed_with_it(server: APIServer) -> None:
    for place in PLACES:
        server.create(widget("x", namespace=place))
        server.revoke("alice", namespace=place)
    names_it = {"verbs": ["list", "watch"], "apiGroups": ["example.com"], "resources": ["widgets"]}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "of-x"}
    alice = {"apiGroup": ref["apiGroup"], "kind": "User", "name": "alice"}
    rbac = {"apiVersion": f"{ref['apiGroup']}/v1"}
    server.create(
        {**rbac, "kind": ref["kind"], "metadata": {"name": "of-x"}, "rules": [{**names_it, "resourceNames": ["x"]}]}
    )
    binding = {**rbac, "kind": "RoleBinding", "roleRef": ref, "subjects": [alice]}
    server.create({**binding, "metadata": {"name": "of-x", "namespace": "n0"}})
    async with (
        connect(server) as client,
        client.informer(WIDGETS, namespaces=PLACES, field_selector="metadata.name=x") as xs,
    ):
        await xs.wait_synced()
        assert [obj.namespace for obj in xs.list()] == ["n0"]
        server.create({**binding, "metadata": {"name": "of-x", "namespace": "n1"}})
        await trio.sleep(60)
        assert len(xs) == 2
        server.delete("rolebindings", "of-x", "n1")
        await trio.sleep(90)
        assert len(xs) == 1


async def test_who_may_watch_but_not_list_reads_by_streaming_lists(server: APIServer) -> None:
    server.revoke("alice", namespace="n1")
    server.revoke("alice", namespace="n2")
    grant(server, "n1", verbs=["watch"])
    async with watching(server) as (widgets, recorder):
        await trio.sleep(200)
        expire(server)
        await trio.sleep(200)

        assert await recorder.drain() == []
        assert names(widgets.list()) == ["w-n0", "w-n1"]
        assert widgets.state.phase is LIVE


async def test_a_namespace_whose_right_is_lost_for_good_is_emptied(server: APIServer) -> None:
    async with watching(server) as (widgets, recorder):
        server.revoke("alice", namespace="n1")
        await trio.sleep(65)

        assert await recorder.drain() == ["delete/w-n1"]
        assert widgets.namespaces["n1"].state.phase is ABSENT


async def test_a_refusal_without_a_review_is_a_failure_of_its_namespace(server: APIServer) -> None:
    async with watching(server) as (widgets, recorder):
        server.inject(Refuse(403, body=HTML), when=lambda request: "/n1/widgets" in request.path)
        expire(server)
        await trio.sleep(3600)

        assert await recorder.drain() == []
        assert widgets.namespaces["n1"].state.phase is DEGRADED


@pytest.mark.parametrize("streaming", [None, False])
async def test_lists_that_are_refused_while_reviews_allow_them_are_a_failure(
    server: APIServer, streaming: bool | None
) -> None:
    server.inject(Refuse(403), when=lambda request: "/n1/widgets" in request.path)
    async with (
        connect(server, streaming_lists=streaming) as client,
        client.informer(WIDGETS, namespaces=PLACES) as widgets,
    ):
        await trio.sleep(100)

        assert widgets.namespaces["n1"].state.phase is DEGRADED
        assert "n1" in widgets.state.message


async def test_repeated_examinations_are_paced(server: APIServer) -> None:
    places = [f"m{number}" for number in range(60)]
    for place in places:
        server.create(namespace(place))
        server.create(widget(f"w-{place}", namespace=place))
    grant(server, *places)
    async with watching(server, places, access_interval=3600) as (widgets, _):
        for place in places:
            server.revoke("alice", namespace=place)
        expire(server)
        await trio.sleep(5)  # all were examined once
        sent = []
        for _ in range(40):
            server.forget_requests()
            await trio.sleep(1)
            sent.append(sum(REVIEWS in request.path for request in server.requests))

        assert len(widgets) == 0
        assert 0 < max(sent) <= 22  # two for each namespace, of listing and watching


@pytest.mark.parametrize("others", [8, 9])  # with 8 the first review of zz fails in each round
async def test_a_namespace_is_reviewed_although_each_other_review_fails(server: APIServer, others: int) -> None:
    """Every other review fails, of more namespaces than may fail in a row: the last one is reviewed, too."""
    places = [f"m{number}" for number in range(others)]
    for place in places:
        server.create(namespace(place))
    grant(server, *places)
    reviewed = [0]

    def every_other(request: RequestFacts) -> bool:
        reviewed[0] += REVIEWS in request.path
        return REVIEWS in request.path and reviewed[0] % 2 == 0

    server.create(namespace("zz"))
    async with watching(server, [*places, "zz"]) as (widgets, _):
        grant(server, "zz")
        server.create(widget("late", namespace="zz"))
        server.inject(Refuse(500), when=every_other)
        await trio.sleep(100)

        assert names(widgets.list()) == ["late"]


async def test_lists_of_namespaces_that_come_later_are_the_most_recent_state(server: APIServer) -> None:
    """A watch cache may be older than what was seen of the set before."""
    chosen = NamespaceSet(["n0"])
    async with watching(server, chosen, streaming_lists=False) as (widgets, _):
        server.forget_requests()
        chosen.add("n1")
        await trio.sleep(1)
        server.delete("crds", "widgets.example.com")
        await widgets.wait_state(ABSENT)
        server.create(crd())
        await widgets.wait_state(LIVE)

        lists = [
            each for each in server.requests if (each.verb, each.status) == ("list", 200) and "/widgets" in each.path
        ]
        assert len(lists) == 3
        assert all("resourceVersion" not in request.params for request in lists)


async def test_trials_give_way_to_namespaces_that_may_be_listed(server: APIServer) -> None:
    """Where rights cannot be reviewed, forbidden namespaces are tried; their server does not respond."""
    chosen = NamespaceSet(["n0", "x1"])
    server.inject(Refuse(403), resource=REVIEWS)
    async with watching(server, chosen, max_namespaces=2) as (widgets, _):
        server.inject(Hang(), when=lambda request: "/x1/widgets" in request.path)
        await trio.sleep(40)
        chosen.add("n1")
        await trio.sleep(5)

        assert names(widgets.list()) == ["w-n0", "w-n1"]


async def test_lists_in_another_version_of_the_resource_are_the_most_recent_state(server: APIServer) -> None:
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False)
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, client.informer("widgets.example.com", namespaces=["n0"]) as widgets:
        await widgets.wait_synced()
        server.forget_requests()
        live = server.get("crds", "widgets.example.com")
        versions = [{**live["spec"]["versions"][0], "served": False}, *crd(served=("v2",))["spec"]["versions"]]
        versions[1]["storage"] = False
        server.update({**live, "spec": {**live["spec"], "versions": versions}})
        await trio.sleep(60)

        served = [each for each in server.requests if each.verb == "list" and each.status == 200]
        (listed,) = [each for each in served if "v2/namespaces/n0/widgets" in each.path]
        assert "resourceVersion" not in listed.params
