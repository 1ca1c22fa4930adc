"""Text from a cluster is never markup or a terminal sequence; displayable classes are found automatically."""

from __future__ import annotations

import importlib
import inspect
import io
import pkgutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter
from rich.console import Console
from rich.text import Text

import dynkube
from dynkube import GVK, GVR, FieldSet, Log
from dynkube._display.registry import render
from dynkube._displayable import Displayable
from dynkube.client import UserInfo
from dynkube.discovery import APIResource
from dynkube.discovery._availability import ResourceAvailability
from dynkube.errors import DynkubeError
from dynkube.meta import Unstructured, UnstructuredList
from dynkube.notebook._live import LiveTable, PageTable, WidgetTable
from tests.display.kit import Page
from tests.display.specimens import HOSTILE, SPECIMENS

PROTOCOLS = (
    "_repr_html_",
    "_repr_pretty_",
    "_repr_markdown_",
    "_repr_mimebundle_",
    "_repr_svg_",
    "_repr_latex_",
    "_ipython_display_",
    "_repr_javascript_",
    "_render_traceback_",
    "__rich__",
    "__rich_console__",
)
ELEMENTS = {"div", "style", "pre", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "p"}
ELEMENTS |= {"ul", "li", "wbr"}
STYLED = {("details", "style"), ("pre", "style")}
ATTRIBUTES = {"class", "title", "colspan", "open", "scope", "tabindex"}


def classes() -> Iterator[type]:
    """Yield the classes of the package that have a display method, except for abstract ones."""
    for module in pkgutil.walk_packages(dynkube.__path__, "dynkube."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and not inspect.isabstract(value) and any(_shows_itself(value)):
                yield value


def _shows_itself(kind: type) -> Iterator[bool]:
    """Yield for each base class in the package whether it defines a display method."""
    for each in kind.__mro__:
        if each.__module__.startswith("dynkube"):
            yield any(name in vars(each) for name in PROTOCOLS)


def test_every_displayable_class_has_a_specimen() -> None:
    found = set(classes())  # loads all renderers
    tested = {render.dispatch(each) for each in SPECIMENS if issubclass(each, Displayable)} - {render.dispatch(object)}

    untested = {each for each in found if render.dispatch(each) not in tested}

    # Add a specimen for each new displayable class, with hostile text in all its fields.
    assert {each.__qualname__ for each in untested - set(SPECIMENS)} == set()


def in_ipython(thing: object) -> dict[str, str]:
    """Return the outputs of IPython for an object, by MIME type."""
    formatter: Any = DisplayFormatter()  # IPython has no type annotations
    shown: dict[str, str] = formatter.format(thing)[0]
    return shown


every = pytest.mark.parametrize("make", SPECIMENS.values(), ids=[each.__name__ for each in SPECIMENS])


@every
def test_every_string_of_a_specimen_is_hostile(make: Callable[[], Any]) -> None:
    thing = make()
    texts = [getattr(thing, each.name) for each in fields(thing)] if is_dataclass(thing) else []

    assert [text for text in texts if isinstance(text, str) and not isinstance(text, Enum) and "evil" not in text] == []


@every
def test_html_has_no_element_and_no_attribute_from_data(make: Callable[[], Any]) -> None:
    page = Page(make()._repr_html_())

    assert {str(node.tag) for node in page.elements} <= ELEMENTS
    assert {name for tag, name in page.attributes if (tag, name) not in STYLED} <= ATTRIBUTES
    for node in page.elements:
        assert node.attributes.get("style") in (None, "display:none", "white-space:pre")
        assert all(word == "dynkube" or word.startswith("dk-") for word in (node.attributes.get("class") or "").split())
    assert "evil" in page.text()  # as text


@every
def test_html_has_no_invisible_characters(make: Callable[[], Any]) -> None:
    page = make()._repr_html_()

    assert {c for c in page if not c.isprintable()} <= {"\n", "\t"}
    assert page.encode()


@every
def test_the_text_for_ipython_has_no_control_characters(make: Callable[[], Any]) -> None:
    shown = in_ipython(make())

    assert {"text/plain", "text/html"} <= set(shown) <= {"text/plain", "text/html"}
    assert {c for c in shown["text/plain"] if not c.isprintable()} <= {"\n", "\t"}
    assert "evil" in shown["text/plain"]


@pytest.mark.parametrize("make", [make for make in SPECIMENS.values() if hasattr(make(), "__rich__")])
def test_rich_output_has_no_control_characters_and_no_markup_from_data(make: Callable[[], Any]) -> None:
    thing = make()
    text = thing.__rich__()
    console = Console(file=io.StringIO(), force_terminal=True, width=500, color_system="standard")
    console.print(thing)

    assert isinstance(text, Text)
    assert {str(span.style) for span in text.spans} <= {"", "bold", "dim", "cyan", "green", "yellow", "red", "blue"}
    assert {c for c in text.plain if not c.isprintable()} <= {"\n", "\t"}
    assert "evil" in text.plain


# Their str() is the data itself, for use by programs, and so not escaped.
DATA = {GVK, GVR, APIResource, ResourceAvailability, UserInfo, FieldSet, Log}
LIVE_TABLES = {LiveTable, PageTable, WidgetTable}  # have several lines in a list, too


@pytest.mark.parametrize("kind", SPECIMENS, ids=[each.__name__ for each in SPECIMENS])
def test_repr_and_str_have_no_control_characters(kind: type) -> None:
    thing = SPECIMENS[kind]()
    texts = {repr(thing), in_ipython([thing])["text/plain"], in_ipython({"a": thing})["text/plain"]}
    texts |= set() if kind in DATA else {str(thing), f"{thing}"}

    assert {c for text in texts for c in text if not c.isprintable()} <= {"\n", "\t"}
    if not issubclass(kind, UnstructuredList):  # is displayed as a table at the prompt
        assert "\n" not in repr(thing)


@pytest.mark.parametrize(
    "kind", [each for each in SPECIMENS if each not in LIVE_TABLES], ids=lambda kind: kind.__name__
)
def test_in_a_list_each_object_is_one_line(kind: type) -> None:
    assert "\n" not in in_ipython([SPECIMENS[kind]()])["text/plain"].replace("\n ", "")


def test_tracebacks_of_errors_have_no_control_characters() -> None:
    kinds = [each for each in vars(dynkube.errors).values() if isinstance(each, type)]
    plain = [each for each in kinds if issubclass(each, DynkubeError) and each.__init__ is DynkubeError.__init__]

    text = "".join(traceback.format_exception_only(kind(HOSTILE))[0] for kind in plain)

    assert len(plain) > 10
    assert {c for c in text if not c.isprintable()} <= {"\n", "\t"}


def test_a_list_of_objects_is_their_reprs() -> None:
    things = [Unstructured({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}}) for name in "ab"]

    shown = in_ipython(things)

    assert shown["text/plain"] == "[<Pod v1 a>, <Pod v1 b>]"
