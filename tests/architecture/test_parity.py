"""The blocking API and the API for asyncio have everything that the API for trio has, with the same arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Final, get_overloads

import pytest

import dynkube
import dynkube.aio
import dynkube.client
import dynkube.controllers
import dynkube.discovery
import dynkube.informers
import dynkube.pods
import dynkube.sync
import dynkube.workloads

CLASSES: Final = {
    "Client": dynkube.Client,
    "Mapper": dynkube.discovery.DeferredRESTMapper,
    "ResourceClient": dynkube.ResourceClient,
    "SubresourceClient": dynkube.client.SubresourceClient,
    "Informer": dynkube.Informer,
    "Registration": dynkube.Registration,
    "EventStream": dynkube.informers.EventStream,
    "Watch": dynkube.client.Watch,
    "ObjectIterator": dynkube.client.ObjectIterator,
    "Pod": dynkube.Pod,
    "PortForward": dynkube.pods.PortForward,
    "PortStream": dynkube.pods.PortStream,
    "Process": dynkube.pods.Process,
    "ProcessInput": dynkube.pods.ProcessInput,
    "ProcessOutput": dynkube.pods.ProcessOutput,
    "LogStream": dynkube.pods.LogStream,
    "MergedLogs": dynkube.pods.MergedLogs,
    "Rollout": dynkube.workloads.Rollout,
    "ApplyRun": dynkube.ApplyRun,  # the blocking API has only its report
    "EventRecorder": dynkube.controllers.EventRecorder,
    "Context": dynkube.controllers.Context,  # that of threads is dynkube.controllers.BlockingContext
}
"""The names of the classes in both APIs, and the classes for trio."""

PAIRS: Final = [
    (getattr(module, name), cls)
    for module in (dynkube.sync, dynkube.aio)
    for name, cls in CLASSES.items()
    if name in module.__all__
]
BLOCKING_NAMES: Final = {
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
}
INSIDE: Final = {  # internal interfaces between informer and subscribers, and between client and watches
    dynkube.client.Watch: {"open", "take"},
    dynkube.client.ObjectIterator: {"take"},
    dynkube.pods.PortStream: {"wait_send_all_might_not_block"},
    dynkube.pods.ProcessInput: {"wait_send_all_might_not_block"},  # of trio's streams; it does nothing
    dynkube.pods.LogStream: {"open", "take"},
    dynkube.pods.MergedLogs: {"take"},
    dynkube.controllers.EventRecorder: {"run"},  # a task of one's own; the others have a block only
    dynkube.discovery.DeferredRESTMapper: {"doubt", "may_be_outdated", "recheck"},
}


def _public(cls: type) -> Iterator[str]:
    for name in dir(cls):
        if not name.startswith("_") or name in BLOCKING_NAMES or name in {"__len__", "__iter__", "__getitem__"}:
            yield name


def _is_blocking(cls: type) -> bool:
    return cls.__module__.startswith("dynkube.sync.")


def _name_in(cls: type, name: str) -> str:
    return BLOCKING_NAMES.get(name, name) if _is_blocking(cls) else name


CASES: Final = [
    pytest.param(ours, theirs, name, id=f"{ours.__module__.split('.')[1]}.{theirs.__name__}.{name}")
    for ours, theirs in PAIRS
    for name in _public(theirs)
    if name not in INSIDE.get(theirs, ())
]


def test_only_the_blocking_api_lacks_a_class() -> None:
    assert CLASSES.keys() - set(dynkube.aio.__all__) == set()
    assert CLASSES.keys() - set(dynkube.sync.__all__) == {"ApplyRun", "Context"}


@pytest.mark.parametrize(("ours", "theirs", "name"), CASES)
def test_the_class_has_each_public_name(ours: type, theirs: type, name: str) -> None:
    assert hasattr(ours, _name_in(ours, name))


@pytest.mark.parametrize(("ours", "theirs", "name"), CASES)
def test_the_arguments_are_the_same(ours: type, theirs: type, name: str) -> None:
    original = inspect.getattr_static(theirs, name)
    method = getattr(ours, _name_in(ours, name))
    if not inspect.isfunction(original):
        return

    parameters = dict(inspect.signature(method).parameters)
    expected = dict(inspect.signature(original).parameters)
    if "timeout" not in expected and _is_blocking(ours):
        parameters.pop("timeout", None)  # trio.fail_after in async code

    assert [(p.name, p.kind, p.default) for p in parameters.values()] == [
        (p.name, p.kind, p.default) for p in expected.values()
    ]


@pytest.mark.parametrize(("ours", "theirs", "name"), CASES)
def test_a_method_for_asyncio_is_async_if_that_for_trio_is(ours: type, theirs: type, name: str) -> None:
    if _is_blocking(ours):
        return
    original, method = inspect.getattr_static(theirs, name), inspect.getattr_static(ours, name)

    assert inspect.iscoroutinefunction(original) == inspect.iscoroutinefunction(method)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_classes_are_context_managers_if_those_for_trio_are(ours: type, theirs: type) -> None:
    names = [_name_in(ours, name) for name in ("__aenter__", "__aexit__") if hasattr(theirs, name)]

    assert all(hasattr(ours, name) for name in names)


@pytest.mark.parametrize("module", [dynkube.sync, dynkube.aio])
def test_overloads_are_the_same(module: ModuleType) -> None:
    ours, theirs = (get_overloads(client.get) for client in (module.Client, dynkube.Client))

    assert [inspect.signature(each) for each in ours] == [inspect.signature(each) for each in theirs]
    assert len(ours) == 2


@pytest.mark.parametrize("module", [dynkube.sync, dynkube.aio])
def test_the_only_additional_method_of_an_informer_is_live(module: ModuleType) -> None:
    # Live tables update while no cell runs, which trio in a notebook cannot do without a thread.
    names = {_name_in(module.Informer, name) for name in dir(dynkube.Informer)}

    assert {name for name in dir(module.Informer) if not name.startswith("_")} - names == {"live"}


def test_live_takes_the_same_arguments_in_both() -> None:
    ours, theirs = (inspect.signature(module.Informer.live) for module in (dynkube.aio, dynkube.sync))

    assert ours == theirs


def test_live_of_several_clusters_takes_the_same_arguments_in_both_and_those_of_one() -> None:
    ours, theirs = (inspect.signature(module.live) for module in (dynkube.aio, dynkube.sync))
    _, *of_one = inspect.signature(dynkube.sync.Informer.live).parameters.values()
    informers, *others = ours.parameters.values()

    assert ours == theirs
    assert (informers.name, others) == ("informers", of_one)


@pytest.mark.parametrize("module", [dynkube.sync, dynkube.aio])
def test_connect_takes_the_same_arguments(module: ModuleType) -> None:
    assert inspect.signature(module.connect).parameters == inspect.signature(dynkube.connect).parameters


@pytest.mark.parametrize("name", ["run", "start"])
def test_controllers_take_the_same_arguments_in_both(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (dynkube.aio, dynkube.sync))

    assert [*ours] == [*theirs]
    assert all(str(ours[each]) == str(theirs[each]) for each in ours if each != "client")


def test_runs_of_controllers_have_the_same_methods_in_both() -> None:
    ours, theirs = (
        {name for name in dir(cls) if not name.startswith("_")}
        for cls in (dynkube.aio.ControllerRun, dynkube.sync.ControllerRun)
    )

    assert ours == theirs


@pytest.mark.parametrize("ours", [dynkube.sync.run, dynkube.sync.start, dynkube.aio.run, dynkube.aio.start])
def test_controllers_have_the_same_defaults(ours: Callable[..., object]) -> None:
    parameters = inspect.signature(ours).parameters
    expected = inspect.signature(dynkube.controllers.run).parameters

    shared = parameters.keys() & expected.keys() - {"client"}
    assert {"events", "shutdown_timeout"} <= shared
    assert {name: parameters[name].default for name in shared} == {name: expected[name].default for name in shared}


def _texts(module: ModuleType) -> Iterator[str]:
    for cls in (getattr(module, name) for name in CLASSES if name in module.__all__):
        yield from (inspect.getdoc(getattr(cls, name)) or "" for name in _public(cls) if not name.startswith("_"))
    yield inspect.getdoc(module.connect) or ""


def test_docstrings_of_the_blocking_api_contain_no_await() -> None:
    texts = [*_texts(dynkube.sync)]

    phrases = ("await ", "async with", "enter it", "Nothing is sent before", "reads nothing yet")
    assert [text for text in texts if any(phrase in text for phrase in phrases)] == []
    assert all(texts)


def test_docstrings_of_the_api_for_asyncio_name_nothing_of_trio() -> None:
    texts = [*_texts(dynkube.aio)]

    phrases = ("trio.", "dynkube.connect(", "dynkube.sync.connect(")
    assert [text for text in texts if any(phrase in text for phrase in phrases)] == []
    assert all(texts)


@pytest.mark.parametrize(("ours", "theirs", "name"), CASES)
def test_properties_are_properties_in_both(ours: type, theirs: type, name: str) -> None:
    original = inspect.getattr_static(theirs, name)

    assert callable(inspect.getattr_static(ours, _name_in(ours, name))) == callable(original)
