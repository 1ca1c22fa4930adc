"""List items whose keys have defaults and may be omitted; also in nested lists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, owners
from tests.contract.owners.kit import TEXT, Apply, applied, field_sets, keyed, owned, play, served, struct

pytestmark = pytest.mark.since("1.25", "the rules for keys of lists were different")


def number(default: float) -> JSONObject:
    return {"type": "number", "default": default}


SENTENCES = keyed(struct(page=number(2.0), line=number(3), text=TEXT), "page", "line", required=[])
BOOK = keyed(
    struct(chapter={"type": "integer", "default": 1}, section={**TEXT, "default": "A"}, sentences=SENTENCES),
    "chapter",
    "section",
    required=[],
)
CHAPTER, SENTENCE = 'k:{"chapter":1,"section":"A"}', 'k:{"line":3,"page":2}'


@pytest.fixture
async def books(cluster: Cluster) -> Cluster:
    """Widgets that are books: chapters and sections, with sentences on pages and lines."""
    await cluster.create_crd(cluster.crd(versions=[served({"book": BOOK})]))
    return cluster


def sentence(**more: Any) -> JSONObject:
    return {"book": [{"sentences": [{"text": "x", **more}]}]}


def in_sentence(obj: JSONObject, manager: str) -> set[str]:
    """Return the fields of the only sentence that a manager owns."""
    fields = owners(obj)[manager]
    for name in ("f:spec", "f:book", CHAPTER, "f:sentences", SENTENCE):
        fields = fields[name]
    return set(fields)


async def test_items_without_keys_are_identified_by_the_defaults(books: Cluster) -> None:
    obj = await play(books, [Apply("one", sentence())])

    assert obj["spec"]["book"] == [
        {"chapter": 1, "section": "A", "sentences": [{"page": 2, "line": 3, "text": "x"}]},
    ]
    assert in_sentence(obj, "one") == {".", "f:text"}


@pytest.mark.parametrize("page", [2, 2.0])
async def test_a_key_with_the_default_value_identifies_the_same_item(books: Cluster, page: float) -> None:
    obj = await play(books, [Apply("one", sentence()), Apply("one", sentence(page=page))])

    assert len(obj["spec"]["book"][0]["sentences"]) == 1
    assert in_sentence(obj, "one") == {".", "f:page", "f:text"}


async def test_another_manager_can_conflict_in_an_item_with_default_keys(books: Cluster) -> None:
    await play(books, [Apply("one", sentence())])
    body = books.widget(spec={"book": [{"section": "A", "sentences": [{"line": 3, "text": "y"}]}]})

    code, error = await applied(books, "widgets", body, "two")

    assert code == 409
    (cause,) = error["details"]["causes"]
    assert cause["field"] == '.spec.book[chapter=1,section="A"].sentences[line=3,page=2].text'


@pytest.mark.parametrize("ports", [[{"port": 80}] * 2, [{"port": 80}, {"port": 80, "protocol": "TCP"}]])
async def test_items_that_defaults_make_duplicates_are_an_error(widgets: Cluster, ports: list[JSONObject]) -> None:
    code, error = await applied(widgets, "widgets", widgets.widget(spec={"ports": ports}), "one")

    assert code == 500
    assert 'ports: duplicate entries for key [port=80,protocol="TCP"]' in error["message"]


async def test_items_with_different_keys_are_owned_separately(widgets: Cluster) -> None:
    obj = await play(widgets, [Apply("one", {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]})])

    udp = "ports[80,UDP] ports[80,UDP].port ports[80,UDP].protocol"
    assert owned(obj) == field_sets({"one": f"ports[80,TCP] ports[80,TCP].port {udp}"})
