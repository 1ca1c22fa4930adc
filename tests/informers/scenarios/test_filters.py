"""K12-K17: filters that change, and the indexes that obey them."""

from __future__ import annotations

from dynkube import LIVE, Client, JSONPathFilter, LabelFilter, NamespaceFilter, PredicateFilter, Unstructured
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, namespace, pod, quiet, widget


async def test_k12_g16_namespaces_seen_through_their_own_labels(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer("namespaces.v1", filter=NamespaceFilter("selected=yes")) as namespaces:
        recorder.attach(namespaces)
        await namespaces.wait_synced()

        server.create(namespace("selected", {"selected": "yes"}))
        server.create(namespace("other"))
        assert await recorder.drain() == ["add/selected"]

        server.delete("namespaces", "selected")
        assert (await recorder.drain())[-1] == "delete/selected"
        assert namespaces.list() == []


async def test_k13_selectors_change_under_plain_and_delayed_informers(server: APIServer, client: Client) -> None:
    server.create(namespace("selected", {"team": "a"}))
    told, removed = Recorder(), Recorder()
    async with client.informer("configmaps.v1") as plain, client.informer(WIDGETS) as late:
        told.attach(plain)
        told.attach(late)
        other = removed.attach(plain)
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d1", "namespace": "default"}})
        assert (await told.drain(), await removed.drain()) == (["add/d1"], ["add/d1"])

        other.remove()
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d2", "namespace": "selected"}})
        assert (await told.drain(), len(plain)) == (["add/d2"], 2)

        for informer in (plain, late):
            informer.set_filter(NamespaceFilter("team=a"))
        assert (await told.drain(), len(plain)) == (["delete/d1"], 1)

        server.create(crd())
        server.create(widget("name3", "default"))
        server.create(widget("name4", "selected"))
        await late.wait_state(LIVE)
        assert (await told.drain(), await removed.drain()) == (["add/name4"], [])


async def test_k13_without_handlers_a_filter_change_tells_nobody(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer("namespaces.v1", filter=LabelFilter("a=b")) as namespaces:
        handle = recorder.attach(namespaces)
        await namespaces.wait_synced()

        handle.remove()
        namespaces.set_filter(None)

        assert await recorder.drain() == []
        assert len(namespaces) == 4


async def test_k14_objects_without_a_namespace_pass_a_namespace_filter(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer("nodes.v1", filter=NamespaceFilter("nothing=matches")) as nodes:
        recorder.attach(nodes)
        await nodes.wait_synced()

        server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "1"}})

        assert await recorder.drain() == ["add/1"]


async def test_k15_g17_a_handler_may_list_and_change_filters_and_handlers(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(namespace("test", {"selected": "no"}))
    server.create(widget("random", "test"))
    seen: list[list[str]] = []
    late = Recorder()

    def on_add(obj: Unstructured) -> None:
        seen.append(names(widgets.list()))
        late.attach(widgets)
        widgets.set_filter(None)

    async with client.informer(WIDGETS, filter=NamespaceFilter("selected=yes")) as widgets:
        handle = widgets.add_handler(on_add=on_add)
        await widgets.wait_synced()
        assert seen == []

        server.update(namespace("test", {"selected": "yes"}))
        await quiet()

        assert (seen, await late.drain(), handle.has_synced) == ([["random"]], ["add/random"], True)


def account_and_node(obj: Unstructured) -> list[str]:
    spec = obj["spec"]
    return [f"{spec['serviceAccountName']}/{spec['nodeName']}"] if "nodeName" in spec else []


async def test_k16_an_index_follows_its_objects(server: APIServer, client: Client) -> None:
    async with client.informer("pods.v1", indexes={"who": account_and_node}) as pods:
        await pods.wait_synced()
        assert pods.by_index("who", "sa/n1") == []

        for name, account in (("p1", "sa"), ("p2", "sa2"), ("p3", "sa")):
            server.create(pod(name, serviceAccountName=account, nodeName="n1"))
        await quiet()
        assert names(pods.by_index("who", "sa/n1")) == ["p1", "p3"]
        assert names(pods.by_index("who", "sa2/n1")) == ["p2"]

        server.delete("pods", "p1")  # neither account nor node of a pod can be changed
        server.create(pod("p1", serviceAccountName="new", nodeName="n1"))
        await quiet()
        assert names(pods.by_index("who", "sa/n1")) == ["p3"]
        assert names(pods.by_index("who", "new/n1")) == ["p1"]

        for name in ("p1", "p2", "p3"):
            server.delete("pods", name)
        await quiet()
        assert [pods.by_index("who", f"{who}/n1") for who in ("sa", "sa2", "new")] == [[], [], []]


async def test_k17_an_index_obeys_the_filter_at_the_time_of_reading(server: APIServer, client: Client) -> None:
    server.create(namespace("a"))
    server.create(namespace("b"))
    current = "a"
    places = (("a", "pod", "one"), ("a", "pod2", "two"), ("b", "pod", "one"), ("b", "pod2", "three"))
    for where, name, node in places:
        server.create(pod(name, where, nodeName=node))
    by_node = {"node": "{.spec.nodeName}"}

    async with client.informer("pods.v1", indexes=by_node, filter=lambda obj: obj.namespace == current) as pods:
        await pods.wait_synced()

        def found() -> list[list[str]]:
            return [[o.namespace for o in pods.by_index("node", node)] for node in ("one", "two", "three")]

        assert found() == [["a"], ["a"], []]
        current = "b"
        assert found() == [["b"], [], ["b"]]
        current = "c"
        assert found() == [[], [], []]


async def test_g19_a_predicate_over_outside_state_tells_its_difference_when_notified(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    for name in ("a", "b", "c"):
        server.create(widget(name))
    wanted = {"a", "b"}
    chosen = PredicateFilter(lambda obj: obj.name in wanted)
    recorder = Recorder()
    async with client.informer(WIDGETS, filter=chosen) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert sorted(await recorder.drain()) == ["add/a", "add/b"]

        wanted = {"b", "c"}
        chosen.notify_changed()

        assert sorted(await recorder.drain()) == ["add/c", "delete/a"]


async def test_g14_a_composed_filter_never_shows_what_one_part_hides(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(namespace("test", {"selected": "no"}))
    for name, team, suspend in (("a", "x", False), ("b", "x", True), ("c", "y", False)):
        server.create(widget(name, "test", {"team": team}, suspend=suspend))
    recorder = Recorder()
    both = NamespaceFilter("selected=yes") & LabelFilter("team=x") & ~JSONPathFilter("{.spec.suspend}")
    async with client.informer(WIDGETS, filter=both) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()

        server.update(namespace("test", {"selected": "yes"}))

        assert await recorder.drain() == ["add/a"]
        assert names(widgets.list()) == ["a"]
