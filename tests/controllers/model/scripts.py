"""Scripts: a controller and some steps, chosen by a seed; they are played, shortened and printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any, Final, TypeAlias

import trio
import trio.abc
import trio.testing

from tests.controllers.model.shapes import Shape, random_shape
from tests.controllers.model.world import opened

Step: TypeAlias = tuple[Any, ...]

_STEPS: Final = 400_000
"""Steps of the scheduler after which a script counts as endless; most take a few ten thousand."""


@dataclass(frozen=True, slots=True)
class Script:
    """A controller, and what happens to it."""

    seed: int
    shape: Shape
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"        {step!r}," for step in self.steps)
        return f"Script(\n    {self.seed},\n    {self.shape},\n    (\n{steps}\n    ),\n)"


@dataclass(slots=True)
class Played:
    """What came of a script."""

    wrong: list[str]
    trace: list[str] = field(default_factory=list)
    calls: int = 0
    writes: int = 0


class _Limit(trio.abc.Instrument):
    """Cancels a script after too many steps of the scheduler, as some loops never let virtual time pass."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.steps = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            self.scope.cancel()


def play(script: Script) -> Played:
    """Play a script in virtual time; the same script does the same each time."""
    # trio runs ready tasks in random order, so that no program relies on one. There is no public API for this.
    scheduler: Any = trio._core._run
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(script.seed)
    limit, played = _Limit(), Played([])
    try:
        trio.run(
            _play, script, played, limit.scope, clock=trio.testing.MockClock(autojump_threshold=0), instruments=[limit]
        )
    except Exception as exc:
        leaf: BaseException = exc
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        played.wrong.append(f"it raised {leaf!r}")
    if limit.steps > _STEPS:
        played.wrong.append(f"it took {_STEPS} steps of the scheduler")
    return played


async def _play(script: Script, played: Played, limit: trio.CancelScope) -> None:
    with limit:
        async with opened(script.shape, script.seed) as world:
            try:
                for name, *arguments in script.steps:
                    world.oracle.note(f"step {name} {arguments}")
                    result = getattr(world, name)(*arguments)
                    if result is not None:
                        await result
                    if world.oracle.wrong:
                        break
                else:
                    await world.settle()
            finally:
                oracle = world.oracle
                played.wrong += oracle.wrong
                played.calls, played.writes = len(oracle.calls), len(oracle.history.writes)
                played.trace += [f"{at:9.3f}  {what}" for at, what in oracle.trace]
            if oracle.wrong:
                limit.cancel()


# ── choosing ─────────────────────────────────────────────────────────────────────────────────

_RESOURCES: Final = ("widgets", "widgets", "child", "child", "secrets", "customresourcedefinitions")
_EFFECTS: Final = ("409", "500", "503", "429", "404 HTML", "reset", "hang", "slow") + (
    "unanswered, closed",
    "unanswered, hangs",
    "unanswered, 504",
) * 2
_WAITS: Final = (0.0, 0.001, 0.02, 0.3, 0.3, 2.0, 2.0, 12.0, 40.0)


def _where(random: Random, shape: Shape) -> str:
    return random.choice(("default", "blue", "green") if shape.namespaced else ("default", "default", "blue"))


def _name(random: Random) -> str:
    return random.choice("aab")


_CHOOSE: Final[Mapping[str, tuple[int, Callable[[Random, Shape], Step]]]] = {
    "put": (
        8,
        lambda r, s: (_where(r, s), _name(r), r.randrange(4), r.randrange(3), r.choice("xxxy" if s.selector else "x")),
    ),
    "resize": (
        3,
        lambda r, s: (
            _where(r, s),
            _name(r),
            [r.randrange(4) for _ in range(r.randint(2, 4))],
            r.choice((0.0, 0.02, 0.3, 1.0)),
        ),
    ),
    "delete": (3, lambda r, s: (_where(r, s), _name(r))),
    "replace": (1, lambda r, s: (_where(r, s), _name(r), r.randrange(4))),
    "delete_child": (2, lambda r, s: (r.randrange(6),)),
    "change_child": (1, lambda r, s: (r.randrange(6),)),
    "secret": (2, lambda r, s: (_where(r, s), r.choice("st"), _name(r), r.choice("123"))),
    "forget_secret": (1, lambda r, s: (_where(r, s), r.choice("st"))),
    "install": (1, lambda r, s: (r.choice(("widgets", "gadgets")),)),
    "uninstall": (1, lambda r, s: (r.choice(("widgets", "gadgets", "gadgets")),)),
    "reinstall": (1, lambda r, s: (r.choice(("widgets", "gadgets", "gadgets")),)),
    "restore": (2, lambda r, s: (r.choice((0.5, 3.0)),)),
    "wait": (9, lambda r, s: (r.choice(_WAITS),)),
    "start": (1, lambda r, s: (r.randrange(2),)),
    "stop": (1, lambda r, s: (r.randrange(2),)),
    "kill": (1, lambda r, s: (r.randrange(2),)),
    "lag": (5, lambda r, s: (r.choice(_RESOURCES), r.choice((0.4, 3.0, 8.0)), r.choice((15.0, 60.0)))),
    "fail": (
        6,
        lambda r, s: (
            r.choice(_EFFECTS),
            r.choice(_RESOURCES),
            r.choice(("write", "write", "create", "delete", "patch", "get", "list", "watch")),
            r.choice((1, 1, 2, 5)),
            r.choice((0, 0, 0, 1, 2)),
        ),
    ),
    "lose_response": (
        4,
        lambda r, s: (
            r.choice(("unanswered, closed", "unanswered, hangs", "unanswered, 504")),
            r.choice(("widgets", "child", "child")),
            r.choice((0.4, 3.0, 8.0)),
        ),
    ),
    "outage": (1, lambda r, s: (r.choice(("503", "reset", "hang")), r.choice((1.0, 12.0, 40.0)))),
    "restart": (1, lambda r, s: (r.choice((1.0, 15.0)),)),
    "end_watches": (2, lambda r, s: (r.choice(_RESOURCES), r.choice(("clean", "reset", "silent", "mid-line")))),
    "compact": (1, lambda r, s: ()),
    "strip_finalizers": (1, lambda r, s: (r.choice((2.0, 20.0)),)),
    "lose_lease": (2, lambda r, s: (r.choice(("delete", "take", "503", "hang", "unanswered, hangs", "409")),)),
}
_ONLY: Final[Mapping[str, Callable[[Shape], bool]]] = {
    "delete_child": lambda s: bool(s.owned),
    "change_child": lambda s: s.children == "applied",
    "secret": lambda s: s.mapped,
    "forget_secret": lambda s: s.mapped,
    "restore": lambda s: s.owned == "gadgets",
    "strip_finalizers": lambda s: s.finalizer != "none",
    "lose_lease": lambda s: s.processes > 1,
}


