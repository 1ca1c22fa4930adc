"""The blocking API has everything that the async API has, with the same arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import get_overloads

import pytest

import dynkube
import dynkube.client
import dynkube.controllers
import dynkube.discovery
import dynkube.informers
import dynkube.sync

PAIRS = [
    (dynkube.sync.Client, dynkube.Client),
    (dynkube.sync.Mapper, dynkube.discovery.DeferredRESTMapper),
    (dynkube.sync.ResourceClient, dynkube.ResourceClient),
    (dynkube.sync.SubresourceClient, dynkube.client.SubresourceClient),
    (dynkube.sync.Informer, dynkube.Informer),
    (dynkube.sync.Registration, dynkube.Registration),
    (dynkube.sync.EventStream, dynkube.informers.EventStream),
    (dynkube.sync.Watch, dynkube.client.Watch),
    (dynkube.sync.ObjectIterator, dynkube.client.ObjectIterator),
]
OTHER_NAMES = {
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
}
INSIDE = {  # internal interfaces between informer and subscribers, and between client and watches
    dynkube.client.Watch: {"open", "take"},
    dynkube.client.ObjectIterator: {"take"},
    dynkube.discovery.DeferredRESTMapper: {"doubt", "may_be_outdated", "recheck"},
}


def _public(cls: type) -> Iterator[str]:
    for name in dir(cls):
        if not name.startswith("_") or name in OTHER_NAMES or name in {"__len__", "__iter__", "__getitem__"}:
            yield name


CASES = [
    pytest.param(blocking, asynchronous, name, id=f"{asynchronous.__name__}.{name}")
    for blocking, asynchronous in PAIRS
    for name in _public(asynchronous)
    if name not in INSIDE.get(asynchronous, ())
]


@pytest.mark.parametrize(("blocking", "asynchronous", "name"), CASES)
def test_the_blocking_class_has_each_public_name(blocking: type, asynchronous: type, name: str) -> None:
    assert hasattr(blocking, OTHER_NAMES.get(name, name))


@pytest.mark.parametrize(("blocking", "asynchronous", "name"), CASES)
def test_the_arguments_are_the_same(blocking: type, asynchronous: type, name: str) -> None:
    theirs = inspect.getattr_static(asynchronous, name)
    ours = getattr(blocking, OTHER_NAMES.get(name, name))
    if not inspect.isfunction(theirs):
        return

    parameters = dict(inspect.signature(ours).parameters)
    expected = dict(inspect.signature(theirs).parameters)
    if "timeout" not in expected:
        parameters.pop("timeout", None)  # trio.fail_after in async code

    assert [(p.name, p.kind, p.default) for p in parameters.values()] == [
        (p.name, p.kind, p.default) for p in expected.values()
    ]


@pytest.mark.parametrize(("blocking", "asynchronous"), PAIRS)
def test_blocking_classes_are_context_managers_if_the_async_ones_are(blocking: type, asynchronous: type) -> None:
    enters = hasattr(asynchronous, "__aenter__")

    assert not enters or (hasattr(blocking, "__enter__") and hasattr(blocking, "__exit__"))


def test_overloads_are_the_same() -> None:
    ours, theirs = (get_overloads(client.get) for client in (dynkube.sync.Client, dynkube.Client))

    assert [inspect.signature(each) for each in ours] == [inspect.signature(each) for each in theirs]
    assert len(ours) == 2


def test_the_only_additional_method_of_the_blocking_informer_is_live() -> None:
    # Live tables update while no cell runs, which trio in a notebook cannot do without a thread.
    names = {OTHER_NAMES.get(name, name) for name in dir(dynkube.Informer)}

    assert {name for name in dir(dynkube.sync.Informer) if not name.startswith("_")} - names == {"live"}


def test_connect_takes_the_same_arguments() -> None:
    assert inspect.signature(dynkube.sync.connect).parameters == inspect.signature(dynkube.connect).parameters


@pytest.mark.parametrize("ours", [dynkube.sync.run, dynkube.sync.start])
def test_controllers_have_the_same_defaults(ours: Callable[..., object]) -> None:
    parameters = inspect.signature(ours).parameters
    expected = inspect.signature(dynkube.controllers.run).parameters

    shared = parameters.keys() & expected.keys() - {"client"}
    assert {"events", "shutdown_timeout"} <= shared
    assert {name: parameters[name].default for name in shared} == {name: expected[name].default for name in shared}


def test_docstrings_contain_no_await() -> None:
    names = [(blocking, name) for blocking, _ in PAIRS for name in _public(blocking) if not name.startswith("_")]
    texts = [inspect.getdoc(getattr(blocking, name)) or "" for blocking, name in names]

    texts.append(inspect.getdoc(dynkube.sync.connect) or "")
    phrases = ("await ", "async with", "enter it", "Nothing is sent before", "reads nothing yet")
    assert [text for text in texts if any(phrase in text for phrase in phrases)] == []
    assert all(texts)


@pytest.mark.parametrize(("blocking", "asynchronous", "name"), CASES)
def test_properties_are_properties_in_both(blocking: type, asynchronous: type, name: str) -> None:
    theirs = inspect.getattr_static(asynchronous, name)
    ours = inspect.getattr_static(blocking, OTHER_NAMES.get(name, name))

    assert callable(ours) == callable(theirs)
