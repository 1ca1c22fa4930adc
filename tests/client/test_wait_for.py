"""Waiting for one object."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from dynkube.errors import DeadlineExceeded, Forbidden, InvalidInput
from tests.client.wire import (
    FOREVER,
    ScriptedResponse,
    ScriptedServer,
    connect,
    error_response,
    event,
    pod,
    pods,
    stream,
)


def ready(version: int, status: str = "True", **fields: str) -> dict[str, Any]:
    return pod("a", version, status={"conditions": [{"type": "Ready", "status": status, **fields}]})


async def wait(condition: Any, *responses: ScriptedResponse, **options: Any) -> tuple[str | None, float]:
    """Return the resourceVersion for which the condition held, and the time until then."""
    found = await connect(ScriptedServer(*responses)).resource("pods").wait_for("a", condition, **options)
    return (None if found is None else found.resource_version), trio.current_time()


async def test_a_condition_that_holds_already_is_not_waited_for() -> None:
    server = ScriptedServer(pods(5, ready(3)))

    found = await connect(server).resource("pods").wait_for("a", "condition=Ready")

    assert found is not None
    assert found.resource_version == "3"
    assert server.request_lines == ["GET /api/v1/namespaces/shop/pods limit=500"]
    assert server.requests[0].url.params["fieldSelector"] == "metadata.name=a"


async def test_a_condition_is_waited_for() -> None:
    changes = stream(5.0, event("MODIFIED", ready(6, "False")), 5.0, event("MODIFIED", ready(7)), FOREVER)

    assert await wait("condition=Ready", pods(5, ready(3, "False")), changes) == ("7", 10)


async def test_an_object_that_does_not_exist_yet_is_waited_for() -> None:
    assert await wait("create", pods(5), stream(3.0, event("ADDED", pod("a", 6)))) == ("6", 3)


async def test_a_condition_may_be_a_function() -> None:
    changes = stream(3.0, event("MODIFIED", pod("a", 6)), event("MODIFIED", pod("a", 7)))

    assert await wait(lambda obj: obj.resource_version == "7", pods(5, pod("a")), changes) == ("7", 3)


async def test_an_exception_in_the_function_ends_the_wait() -> None:
    with pytest.raises(ZeroDivisionError):
        await wait(lambda _: 1 / 0, pods(5, pod("a")))


async def test_waiting_for_a_deletion_returns_the_object_as_last_seen() -> None:
    held = {**pod("a", 6), "status": {"phase": "Running"}}
    changes = stream(event("MODIFIED", held), 3.0, event("DELETED", pod("a", 7)))

    assert await wait("delete", pods(5, pod("a", 3)), changes) == ("6", 3)


async def test_a_missing_object_counts_as_deleted() -> None:
    assert await wait("delete", pods(5)) == (None, 0)


async def test_another_object_with_the_same_name_is_a_deletion() -> None:
    after_restart = pods(90, pod("a", 80, uid="second"))

    found = await wait("delete", pods(5, pod("a", 3)), error_response(410, "Expired"), after_restart)

    assert found[0] == "3"


async def test_waiting_for_the_deletion_of_a_uid_ignores_its_successor() -> None:
    assert await wait("delete", pods(5, pod("a", 3, uid="second")), uid="first") == (None, 0)


async def test_the_timeout_error_has_the_condition_and_the_object_last_seen() -> None:
    pending = ready(6, "False", reason="Pulling", message="image web:v2")

    with pytest.raises(DeadlineExceeded) as caught:
        await wait("condition=Ready", pods(5, pending), stream(FOREVER), timeout=20)

    assert trio.current_time() == 20
    assert str(caught.value) == (
        "pods 'a' in namespace 'shop' was not condition Ready=True within 20 s; last seen: "
        "<Pod v1 shop/a rv=6> had condition Ready=False (Pulling: image web:v2)"
    )


async def test_by_default_a_wait_ends_after_30_seconds() -> None:
    with pytest.raises(DeadlineExceeded, match="within 30 s"):
        await wait("create", pods(5), stream(FOREVER))

    assert trio.current_time() == 30


async def test_the_timeout_error_says_that_the_object_was_deleted() -> None:
    with pytest.raises(DeadlineExceeded, match="last seen: the object did not exist"):
        await wait("condition=Ready", pods(5, pod("a")), stream(event("DELETED", pod("a", 6)), FOREVER), timeout=20)


async def test_the_timeout_error_says_that_no_object_was_seen() -> None:
    with pytest.raises(DeadlineExceeded, match="the server did not respond"):
        await wait("create", stream(FOREVER), timeout=20)


async def test_the_wait_survives_broken_watches() -> None:
    responses = [pods(5), stream(), pods(5), error_response(500, "InternalError"), stream(event("ADDED", pod("a", 6)))]

    assert (await wait("create", *responses))[0] == "6"


async def test_missing_permissions_end_the_wait() -> None:
    with pytest.raises(Forbidden):
        await wait("create", error_response(403, "Forbidden"))


@pytest.mark.parametrize(
    ("name", "timeout", "message"), [("", 30, "name is empty"), ("a", -1, "timeout must be a positive number")]
)
async def test_invalid_arguments_are_rejected(name: str, timeout: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await connect(ScriptedServer()).resource("pods").wait_for(name, "create", timeout=timeout)
