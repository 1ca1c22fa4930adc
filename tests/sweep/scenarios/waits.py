"""Waits for one object, and watches: once open, they have to survive any transient answer."""

from __future__ import annotations

from functools import partial

import trio

from dynkube.errors import DeadlineExceeded
from dynkube.meta import Added, Deleted, Modified
from tests.sweep.cluster import WIDGETS, widget, widgets
from tests.sweep.lab import Lab, Scenario, scenario

WAIT = "dynkube.ResourceClient.wait_for"
on_widgets = partial(scenario, prepare=widgets, opening=1.0)


def _make_ready(lab: Lab) -> None:
    obj = lab.server.get(WIDGETS, "a", "default")
    conditions = [{"type": "Ready", "status": "True"}]
    lab.server.update({**obj, "status": {"phase": "Ready", "conditions": conditions}}, subresource="status")


def _waiting(condition: str, title: str, when: float = 600.0) -> Scenario:
    """Return a wait for a condition that holds after ten minutes; its watch ends and expires before."""

    @on_widgets(f"wait_for, {title}", f"{WAIT}({title})", *((WAIT,) if title == "condition" else ()))
    async def wait(lab: Lab) -> None:
        lab.opened()
        began = trio.current_time()
        name = "c" if condition == "create" else "a"
        steps = {
            "create": lambda: lab.server.create(widget("c")),
            "delete": lambda: lab.server.delete(WIDGETS, "a", "default"),
        }
        holds = steps.get(condition, partial(_make_ready, lab))
        ends = partial(lab.server.end_watches)
        async with lab.meanwhile((60, ends), (120, lab.expire), (180, ends), (when, holds)):
            await lab.client.resource(WIDGETS).wait_for(name, condition, timeout=3600)
            early = trio.current_time() < began + when
        lab.check(not early, "returned although the condition does not hold")
        late = trio.current_time() - began - when
        lab.check(late < 120, f"returned {late:.0f} s after the condition held")

    return wait


conditions = (
    _waiting("condition=Ready", "condition"),
    _waiting("jsonpath={.status.phase}=Ready", "jsonpath"),
    _waiting("create", "create"),
    _waiting("delete", "delete"),
)


async def _wait_in_vain(lab: Lab, **options: str) -> None:
    """Wait for a deletion that does not come."""
    lab.opened()
    async with lab.meanwhile((60, lab.server.end_watches), (120, lab.expire), (180, lab.server.end_watches)):
        try:
            await lab.client.resource(WIDGETS).wait_for("a", "delete", timeout=900, **options)
        except DeadlineExceeded:
            return
    lab.check(False, "returned although the object exists")


@on_widgets("wait_for, a deletion that does not come", repeat=False)
async def deletion_that_does_not_come(lab: Lab) -> None:
    await _wait_in_vain(lab)


@on_widgets("wait_for, the deletion of a uid", repeat=False)
async def deletion_of_a_uid(lab: Lab) -> None:
    await _wait_in_vain(lab, uid=lab.server.get(WIDGETS, "a", "default")["metadata"]["uid"])


@on_widgets(
    "watch",
    "dynkube.ResourceClient.watch",
    "dynkube.client.Watch",
    "dynkube.client.Watch.open",
    "dynkube.client.Watch.take",
)
async def watch(lab: Lab) -> None:
    seen: dict[str, str] = {}
    steps = (
        (60.0, lab.server.end_watches),
        (90.0, partial(lab.server.create, widget("c"))),
        (180.0, partial(lab.server.end_watches, how="cut")),
        (190.0, partial(lab.server.create, widget("d"))),
        (600.0, partial(lab.server.delete, WIDGETS, "d", "default")),
    )
    async with lab.meanwhile(*steps), lab.client.resource(WIDGETS).watch(namespace="default") as events:
        lab.opened()
        with trio.move_on_after(1200):
            async for event in events:
                match event:
                    case Added(object=obj) | Modified(object=obj):
                        seen[obj.name] = "present"
                    case Deleted(object=obj):
                        lab.check(not lab.exists(WIDGETS, obj.name), f"Deleted {obj.name}, which exists")
                        seen[obj.name] = "deleted"
            lab.check(False, "the watch ended")
    lab.equal((name for name in seen if seen[name] == "present"), lab.names(WIDGETS), "reported")
