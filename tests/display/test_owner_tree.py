"""``owner_tree``: the dependents of an object, from informers (with or without an index of owners) or other objects."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from dynkube import LIVE, Client, OwnerTree, Unstructured, owner_tree, owner_uids
from dynkube._display import card_of
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from tests.display.kit import NOW, Page


def thing(kind: str, name: str, *owners: str, namespace: str = "shop", **fields: Any) -> Unstructured:
    references = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid} for uid in owners]
    metadata = {"name": name, "namespace": namespace, "uid": name, "ownerReferences": references}
    return Unstructured({"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields})


WEB = thing("Deployment", "web", spec={"replicas": 2}, status={"replicas": 2, "readyReplicas": 1})
FIRST = thing("ReplicaSet", "web-1", "web")
SECOND = thing("ReplicaSet", "web-2", "web")
BROKEN = {"ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
POD = thing("Pod", "web-1-a", "web-1", status={"containerStatuses": [BROKEN]})
OTHER = thing("Pod", "other")


def drawn(tree: OwnerTree) -> list[str]:
    return [f"{'  ' * depth}{obj.kind}/{obj.name}" for depth, obj in tree.walk()]


def test_a_tree_has_dependents_by_owner_references() -> None:
    tree = owner_tree(WEB, [[OTHER, POD], SECOND, [FIRST, WEB]])

    assert drawn(tree) == ["Deployment/web", "  ReplicaSet/web-1", "    Pod/web-1-a", "  ReplicaSet/web-2"]


def test_a_tree_is_printed_with_the_state_of_each_object() -> None:
    tree = owner_tree(WEB, [[POD, FIRST, SECOND]])

    assert str(tree).splitlines() == [
        "OBJECT               READY  REASON  STATUS            AGE",
        "Deployment/web       1/2",
        "├─ ReplicaSet/web-1",
        "│  └─ Pod/web-1-a    0/1            CrashLoopBackOff",
        "└─ ReplicaSet/web-2",
    ]
    assert Page(card_of(tree, NOW)).text(".dk-head") == "owner tree · Deployment/web · shop · 3 below"
    assert repr(tree) == "<OwnerTree of <Deployment v1 shop/web>: 3 below>"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_from_top_follows_the_controller_among_several_owners(place: int) -> None:
    owners = [thing("Owner", name) for name in ("one", "two", "three")]
    child = thing("Pod", "child", *(owner.name for owner in owners)).to_dict()
    references = child["metadata"]["ownerReferences"]
    for number, reference in enumerate(references):
        reference["controller"] = number == place

    tree = owner_tree(Unstructured(child), [owners, [Unstructured(child)]], from_top=True)

    assert drawn(tree) == [f"Owner/{owners[place].name}", "  Pod/child"]


def test_a_cycle_is_followed_once() -> None:
    one, two = thing("A", "one", "two"), thing("B", "two", "one")

    assert drawn(owner_tree(one, [[one, two]])) == ["A/one", "  B/two"]
    assert drawn(owner_tree(one, [[one, two]], from_top=True)) == ["B/two", "  A/one"]


def test_an_object_with_two_owners_is_below_both() -> None:
    shared = thing("Pod", "shared", "web-1", "web-2")

    tree = owner_tree(WEB, [[FIRST, SECOND, shared]])

    assert drawn(tree).count("    Pod/shared") == 2
    assert repr(tree) == "<OwnerTree of <Deployment v1 shop/web>: 3 below>"


def test_only_a_cluster_scoped_owner_has_dependents_in_other_namespaces() -> None:
    away = thing("Pod", "away", "web", "node", namespace="blog")
    node = thing("Node", "node", namespace="")

    assert drawn(owner_tree(WEB, [[away]])) == ["Deployment/web"]
    assert drawn(owner_tree(node, [[away]])) == ["Node/node", "  Pod/away"]


@pytest.mark.parametrize(
    ("limits", "notes"),
    [
        ({"limit": 10}, ("cut after 10 objects: a larger limit shows more",)),
        ({"limit": 51}, ()),
        ({"depth": 0}, ("1 object owns more, deeper than 0 levels: a larger depth shows it",)),
        ({"depth": 1}, ()),
    ],
)
def test_depth_and_number_of_objects_are_limited_with_a_note(limits: Any, notes: tuple[str, ...]) -> None:
    many = [thing("Pod", f"p{number}", "web") for number in range(50)]

    tree = owner_tree(WEB, [many], **limits)

    assert len(drawn(tree)) == min(limits.get("limit", 51), 51 if limits.get("depth", 1) else 1)
    assert tree.notes == notes


def test_the_default_limit_is_ten_thousand_objects() -> None:
    many = [thing("Pod", f"p{number}", "web") for number in range(10_000)]

    assert owner_tree(WEB, [many[1:]]).notes == ()
    assert owner_tree(WEB, [many]).notes == ("cut after 10,000 objects: a larger limit shows more",)


def test_objects_without_a_uid_are_distinguished_by_name() -> None:
    drafts = [
        Unstructured(
            {"kind": "Pod", "metadata": {"name": name, "namespace": "shop", "ownerReferences": [{"uid": "web"}]}}
        )
        for name in ("a", "b", "a")
    ]
    stray = Unstructured({"kind": "Pod", "metadata": {"name": "stray", "ownerReferences": [{"uid": ""}]}})

    assert drawn(owner_tree(WEB, [drafts, stray])) == ["Deployment/web", "  Pod/a", "  Pod/b"]


@pytest.mark.parametrize("from_top", [False, True])
def test_a_chain_of_owners_may_be_long(from_top: bool) -> None:
    chain = [thing("A", "0"), *(thing("A", str(place), str(place - 1)) for place in range(1, 3000))]

    tree = owner_tree(chain[-1] if from_top else chain[0], [chain], from_top=from_top, depth=5000)

    assert [obj.name for _, obj in tree.walk()] == [obj.name for obj in chain]
    assert tree == owner_tree(chain[0], [chain], depth=5000)
    assert repr(tree) == "<OwnerTree of <A v1 shop/0>: 2,999 below>"
    assert str(tree).splitlines()[-1] == "200 of 3,000 lines shown"


@pytest.mark.parametrize("same", [lambda tree: pickle.loads(pickle.dumps(tree)), copy.deepcopy, copy.copy])
def test_trees_can_be_pickled_and_copied(same: Callable[[OwnerTree], OwnerTree]) -> None:
    chain = [thing("A", str(number), str(number - 1)) for number in range(3_000)]
    for tree in (
        owner_tree(chain[0], [chain], depth=3_000),
        owner_tree(WEB, [[POD, FIRST, SECOND, thing("Pod", "both", "web-1", "web-2")]], depth=1),
        OwnerTree(WEB),
    ):
        other = same(tree)

        assert other == tree
        assert (drawn(other), str(other), other.notes) == (drawn(tree), str(tree), tree.notes)


def test_only_displayed_objects_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    original = Unstructured.to_dict

    def counted(obj: Unstructured) -> dict[str, Any]:
        decoded.append(obj.name)
        return original(obj)

    monkeypatch.setattr(Unstructured, "to_dict", counted)
    many = [thing("Pod", f"p{number:04}", "web") for number in range(2000)]

    tree = owner_tree(WEB, [many])
    page = tree._repr_html_()

    assert "200 of 2,001 lines shown" in page
    assert len(decoded) <= 200


def test_from_top_ignores_owners_in_other_namespaces() -> None:
    away = thing("Pod", "away", "web", namespace="blog")

    assert drawn(owner_tree(away, [WEB], from_top=True)) == ["Pod/away"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"index": 7}, "index is 7: pass the name of an index, such as 'owner'"),
        ({"index": ""}, "index is ''"),
        ({"from_top": "yes"}, "from_top is 'yes': pass True or False"),
        ({"depth": None}, "depth is None: pass an integer >= 0"),
        ({"depth": -1}, "depth is -1: pass an integer >= 0"),
        ({"depth": True}, "depth is a bool"),
        ({"limit": 0}, "limit is 0: pass an integer >= 1"),
        ({"limit": 2.5}, "limit is a float: pass an integer >= 1"),
    ],
)
def test_invalid_options_are_rejected(option: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        owner_tree(WEB, [POD], **option)


@pytest.mark.parametrize(
    ("root", "informers", "message"),
    [
        (thing("Pod", ""), [], "with its metadata.uid"),
        ({"kind": "Pod"}, [], "pass an object as it was read"),
        (WEB, WEB, "pass a list of informers or of objects"),
        (WEB, "pods", "pass a list of informers or of objects"),
        (WEB, ["pods"], "sources contains 'pods'"),
        (WEB, [[{"kind": "Pod"}]], "sources contains {'kind': 'Pod'}"),
        (WEB, [{"kind": "Pod"}], "sources contains {'kind': 'Pod'}"),
    ],
)
def test_invalid_roots_and_sources_are_rejected(root: Any, informers: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        owner_tree(root, informers)


@pytest.mark.parametrize("wrong", [None, 7, [None], [{"uid": 7}], {"uid": "web"}, [{}]])
def test_malformed_owner_references_are_ignored(wrong: Any) -> None:
    odd = Unstructured({"kind": "Pod", "metadata": {"name": "odd", "uid": "odd", "ownerReferences": wrong}})

    assert owner_uids(odd) == []
    assert drawn(owner_tree(WEB, [odd])) == ["Deployment/web"]


async def live_objects(server: APIServer) -> tuple[Unstructured, Unstructured]:
    """Create a chain of three ConfigMaps, each owned by the one before; return the first and the last."""
    made: list[Unstructured] = []
    for name in ("top", "middle", "bottom"):
        owner = [{"apiVersion": "v1", "kind": "ConfigMap", "name": made[-1].name, "uid": made[-1].uid}] if made else []
        metadata = {"name": name, "namespace": "default", "ownerReferences": owner}
        made.append(Unstructured(server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})))
    return made[0], made[-1]


@pytest.mark.parametrize("indexes", [{"owner": owner_uids}, None])
@pytest.mark.parametrize("from_top", [False, True])
async def test_a_tree_of_informers_needs_no_index(
    server: APIServer, client: Client, indexes: Any, from_top: bool
) -> None:
    top, bottom = await live_objects(server)
    async with client.informer("configmaps", indexes=indexes) as maps, client.informer("secrets") as secrets:
        await maps.wait_state(LIVE)
        await secrets.wait_state(LIVE)

        tree = owner_tree(bottom if from_top else top, [secrets, maps], from_top=from_top)

    assert drawn(tree) == ["ConfigMap/top", "  ConfigMap/middle", "    ConfigMap/bottom"]
    assert tree.notes == ()


async def test_dependents_are_looked_up_in_the_index_if_there_is_one(server: APIServer, client: Client) -> None:
    top, _ = await live_objects(server)
    indexes = {"owner": lambda obj: [uid for uid in owner_uids(obj) if uid != top.uid]}
    async with client.informer("configmaps", indexes=indexes) as maps:
        await maps.wait_state(LIVE)

        assert drawn(owner_tree(top, [maps])) == ["ConfigMap/top"]
        assert drawn(owner_tree(top, [maps], index="other"))[1] == "  ConfigMap/middle"


async def test_informers_that_are_not_running_are_noted(server: APIServer, client: Client) -> None:
    absent, late = client.informer("gadgets.v1.example.com"), client.informer("pods.v1")
    async with absent:
        await absent.wait_synced()

        tree = owner_tree(WEB, [absent, late])

    assert tree.notes == ("objects of pods.v1 may be missing: STOPPED (NotEntered)",)
    assert Page(card_of(tree, NOW)).all(".dk-note") == list(tree.notes)
