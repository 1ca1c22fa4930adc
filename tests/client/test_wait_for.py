"""Waiting for one object."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from dynkube.errors import DeadlineExceeded, Forbidden, InvalidInput, NotFound
from tests.client.wire import FOREVER, Answer, ScriptedServer, connect, event, pod, pods, refusal, stream


def ready(version: int, status: str = "True", **fields: str) -> dict[str, Any]:
    return pod("a", version, status={"conditions": [{"type": "Ready", "status": status, **fields}]})


async def wait(condition: Any, *answers: Answer, **options: Any) -> tuple[str | None, float]:
    """The version for which it held, and the time it took."""
    found = await connect(ScriptedServer(*answers)).resource("pods").wait_for("a", condition, **options)
    return (None if found is None else found.resource_version), trio.current_time()


async def test_what_holds_already_is_not_waited_for() -> None:
    server = ScriptedServer(pods(5, ready(3)))

    found = await connect(server).resource("pods").wait_for("a", "condition=Ready")

    assert found is not None
    assert found.resource_version == "3"
    assert server.asked == ["GET /api/v1/namespaces/shop/pods limit=500"]
    assert server.requests[0].url.params["fieldSelector"] == "metadata.name=a"


async def test_a_condition_is_waited_for() -> None:
    changes = stream(5.0, event("MODIFIED", ready(6, "False")), 5.0, event("MODIFIED", ready(7)), FOREVER)

    assert await wait("condition=Ready", pods(5, ready(3, "False")), changes) == ("7", 10)


async def test_an_object_that_is_not_there_yet_is_waited_for() -> None:
    assert await wait("create", pods(5), stream(3.0, event("ADDED", pod("a", 6)))) == ("6", 3)


async def test_a_function_may_decide() -> None:
    changes = stream(3.0, event("MODIFIED", pod("a", 6)), event("MODIFIED", pod("a", 7)))

    assert await wait(lambda obj: obj.resource_version == "7", pods(5, pod("a")), changes) == ("7", 3)


async def test_what_a_function_raises_ends_the_wait() -> None:
    with pytest.raises(ZeroDivisionError):
        await wait(lambda _: 1 / 0, pods(5, pod("a")))


async def test_a_deletion_is_waited_for_and_gives_the_object_as_last_seen() -> None:
    held = {**pod("a", 6), "status": {"phase": "Running"}}
    changes = stream(event("MODIFIED", held), 3.0, event("DELETED", pod("a", 7)))

    assert await wait("delete", pods(5, pod("a", 3)), changes) == ("6", 3)


async def test_what_is_not_there_is_deleted() -> None:
    assert await wait("delete", pods(5)) == (None, 0)


async def test_another_object_of_the_same_name_is_a_deletion() -> None:
    after_restart = pods(90, pod("a", 80, uid="second"))

    found = await wait("delete", pods(5, pod("a", 3)), refusal(410, "Expired"), after_restart)

    assert found[0] == "3"


async def test_the_deletion_of_a_given_uid_does_not_wait_for_its_successor() -> None:
    assert await wait("delete", pods(5, pod("a", 3, uid="second")), uid="first") == (None, 0)


async def test_the_deadline_says_what_was_wanted_and_what_was_seen() -> None:
    pending = ready(6, "False", reason="Pulling", message="image web:v2")

    with pytest.raises(DeadlineExceeded) as caught:
        await wait("condition=Ready", pods(5, pending), stream(FOREVER), timeout=20)

    assert trio.current_time() == 20
    assert str(caught.value) == (
        "pods 'a' in namespace 'shop' was not condition Ready=True within 20 s; last seen: "
        "<Pod v1 shop/a rv=6> had condition Ready=False (Pulling: image web:v2)"
    )


async def test_without_a_timeout_of_its_own_a_wait_ends_after_30_seconds() -> None:
    with pytest.raises(DeadlineExceeded, match="within 30 s"):
        await wait("create", pods(5), stream(FOREVER))

    assert trio.current_time() == 30


async def test_the_deadline_says_if_the_object_was_gone() -> None:
    with pytest.raises(DeadlineExceeded, match="last seen: the object did not exist"):
        await wait("condition=Ready", pods(5, pod("a")), stream(event("DELETED", pod("a", 6)), FOREVER), timeout=20)


async def test_the_deadline_says_if_nothing_was_seen() -> None:
    with pytest.raises(DeadlineExceeded, match="the server did not respond"):
        await wait("create", stream(FOREVER), timeout=20)


async def test_the_wait_survives_broken_watches() -> None:
    answers = [pods(5), stream(), pods(5), refusal(500, "InternalError"), stream(event("ADDED", pod("a", 6)))]

    assert (await wait("create", *answers))[0] == "6"


async def test_without_permission_there_is_no_waiting() -> None:
    with pytest.raises(Forbidden):
        await wait("create", refusal(403, "Forbidden"))


async def test_a_resource_that_goes_away_takes_its_objects_along() -> None:
    gone = [stream(5.0), refusal(404, "NotFound")]

    assert await wait("delete", pods(5, pod("a", 3)), *gone) == ("3", 5)
    with pytest.raises(NotFound):
        await wait("condition=Ready", pods(5, pod("a", 3)), stream(5.0), refusal(404, "NotFound"))


@pytest.mark.parametrize(
    ("name", "timeout", "message"), [("", 30, "name is empty"), ("a", -1, "timeout must be a positive number")]
)
async def test_what_cannot_be_waited_for_is_refused(name: str, timeout: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await connect(ScriptedServer()).resource("pods").wait_for(name, "create", timeout=timeout)
