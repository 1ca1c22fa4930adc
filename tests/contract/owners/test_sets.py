"""Lists of type set and map: the owners of items, and the order in which items of several managers are merged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.contract.owners.kit import Apply, Update, applied, field_sets, force, owned, play

Case = tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]


def named(**values: str) -> JSONObject:
    return {"list": [{"name": name, "value": value} for name, value in values.items()]}


SETS: dict[str, Case] = {
    "applying an existing item adds an owner": (
        [Apply("one", {"set": ["a", "c"]}), Update("ctl", {"set": ["a", "b", "c", "d"]}), Apply("one", {"set": ["b"]})],
        {"set": ["b", "d"]},
        {"one": "set[b]", "ctl:Update": "set[b] set[d]"},
    ),
    "items that are no longer applied are removed": (
        [Apply("one", {"set": ["a", "b", "c", "d"]}), Apply("one", {"set": ["a", "c"]}, version="v2")],
        {"set": ["a", "c"]},
        {"one": "set[a] set[c]"},
    ),
    "items of others stay": (
        [Apply("one", {"set": ["a", "b"]}), Apply("two", {"set": ["b", "c"]}), Apply("one", {"set": ["a"]})],
        {"set": ["a", "b", "c"]},
        {"one": "set[a]", "two": "set[b] set[c]"},
    ),
    "numbers are compared by value": (
        [Apply("one", {"numbers": [1, 2.5]}), Apply("two", {"numbers": [1.0]}), Apply("one", {"numbers": [2.5]})],
        {"numbers": [1, 2.5]},
        {"one": "numbers[2.5]", "two": "numbers[1]"},
    ),
}

ORDERS: dict[str, Case] = {
    "new items keep their applied position": (
        [Apply("one", {"set": ["a", "c"]}), Apply("one", {"set": ["a", "aprime", "c", "cprime"]})],
        {"set": ["a", "aprime", "c", "cprime"]},
        {"one": "set[a] set[aprime] set[c] set[cprime]"},
    ),
    "items of others keep their position": (
        [
            Apply("one", {"set": ["a", "c"]}),
            Update("ctl", {"set": ["a", "b", "c", "d"]}),
            Apply("one", {"set": ["a", "aprime", "c", "cprime"]}),
        ],
        {"set": ["a", "b", "aprime", "c", "d", "cprime"]},
        {"one": "set[a] set[aprime] set[c] set[cprime]", "ctl:Update": "set[b] set[d]"},
    ),
    "another order causes no conflict": (
        [Apply("one", {"set": ["a", "b", "c", "d"]}), Apply("one", {"set": ["a", "d", "c", "b"]})],
        {"set": ["a", "d", "c", "b"]},
        {"one": "set[a] set[b] set[c] set[d]"},
    ),
    "another order of an update causes no conflict": (
        [
            Apply("one", {"set": ["a", "b", "c"]}),
            Update("ctl", {"set": ["a", "d", "c", "b"]}),
            Apply("one", {"set": ["a", "b", "c"]}),
        ],
        {"set": ["a", "d", "b", "c"]},
        {"one": "set[a] set[b] set[c]", "ctl:Update": "set[d]"},
    ),
    "items of lists of type map": (
        [
            Update("ctl", named(x="1", a="1", y="1", b="1", z="1")),
            Apply("one", named(b="1", n="1", a="1")),
        ],
        named(x="1", y="1", b="1", z="1", n="1", a="1"),
        {
            "ctl:Update": "list " + " ".join(f"list[{name}] list[{name}].name list[{name}].value" for name in "xaybz"),
            "one": " ".join(f"list[{name}] list[{name}].name list[{name}].value" for name in "bna"),
        },
    ),
}

LISTS: dict[str, Case] = {
    "items are identified by their keys": (
        [Apply("one", named(a="1")), Apply("two", named(b="2"))],
        named(a="1", b="2"),
        {"one": "list[a] list[a].name list[a].value", "two": "list[b] list[b].name list[b].value"},
    ),
    "an item can have fields of several managers": (
        [Apply("one", named(a="1")), Apply("two", {"list": [{"name": "a", "more": "2"}]})],
        {"list": [{"name": "a", "value": "1", "more": "2"}]},
        {"one": "list[a] list[a].name list[a].value", "two": "list[a] list[a].name list[a].more"},
    ),
    "an item stays until its last owner gives it up": (
        [
            Apply("one", named(a="1")),
            Apply("two", {"list": [{"name": "a", "more": "2"}]}),
            Apply("one", {"text": "x"}),
        ],
        {"list": [{"name": "a", "more": "2"}], "text": "x"},
        {"one": "text", "two": "list[a] list[a].name list[a].more"},
    ),
    "another value of a field is a conflict of that field": (
        [Apply("one", named(a="1")), Apply("two", named(a="2", b="2"), conflicts={'list[name="a"].value': "one"})],
        named(a="1"),
        {"one": "list[a] list[a].name list[a].value"},
    ),
    "a forced apply takes over the field and shares the item": (
        [Apply("one", named(a="1")), force("two", named(a="2"))],
        named(a="2"),
        {"one": "list[a] list[a].name", "two": "list[a] list[a].name list[a].value"},
    ),
    "an omitted key has its default": (
        [
            Apply("one", {"ports": [{"port": 80}]}),
            Apply("two", {"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}),
        ],
        {"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]},
        {
            "one": "ports[80,TCP] ports[80,TCP].port",
            "two": "ports[80,TCP] ports[80,TCP].port ports[80,TCP].protocol ports[80,TCP].name",
        },
    ),
    "conflicts have the default of an omitted key": (
        [
            Apply("one", {"ports": [{"port": 80, "name": "x"}]}),
            Apply(
                "two",
                {"ports": [{"port": 80, "name": "y"}, {"port": 80, "protocol": "UDP"}]},
                conflicts={'ports[port=80,protocol="TCP"].name': "one"},
            ),
        ],
        {"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]},
        {"one": "ports[80,TCP] ports[80,TCP].port ports[80,TCP].name"},
    ),
    "items with different keys are different": (
        [Apply("one", {"ports": [{"port": 80}]}), Apply("one", {"ports": [{"port": 80, "protocol": "UDP"}]})],
        {"ports": [{"port": 80, "protocol": "UDP"}]},
        {"one": "ports[80,UDP] ports[80,UDP].port ports[80,UDP].protocol"},
    ),
}


@pytest.mark.parametrize(("steps", "spec", "owners"), SETS.values(), ids=SETS)
async def test_owners_of_items_of_sets(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


@pytest.mark.since("1.21", "what was there came first: https://github.com/kubernetes/kubernetes/issues/104641")
@pytest.mark.parametrize(("steps", "spec", "owners"), ORDERS.values(), ids=ORDERS)
async def test_items_have_the_order_in_which_they_are_applied(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


@pytest.mark.parametrize(("steps", "spec", "owners"), LISTS.values(), ids=LISTS)
async def test_owners_of_items_of_lists_of_type_map(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


async def test_an_item_with_fields_of_an_update_is_removed_and_leaves_an_invalid_list(widgets: Cluster) -> None:
    """The list becomes null, which is invalid."""
    more = {"list": [{"name": "a", "value": "1", "more": "2"}]}
    await play(widgets, [Apply("one", named(a="1") | {"text": "x"}), Update("ctl", {**more, "text": "x"})])

    code, error = await applied(widgets, "widgets", widgets.widget(spec={"text": "x"}), "one")

    assert (code, error["details"]["causes"][0]["field"]) == (422, "spec.list")


@pytest.mark.since("1.22", "atomic maps in lists were merged")
async def test_atomic_items_are_replaced(widgets: Cluster) -> None:
    pairs = {"pairs": [{"name": "a", "value": "1"}]}
    obj = await play(widgets, [Apply("one", pairs), force("two", {"pairs": [{"name": "a"}]})])

    assert (obj["spec"], owned(obj)) == ({"pairs": [{"name": "a"}]}, field_sets({"two": "pairs[a]"}))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        ({"numbers": [1, 1.0]}, ".spec.numbers: duplicate entries for key [=1]"),
        (named(a="1") | {"list": [{"name": "a"}, {"name": "a"}]}, '.spec.list: duplicate entries for key [name="a"]'),
        (
            {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
        ),
        ({"set": [None]}, "an element that's an explicit null"),
        ({"list": [None]}, "may not have a null element"),
        ({"list": [{"value": "x"}]}, "has an element that omits "),
        ({"text": ["x"]}, ".spec.text: expected string, got "),
        ({"number": "x"}, ".spec.number: expected numeric (int or float), got "),
        ({"struct": {"e": 1}}, ".spec.struct.e: field not declared in schema"),
    ],
)
async def test_values_that_cannot_become_field_sets_are_an_error(widgets: Cluster, spec: JSONObject, why: str) -> None:
    code, error = await applied(widgets, "widgets", widgets.widget(spec=spec), "one")

    assert (code, error.get("reason")) == (500, None)
    assert error["message"].startswith("failed to create typed patch object")
    assert why in error["message"]
