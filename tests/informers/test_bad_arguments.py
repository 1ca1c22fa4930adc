"""Arguments that an informer rejects at once, as the mistake would only show later, if at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
import trio

from dynkube import (
    LIVE,
    Client,
    FieldSelector,
    Informer,
    InformerSettings,
    JSONPathFilter,
    LabelFilter,
    LabelSelector,
    Limits,
    PredicateFilter,
)
from dynkube.errors import ClosedError, InvalidInput
from tests.informers.kit import WIDGETS


async def never(obj: object) -> bool:
    return False


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c: c.informer(WIDGETS, transform=3), "transform is an int"),
        (lambda c: c.informer(WIDGETS, indexes=["a"]), "indexes is a list"),
        (lambda c: c.informer(WIDGETS, indexes={3: "{.a}"}), "the name of an index is 3: pass a string"),
        (lambda c: c.informer(WIDGETS).add_index("a", cast("Any", 3)), "JSONPath is an int"),
        (lambda c: c.informer(WIDGETS, filter=LabelFilter), "filter is an ABCMeta"),
        (lambda c: c.informer(WIDGETS, filter=never), "must be a synchronous function"),
        (lambda c: PredicateFilter(cast("Any", 3)), "must be a synchronous function"),
        (lambda c: JSONPathFilter("{.spec.n}", equals=cast("Any", 3)), "pass a string"),
        (lambda c: c.informer(WIDGETS).add_handler(), "at least one of on_add"),
        (lambda c: c.informer(WIDGETS).add_handler(on_add=3), "on_add is an int"),
        (lambda c: c.informer(WIDGETS).add_handler(on_add=print, on_error=never), "must be a synchronous function"),
        (lambda c: c.informer(WIDGETS).get("shop/web"), r"contains a slash: use get\('web', namespace='shop'\)"),
        (lambda c: c.informer(WIDGETS).get(3), "name is an int: pass metadata.name"),
        (lambda c: c.informer(WIDGETS).list(namespace=["shop"]), r"namespace=\['shop'\] is not the name of"),
        (lambda c: c.informer(WIDGETS).get("w", namespace=["shop"]), r"namespace=\['shop'\] is not the name of"),
        (
            lambda c: c.informer(WIDGETS, indexes={"n": "{.n}"}).by_index("n", 1),
            "value is an int.*: pass a string, like '80' or",
        ),
        (lambda c: InformerSettings(page_size=cast("Any", "5")), "page_size must be a positive number, not '5'"),
        (lambda c: InformerSettings(slice=cast("Any", "5")), "slice must be a number >= 0, not '5'"),
        (lambda c: Limits(max_retries=cast("Any", "5")), r"Limits\.max_retries must be a number"),
        (lambda c: Limits(burst=cast("Any", "5")), r"Limits\.burst must be a number >= 1"),
        (lambda c: Limits(qps=cast("Any", "5")), r"Limits\.qps must be a positive number"),
        (
            lambda c: LabelSelector(cast("Any", "a=b")),
            r"LabelSelector\(\) takes requirements, not a str: use LabelSelector\.parse\('a=b'\)",
        ),
        (
            lambda c: FieldSelector(cast("Any", "a=b")),
            r"FieldSelector\(\) takes requirements, not a str: use FieldSelector\.parse",
        ),
        (lambda c: LabelFilter("app") and LabelFilter("tier"), "combine filters with &, | and ~"),
        (lambda c: not LabelFilter("app"), "has no truth value"),
        (lambda c: InformerSettings(crd_filter=cast("Any", never)), "must be a synchronous function"),
    ],
)
async def test_an_invalid_argument_is_named_in_the_error(
    client: Client, make: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(client)


@pytest.mark.parametrize("phases", [(), ("live",), (LIVE, "FOO")])
async def test_waiting_for_an_invalid_phase_is_rejected(client: Client, phases: tuple[Any, ...]) -> None:
    async with client.informer(WIDGETS) as widgets:
        with pytest.raises(InvalidInput, match="one or more of UNKNOWN, ABSENT"):
            await widgets.wait_state(*phases)


async def test_waiting_for_a_dict_is_rejected(client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        with pytest.raises(InvalidInput, match="pass what create, update or patch returned"):
            await widgets.wait_for({"metadata": {}})  # type: ignore[arg-type]  # the mistake under test


async def iterate(informer: Informer) -> None:
    async with informer.events() as events:
        await anext(events)


@pytest.mark.parametrize("wait", [Informer.wait_synced, lambda i: i.wait_state(LIVE), iterate])
async def test_waiting_on_an_informer_that_was_not_entered_is_rejected(
    client: Client, wait: Callable[[Informer], Awaitable[object]]
) -> None:
    with pytest.raises(ClosedError, match=r"was not entered: use it inside 'async with client\.informer"):
        await wait(client.informer(WIDGETS))


async def leave_with_an_error(informer: Informer) -> None:
    async with informer:
        try:
            await trio.sleep_forever()
        finally:
            raise KeyError("mine")


async def test_an_exception_raised_in_a_cancelled_block_is_not_lost(client: Client) -> None:
    with pytest.raises(KeyError, match="mine"), trio.move_on_after(1):
        await leave_with_an_error(client.informer(WIDGETS))
