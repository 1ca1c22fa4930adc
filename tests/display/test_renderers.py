"""Renderers are registered by type, above the data, and loaded when the first object is displayed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dynkube import GVR
from dynkube._display import card_of
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube.client import Applied, Change
from tests.display.kit import NOW, POD, lines
from tests.display.test_escaping import classes

LAYERS = [
    *("errors", "meta", "fields", "telemetry", "config", "rest"),
    *("discovery", "client", "informers", "manifests", "workloads", "inspection", "controllers"),
]


def display_modules_loaded_by(code: str) -> set[str]:
    """Return the modules of the display layer that a fresh interpreter has after ``code``."""
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {name.removeprefix("dynkube._display.") for name in done.stdout.split() if "dynkube._display." in name}


def test_every_displayable_class_has_a_renderer() -> None:
    displayable = {each for each in classes() if issubclass(each, Displayable)} - {Displayable}

    assert len(displayable) > 40
    assert {each.__qualname__ for each in displayable if render.dispatch(each) is render.dispatch(object)} == set()


@pytest.mark.parametrize("layer", LAYERS)
def test_importing_a_layer_of_data_loads_no_display_module(layer: str) -> None:
    assert display_modules_loaded_by(f"import dynkube.{layer}") == set()


def test_connecting_loads_no_display_module() -> None:
    assert display_modules_loaded_by("import dynkube; dynkube.connect(url='https://x.invalid')") == set()


def test_repr_and_str_of_an_object_load_no_display_module() -> None:
    code = "import dynkube; pod = dynkube.Unstructured({'kind': 'Pod'}); repr(pod), str(pod), [pod]"

    assert display_modules_loaded_by(code) == set()


def test_displaying_an_object_loads_the_renderers_of_its_layer_only() -> None:
    loaded = display_modules_loaded_by("import dynkube; dynkube.GVR('', 'v1', 'pods')._repr_html_()")

    assert "meta" in loaded
    assert loaded.isdisjoint({"discovery", "client", "informers", "manifests"})


def test_a_class_of_a_higher_layer_is_not_displayed_as_its_base() -> None:
    code = "from dynkube.client import Applied, Change; Applied({'kind': 'Pod'}, Change.CREATED)._repr_html_()"

    assert "client" in display_modules_loaded_by(code)
    assert lines(card_of(Applied(POD, Change.CHANGED), NOW))[0].endswith(" · changed")


def test_a_class_of_a_user_is_displayed_as_its_base() -> None:
    class Mine(GVR):
        """A subclass outside of the package."""

    assert card_of(Mine("", "v1", "pods"), NOW) == card_of(GVR("", "v1", "pods"), NOW)


def test_the_error_for_a_class_without_a_renderer_says_how_to_register_one() -> None:
    with pytest.raises(TypeError, match=r"no renderer for datetime: register one with @render\.register"):
        card_of(NOW, NOW)