_SCENES: Final[Sequence[Callable[[Random, Shape], list[Step]]]] = (
    lambda r, s: [
        ("put", "default", "a", 3, 1, "x"),
        ("lag", r.choice(("child", "widgets")), r.choice((3.0, 8.0)), 60.0),
        ("wait", 12.0),
        ("resize", "default", "a", r.choice(([1, 2, 1], [2, 0, 3], [0, 2])), 0.3),
    ],
    lambda r, s: [
        ("put", "default", "a", 1, 1, "x"),
        ("wait", 12.0),
        ("lose_response", r.choice(("unanswered, closed", "unanswered, 504")), r.choice(("widgets", "child")), 8.0),
        ("put", "default", "a", 3, 2, "x"),
    ],
    lambda r, s: [
        ("put", "default", "a", 3, 1, "x"),
        ("wait", 2.0),
        ("lag", "widgets", r.choice((3.0, 8.0)), 60.0),
        ("wait", 12.0),
        r.choice((("delete", "default", "a"), ("replace", "default", "a", 2))),
    ],
    lambda r, s: [
        ("put", "default", "a", 2, 1, "x"),
        ("wait", 12.0),
        ("restore", 3.0),
        ("wait", r.choice((0.6, 1.0))),
        ("put", "default", "a", 3, 2, "x"),
    ],
    lambda r, s: [("lose_lease", r.choice(("503", "hang", "take", "delete"))), *_busy(r)],
    lambda r, s: [("put", "default", "a", 2, 1, "x"), ("wait", 2.0), (r.choice(("stop", "kill")), 0), ("start", 0)],
    lambda r, s: [
        ("put", "default", "a", 1, 1, "x"),
        ("wait", 12.0),
        ("lag", "child", 8.0, 60.0),
        ("wait", 12.0),
        ("put", "default", "a", 3, 2, "x"),
        ("wait", r.choice((0.3, 2.0))),
        (r.choice(("stop", "kill")), 0),
        ("wait", 40.0),
    ],
    lambda r, s: [("secret", "default", "s", "a", "1"), ("wait", 2.0), ("secret", "default", "s", "b", "2")],
)
"""Steps that are worth more together than each of them alone."""


def _busy(random: Random) -> list[Step]:
    """Have something to do for longer than a lease lasts."""
    return [("resize", "default", "a", [1, 3, 0, 2, 1, 3, 2, 0], 6.0), ("wait", random.choice((2.0, 12.0)))]


def choose(seed: int) -> Script:
    """Return the script of a seed."""
    random = Random(seed)
    shape = random_shape(random)
    steps: list[Step] = [("install", "widgets"), ("install", "gadgets")][: random.choice((2, 2, 2, 1, 0))]
    if random.random() < 0.5:
        steps.append(("put", "default", "a", random.randrange(1, 4), 1, "x"))
    steps += [("start", number) for number in range(shape.processes)]
    for _ in range(random.randint(1, 3)):
        steps += _single_steps(random, shape, random.randint(0, 5))
        scene = random.choice(_SCENES)(random, shape)
        steps += [step for step in scene if step[0] not in _ONLY or _ONLY[step[0]](shape)]
    return Script(seed, shape, tuple(steps + _single_steps(random, shape, random.randint(0, 4))))


def _single_steps(random: Random, shape: Shape, count: int) -> list[Step]:
    names = [name for name in _CHOOSE if name not in _ONLY or _ONLY[name](shape)]
    weights = [_CHOOSE[name][0] for name in names]
    return [(name, *_CHOOSE[name][1](random, shape)) for name in random.choices(names, weights, k=count)]


# ── shortening ───────────────────────────────────────────────────────────────────────────────


def shortened(script: Script, fails: Callable[[Script], bool]) -> Script:
    """Return the script without the steps and settings that it does not need to fail."""
    while (shorter := next((each for each in _shorter(script) if fails(each)), None)) is not None:
        script = shorter
    return script


def _shorter(script: Script) -> Sequence[Script]:
    steps, shape = script.steps, script.shape
    found = [replace(script, steps=steps[:at] + steps[at + size :]) for size in (4, 1) for at in range(len(steps))]
    plain: list[dict[str, Any]] = [{each.name: each.default} for each in fields(Shape)]
    simpler = [replace(shape, **each) for each in plain]
    return [*found, *(replace(script, shape=each) for each in simpler if each != shape)]
