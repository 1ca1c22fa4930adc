"""Large objects in differences and conflicts: in time linear in their size, and in a thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dynkube import FieldPath, Unstructured
from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.errors import ApplyConflict, Status, StatusCause
from dynkube.fields import Values
from dynkube.fields._conflicts import explained
from dynkube.fields._diff.compute import diff_between, drift_between
from dynkube.fields._printed_paths import meant


def of_many(number: int, value: str, *, manager: str) -> Unstructured:
    items = [{"name": f"n{index}", "value": value} for index in range(number)]
    below: dict[str, Any] = {
        f'k:{{"name":"n{index}"}}': {".": {}, "f:name": {}, "f:value": {}} for index in range(number)
    }
    fields = {"f:spec": {"f:items": below}}
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "x/v1", "fieldsType": "FieldsV1"}
    metadata = {"name": "long", "managedFields": [{**entry, "fieldsV1": fields}]}
    return Unstructured({"apiVersion": "x/v1", "kind": "Long", "metadata": metadata, "spec": {"items": items}})


def calls(work: Callable[[], object]) -> int:
    number = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return number


def diff(number: int) -> Any:
    live, trial = of_many(number, "1", manager="a"), of_many(number, "2", manager="b")
    return diff_between(live, trial, ours=trial, manager="b", subresource=None)


def drift(number: int) -> Any:
    wanted, live = of_many(number, "1", manager="a"), of_many(number, "2", manager="b")
    return drift_between(wanted, live, manager="a", subresource=None)


def explain(number: int) -> Any:
    """Explain a conflict with only our own object to interpret the server's paths."""
    fields = [f'.spec.items[name="n{index}"].value' for index in range(number)]
    causes = tuple(StatusCause(field, "FieldManagerConflict", 'conflict with "other"') for field in fields)
    return explained(ApplyConflict(Status(409, causes=causes)), of_many(number, "2", manager="a"), None)


@pytest.mark.parametrize("compare", [diff, drift, explain])
def test_four_times_the_items_cost_about_four_times_as_much(compare: Callable[[int], Any]) -> None:
    compare(1)  # imports do not count

    assert calls(lambda: compare(200)) < 6 * calls(lambda: compare(50))


@pytest.mark.parametrize("compare", [diff, drift])
def test_each_differing_item_is_a_change(compare: Callable[[int], Any]) -> None:
    assert len(compare(50).changes) == 50


def test_names_of_a_map_are_looked_up_and_not_scanned() -> None:
    class Names(dict[str, str]):
        def __iter__(self) -> Any:
            raise AssertionError("gone through")

    obj = Values({"data": Names({"tls.crt": "x"})})

    assert meant(".data.tls.crt", obj) == FieldPath() / "data" / "tls.crt"


@pytest.mark.real_time
@pytest.mark.parametrize(("number", "aside"), [(1, False), (2000, True)], ids=["small", "large"])
async def test_large_objects_are_processed_in_a_thread(number: int, aside: bool) -> None:
    thread = await run_in_thread_if_large(threading.get_ident, of_many(number, "1", manager="a"), None)

    assert (thread != threading.get_ident()) is aside
