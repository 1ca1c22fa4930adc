"""Predicates: which changes of an object count."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import dynkube
from dynkube import JSONPath, Unstructured
from dynkube.controllers import (
    Controller,
    all_of,
    annotations_changed,
    any_of,
    field_changed,
    generation_changed,
    labels_changed,
)
from dynkube.controllers._watches import ChangePredicate
from dynkube.errors import InvalidJSONPath
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget


def obj(**metadata: object) -> Unstructured:
    return Unstructured({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", **metadata}})


generation_field_changed = field_changed("{.metadata.generation}")
PREDICATES = (generation_changed, generation_field_changed, labels_changed, annotations_changed)
OLD = {"generation": 1, "labels": {"a": "b"}, "annotations": {"c": "d"}}


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({}, ()),
        ({"resourceVersion": "2"}, ()),
        ({"generation": 2}, (generation_changed, generation_field_changed)),
        ({"labels": {}}, (labels_changed,)),
        ({"annotations": {"c": "e"}}, (annotations_changed,)),
    ],
    ids=["nothing", "version", "generation", "labels", "annotations"],
)
def test_a_predicate_lets_updates_of_its_field_count(
    changed: Mapping[str, object], counts: tuple[ChangePredicate, ...]
) -> None:
    old, new = obj(**OLD), obj(**{**OLD, **changed})

    assert tuple(each for each in PREDICATES if each(old, new)) == counts


@pytest.mark.parametrize("predicate", PREDICATES)
def test_each_creation_and_deletion_counts(predicate: ChangePredicate) -> None:
    assert predicate(None, obj(**OLD))
    assert predicate(obj(**OLD), None)


def test_each_update_of_a_resource_without_generations_counts() -> None:
    assert generation_changed(obj(resourceVersion="1"), obj(resourceVersion="2"))


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ({}, {}, False),
        ({}, {"a": None}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1}, "other": 2}, False),
        ({"a": 1}, {"a": True}, True),
        ({"list": [{"image": "x"}, {"image": "y"}]}, {"list": [{"image": "x"}, {"image": "z"}]}, True),
        ({"list": [{"image": "x"}]}, {"list": [{"image": "x", "tty": True}]}, False),
    ],
)
def test_a_change_of_one_of_several_fields_counts(
    old: Mapping[str, object], new: Mapping[str, object], changed: bool
) -> None:
    predicate = field_changed("{.spec.a}", JSONPath.compile("{.spec.list[*].image}"))
    before, after = (Unstructured({**obj().to_dict(), "spec": spec}) for spec in (old, new))

    assert predicate(before, after) is changed


def test_a_field_that_is_no_jsonpath_is_an_error() -> None:
    with pytest.raises(InvalidJSONPath):
        field_changed("{.spec[}")


def test_predicates_can_be_combined() -> None:
    labelled = obj(**{**OLD, "labels": {}})

    assert any_of(generation_changed, labels_changed)(obj(**OLD), labelled)
    assert not any_of(generation_changed, annotations_changed)(obj(**OLD), labelled)
    assert all_of(labels_changed, lambda old, new: True)(obj(**OLD), labelled)
    assert not all_of(generation_changed, labels_changed)(obj(**OLD), labelled)


async def test_an_object_that_was_created_again_with_the_same_generation_is_reconciled(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd())
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls, predicate=generation_changed)):
        await quiet(1)
        with server.refuse_connections():  # the informer sees neither the deletion nor the creation
            server.end_watches("widgets")
            server.delete(WIDGETS, "a")
            server.create(widget("a"))
            await quiet(1)
        await quiet(120)
        server.update(widget("a", labels={"ignored": "yes"}))
        await quiet(1)

    first, second = (each and (each.uid, each.generation) for each in calls.objects)
    assert second == (server.get(WIDGETS, "a")["metadata"]["uid"], 1)
    assert first != second


@pytest.mark.parametrize("predicate", [labels_changed, annotations_changed, lambda old, new: old is None])
async def test_an_object_that_is_deleted_is_cleaned_up_whatever_the_predicate_says(
    server: APIServer, client: dynkube.Client, predicate: ChangePredicate
) -> None:
    server.create(crd())
    server.create(widget("a"))
    finalizer = ("example.com/clean", cleaned := Calls())
    async with running(client, Controller(WIDGETS, Calls(), finalizer=finalizer, predicate=predicate)):
        await quiet(1)
        server.delete(WIDGETS, "a")
        await quiet(1)

    assert (cleaned.keys, server.list(WIDGETS)) == (["default/a"], [])
