"""Objects as models of the user's: decoding, encoding, and the errors of both."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.meta import Unstructured

WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "shop"},
    "spec": {"class": "big", "sizes": [1, 2], "more": {"x": None}},
}


class Spec(msgspec.Struct, kw_only=True):
    size_class: str = msgspec.field(name="class")
    sizes: list[int] = []
    since: datetime | None = None
    note: str | msgspec.UnsetType | None = msgspec.UNSET
    more: dict[str, Any] = {}


class Meta(msgspec.Struct):
    name: str
    namespace: str | None = None


class Widget(msgspec.Struct, kw_only=True):
    apiVersion: str = "example.com/v1"  # noqa: N815
    kind: str = "Widget"
    metadata: Meta
    spec: Spec


def test_a_struct_is_decoded_from_the_bytes_of_an_object() -> None:
    found = Unstructured(WIDGET).typed(Widget)

    assert (found.metadata.name, found.spec.size_class, found.spec.sizes) == ("a", "big", [1, 2])


def test_a_struct_becomes_the_object_that_it_came_from() -> None:
    assert Unstructured(Unstructured(WIDGET).typed(Widget)) == WIDGET


def test_what_is_not_set_is_left_out_and_an_explicit_null_is_kept() -> None:
    given = Widget(metadata=Meta("a"), spec=Spec(size_class="big", note=None))

    written = Unstructured(given).to_dict()

    assert written["metadata"] == {"name": "a"}
    assert written["spec"] == {"class": "big", "sizes": [], "note": None, "more": {}}


def test_times_are_written_as_text() -> None:
    given = Widget(metadata=Meta("a"), spec=Spec(size_class="big", since=datetime(2026, 1, 2, tzinfo=UTC)))

    assert Unstructured(given)["spec"]["since"] == "2026-01-02T00:00:00Z"


def test_an_object_that_does_not_fit_is_named_with_the_field_and_the_types() -> None:
    wrong = Unstructured({**WIDGET, "spec": {"class": "big", "sizes": ["x"]}})

    with pytest.raises(InvalidObject, match=r"Widget example.com/v1 shop/a.* is not a Widget: spec.sizes.* a number"):
        wrong.typed(Widget)


@pytest.mark.parametrize("model", [dict, int, Unstructured(WIDGET), "Widget", Unstructured])
def test_what_is_not_a_model_is_an_error(model: Any) -> None:
    with pytest.raises(InvalidInput, match=r"pass a msgspec\.Struct, or a pydantic model"):
        Unstructured(WIDGET).typed(model)


@pytest.mark.parametrize("more", [{"x": object()}, {"x": float("nan")}, {1j: 1}])
def test_a_struct_with_a_part_that_is_not_json_is_an_error(more: Any) -> None:
    given = Widget(metadata=Meta("a"), spec=Spec(size_class="big", more=more))

    with pytest.raises(InvalidObject, match="the Widget cannot be written as JSON"):
        Unstructured(given)


def test_a_struct_that_contains_itself_is_an_error() -> None:
    given = Widget(metadata=Meta("a"), spec=Spec(size_class="big"))
    given.spec.more["self"] = given

    with pytest.raises(InvalidObject, match="the Widget cannot be written as JSON"):
        Unstructured(given)


def test_the_tag_of_a_struct_is_written() -> None:
    class Tagged(msgspec.Struct, tag_field="kind", tag="Widget"):
        apiVersion: str  # noqa: N815

    assert Unstructured(Tagged("example.com/v1")) == {"kind": "Widget", "apiVersion": "example.com/v1"}


class TestPydantic:
    """A model of pydantic is used by its own methods."""

    @pytest.fixture
    def model(self) -> Any:
        pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
        spec = pydantic.create_model(
            "Spec", size_class=(str, pydantic.Field(alias="class")), note=(str | None, None), sizes=(list[int], ...)
        )
        return pydantic.create_model(
            "Widget",
            apiVersion=(str, "example.com/v1"),
            kind=(str, "Widget"),
            metadata=(dict[str, str], ...),
            spec=spec,
        )

    def test_it_is_validated_from_the_bytes_of_an_object(self, model: Any) -> None:
        assert Unstructured(WIDGET).typed(model).spec.size_class == "big"

    def test_it_is_written_by_alias_with_defaults_and_without_none(self, model: Any) -> None:
        given = model(metadata={"name": "a"}, spec={"class": "big", "sizes": [1]})

        assert Unstructured(given) == {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "a"},
            "spec": {"class": "big", "sizes": [1]},
        }

    def test_all_fields_that_do_not_fit_are_named(self, model: Any) -> None:
        wrong = Unstructured({**WIDGET, "spec": {"sizes": ["x"]}})

        with pytest.raises(InvalidObject, match=r"shop/a.* is not a Widget: spec\.class: .*; spec\.sizes\[0\]: "):
            wrong.typed(model)

    def test_the_class_in_place_of_an_object_is_an_error(self, model: Any) -> None:
        with pytest.raises(InvalidObject, match="a mapping or a model"):
            Unstructured(cast("Any", model))
