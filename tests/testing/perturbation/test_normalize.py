"""Differences between objects that the author of a scenario says do not matter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import DynkubeError, InvalidInput
from dynkube_testing import PerturbedRun, perturb, replay
from dynkube_testing._perturbation.states import Adjust
from tests.testing.perturbation.kit import config, play

Objects = list[dict[str, Any]]


async def list_of_starts(client: dynkube.Client) -> None:
    """Keep lists in an arbitrary order, and a copy whose name has the number of the attempt."""
    attempt = len([*await client.resource("configmaps").list(namespace="default")])
    order = "ab" if attempt == 0 else "ba"
    made = [config("order", order=order), config(f"copy-{attempt}", of="order")]
    while made:
        try:
            await client.resource("configmaps").apply(made[0], field_manager="me")
            made.pop(0)
        except DynkubeError:
            await trio.sleep(1)
    await trio.sleep_forever()


async def scenario(run: PerturbedRun, adjust: Adjust | None = None) -> None:
    if adjust is not None:
        run.normalize(adjust)
    run.start(list_of_starts)
    await run.settle()


def comparable(objects: Objects) -> Iterator[dict[str, Any]]:
    for obj in objects:
        if obj["metadata"]["name"] == "order":
            obj["data"]["order"] = sorted(obj["data"]["order"])
        if obj["metadata"]["name"].startswith("copy-"):
            obj["metadata"]["generateName"] = "copy-"
        yield obj


PLAN = "crash(at=1, how=processed, seconds=5)"


def test_differences_that_do_not_matter_are_no_finding() -> None:
    finding = replay(scenario, PLAN)

    assert finding is not None
    assert [line for line in finding.problems[0].details if "order" in line] == [
        "configmaps default/order .data.order: 'ba', expected 'ab'"
    ]
    assert replay(partial(scenario, adjust=comparable), PLAN) is None


def test_objects_may_be_left_out() -> None:
    outcome = play("nothing", partial(scenario, adjust=lambda objects: objects[:0]))

    assert outcome.states == [{}]


@pytest.mark.parametrize(
    ("adjust", "error"),
    [
        (lambda objects: [{"kind": "Unknown"}], "its function returned {'kind': 'Unknown'}: return objects that"),
        (lambda objects: [*objects, *objects], "its function returned two objects .*: leave one out, or rename it"),
        ("comparable", "normalize got 'comparable': pass a function"),
    ],
)
def test_a_function_that_cannot_be_used_is_an_error(adjust: Any, error: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        perturb(partial(scenario, adjust=adjust))

    assert isinstance(caught.value.__cause__, InvalidInput)
    with pytest.raises(InvalidInput, match=error):
        raise caught.value.__cause__
