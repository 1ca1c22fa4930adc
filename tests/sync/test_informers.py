"""Informers of the blocking client: they run in the background, and reads do not switch threads."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import dynkube
import dynkube.sync
from dynkube.errors import ClosedError, DeadlineExceeded, InvalidInput
from dynkube_testing import ServerThread
from tests.informers.kit import WIDGETS, crd
from tests.sync.kit import CONFIGMAPS, config_map, name_of

pytestmark = pytest.mark.real_time


def test_an_informer_on_an_absent_resource_is_empty_and_becomes_live(
    cluster: ServerThread, k: dynkube.sync.Client
) -> None:
    widgets = k.informer(WIDGETS)
    widgets.wait_synced(timeout=10)
    assert (len(widgets), widgets.state.phase) == (0, dynkube.ABSENT)

    cluster.create(crd())

    assert widgets.wait_state(dynkube.LIVE, timeout=10).reason == "Watching"


def test_writes_are_read_from_the_cache(k: dynkube.sync.Client) -> None:
    maps = k.informer(CONFIGMAPS, namespace="default")
    written = k.resource(CONFIGMAPS).create(config_map("one"))

    maps.wait_for(written, timeout=10)

    assert maps.get("one") == written
    assert list(maps) == maps.list() == [written]


def test_an_informer_has_its_resource_namespace_and_filter(k: dynkube.sync.Client) -> None:
    chosen = dynkube.LabelFilter("a=b")
    some, every = k.informer(CONFIGMAPS, namespace="default", filter=chosen), k.informer(CONFIGMAPS)

    assert (some.filter, every.filter) == (chosen, None)
    assert some.gvr == every.gvr == dynkube.GVR("", "v1", "configmaps")
    assert (some.namespace, every.namespace) == ("default", None)


def test_the_objects_of_an_informer_are_converted_to_a_data_frame(k: dynkube.sync.Client) -> None:
    maps = k.informer(CONFIGMAPS, namespace="default", filter=lambda obj: obj.name != "two")
    for name in ("one", "two"):
        maps.wait_for(k.resource(CONFIGMAPS).create(config_map(name, color="red")), timeout=10)

    frames = [maps.to_pandas(fields={"color": "{.data.color}"}), maps.to_polars(fields={"color": "{.data.color}"})]

    assert [list(frame["Name"]) for frame in frames] == [["one"], ["one"]]
    assert [list(frame["color"]) for frame in frames] == [["red"], ["red"]]


def test_events_are_delivered_until_the_informer_is_closed(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    maps = k.informer(CONFIGMAPS, namespace="default")

    with maps.events() as events:
        first = next(events)
        maps.close()
        rest = list(events)

    assert (type(first), name_of(first), rest) == (dynkube.Added, "one", [])


def test_changing_the_filter_delivers_the_difference(k: dynkube.sync.Client) -> None:
    for name in ("one", "two"):
        k.resource(CONFIGMAPS).create(config_map(name))
    maps = k.informer(CONFIGMAPS, namespace="default")
    maps.wait_synced(timeout=10)

    with maps.events() as events:
        shown = {name_of(next(events)), name_of(next(events))}
        maps.set_filter(lambda obj: obj.name == "one")
        gone = next(events)

    assert (shown, name_of(gone), [obj.name for obj in maps]) == ({"one", "two"}, "two", ["one"])
    assert isinstance(gone, dynkube.Deleted)


def test_a_plain_handler_may_call_the_client(k: dynkube.sync.Client) -> None:
    maps = k.resource(CONFIGMAPS)
    maps.create(config_map("one"))
    received: list[tuple[str, bool]] = []

    def on_add(obj: dynkube.Unstructured) -> None:
        received.append(
            (maps.get(obj.name, namespace="default").name, threading.current_thread() is threading.main_thread())
        )

    handle = k.informer(CONFIGMAPS, namespace="default").add_handler(on_add=on_add)
    handle.wait_synced(timeout=10)

    assert received == [("one", False)]


def test_the_backlog_counts_the_events_that_wait_for_a_busy_handler(k: dynkube.sync.Client) -> None:
    for name in ("one", "two", "three"):
        k.resource(CONFIGMAPS).create(config_map(name))
    maps = k.informer(CONFIGMAPS, namespace="default")
    begun, end = threading.Event(), threading.Event()

    def on_add(obj: dynkube.Unstructured) -> None:
        begun.set()
        end.wait()

    handle = maps.add_handler(on_add=on_add)
    begun.wait()
    waiting = handle.backlog
    end.set()
    handle.wait_synced(timeout=10)

    assert (waiting, handle.backlog) == (2, 0)


def test_a_handler_that_hangs_does_not_block_closing(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    maps = k.informer(CONFIGMAPS, namespace="default")
    begun, end = threading.Event(), threading.Event()

    def on_add(obj: dynkube.Unstructured) -> None:
        begun.set()
        end.wait()

    maps.add_handler(on_add=on_add)
    begun.wait()
    maps.close()
    end.set()

    assert maps.state.phase is dynkube.STOPPED


def test_an_async_handler_is_called_too(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    received: list[str] = []

    async def on_add(obj: dynkube.Unstructured) -> None:
        received.append(obj.name)

    k.informer(CONFIGMAPS, namespace="default").add_handler(on_add=on_add).wait_synced(timeout=10)

    assert received == ["one"]


def test_a_filter_may_read_informers_but_not_call_the_client(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    maps, spaces = k.informer(CONFIGMAPS, namespace="default"), k.informer("namespaces")
    maps.wait_synced(timeout=10)
    spaces.wait_synced(timeout=10)
    threads: list[str] = []

    def filter_(obj: dynkube.Unstructured) -> bool:
        threads.append(threading.current_thread().name)
        return bool(k.get(CONFIGMAPS, obj.name))

    maps.set_filter(filter_)
    threads.clear()
    calling = maps.list()
    maps.set_filter(lambda obj: spaces.get(obj.namespace) is not None)
    reading = maps.list()

    assert (calling, [obj.name for obj in reading]) == ([], ["one"])
    assert threading.main_thread().name in threads
    assert "in every thread that reads" in maps.statistics().last_error


def test_an_index_function_that_calls_the_client_is_an_error(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    maps = k.informer(CONFIGMAPS, namespace="default")
    maps.wait_synced(timeout=10)

    maps.add_index("x", lambda obj: [k.get(CONFIGMAPS, obj.name).name])

    assert maps.by_index("x", "one") == []
    assert "a blocking call in a filter or index function" in maps.statistics().last_error


def test_a_filter_that_calls_the_client_is_an_error(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    maps = k.informer(CONFIGMAPS, namespace="default")

    with maps.events() as events:
        shown = next(events)
        maps.set_filter(lambda obj: bool(k.resource(CONFIGMAPS).get(obj.name)))
        hidden = next(events)

    assert (type(shown), type(hidden)) == (dynkube.Added, dynkube.Deleted)
    assert "a blocking call in a filter or index function" in maps.statistics().last_error


def test_the_timeout_error_of_a_wait_has_the_state(k: dynkube.sync.Client) -> None:
    widgets = k.informer(WIDGETS)

    widgets.wait_synced(timeout=10)

    with pytest.raises(
        DeadlineExceeded, match=r"widgets\S* was not LIVE within 0\.01 s: it is ABSENT \(CRDNotFound: no"
    ):
        widgets.wait_state(dynkube.LIVE, timeout=0.01)


@pytest.mark.parametrize("timeout", ["5", -1, float("nan")])
def test_an_invalid_timeout_is_rejected(k: dynkube.sync.Client, timeout: Any) -> None:
    with pytest.raises(InvalidInput, match="timeout must be a number of seconds"):
        k.informer(WIDGETS).wait_synced(timeout=timeout)


def test_an_invalid_phase_is_rejected(k: dynkube.sync.Client) -> None:
    wrong: Any = 3

    with pytest.raises(InvalidInput, match="wait_state requires one or more of"):
        k.informer(WIDGETS).wait_state(wrong)


def test_states_are_iterated_over_until_the_end(cluster: ServerThread, k: dynkube.sync.Client) -> None:
    widgets = k.informer(WIDGETS)
    widgets.wait_state(dynkube.ABSENT, timeout=10)
    states = widgets.states()
    absent = next(states)

    cluster.create(crd())
    live = next(state for state in states if state.phase is dynkube.LIVE)
    widgets.close()

    assert (absent.phase, live.reason) == (dynkube.ABSENT, "Watching")
    assert [state.phase for state in states][-1:] == [dynkube.STOPPED]


def test_a_closed_informer_is_empty_and_rejects_handlers(k: dynkube.sync.Client) -> None:
    maps = k.informer(CONFIGMAPS)
    maps.close()
    maps.close()

    assert (maps.list(), maps.state.phase) == ([], dynkube.STOPPED)
    with pytest.raises(ClosedError, match="this informer is closed"):
        maps.add_handler(on_add=print)


def test_an_unknown_resource_is_rejected_by_the_call(k: dynkube.sync.Client) -> None:
    with pytest.raises(dynkube.errors.NoMatch, match=r"nosuchthings.*; to follow a resource that is not installed yet"):
        k.informer("nosuchthings")


def test_a_handler_with_on_error_cancel_ends_its_client(k: dynkube.sync.Client) -> None:
    def on_add(obj: dynkube.Unstructured) -> None:
        raise LookupError(obj.name)

    k.informer("namespaces").add_handler(on_add=on_add, on_error="cancel")

    with pytest.raises(ClosedError, match="client"):
        k.resource("namespaces").wait_for("never", "create")
    with pytest.raises(LookupError):  # for whichever namespace came first
        k.close()


def leave(obj: dynkube.Unstructured) -> Any:
    sys.exit(3)


def interrupt(obj: dynkube.Unstructured) -> Any:
    raise KeyboardInterrupt


async def leave_async(obj: dynkube.Unstructured) -> None:
    sys.exit(3)


@pytest.mark.scenario("P10")
@pytest.mark.parametrize("function", [leave, interrupt, leave_async])
def test_a_handler_cannot_end_the_program_from_a_thread(k: dynkube.sync.Client, function: Any) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    errors: list[Exception] = []
    maps = k.informer(CONFIGMAPS, namespace="default")
    maps.add_index("x", leave)

    logged = maps.add_handler(on_add=function)
    called = maps.add_handler(on_add=function, on_error=lambda exc, event: errors.append(exc))
    logged.wait_synced(timeout=10)
    called.wait_synced(timeout=10)
    maps.wait_for(k.resource(CONFIGMAPS).create(config_map("two")), timeout=10)

    assert (logged.errors >= 1, called.errors >= 1, maps.state.phase) == (True, True, dynkube.LIVE)
    assert "outside of the main thread, where it cannot end the program" in logged.statistics().last_error
    assert isinstance(errors[0].__cause__, SystemExit | KeyboardInterrupt)
    assert "SystemExit" in maps.statistics().last_error


def test_a_handler_that_exits_can_end_its_client(cluster: ServerThread) -> None:
    k = dynkube.sync.connect(url=cluster.url)
    maps = k.informer(CONFIGMAPS, namespace="default")
    maps.wait_synced(timeout=10)
    maps.add_handler(on_add=leave, on_error="cancel")

    cluster.create(config_map("one"))
    maps.wait_state(dynkube.STOPPED, timeout=10)

    with pytest.raises(RuntimeError, match=r"SystemExit: 3 was raised outside of the main thread"):
        k.close()
