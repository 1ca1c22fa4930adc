"""Tests that run in an asyncio loop, which must end without a word."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

import trio

from dynkube._portal.process import PROCESS

P = ParamSpec("P")


def in_asyncio(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Run an async test with ``asyncio.run``: a plain test for pytest, so anyio's plugin does not run it on trio.

    Fails if the test leaves a task or asyncio reports an error to the loop's handler, such as an exception that was
    never retrieved or a pending task that was destroyed.
    """

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        reports: list[dict[str, Any]] = []

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
            await test(*args, **kwargs)
            await asyncio.sleep(0)  # tasks that end now run their last step
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main())
        gc.collect()
        assert reports == []

    return run


def trio_tasks() -> int:
    """Return the number of tasks in the trio thread of this process."""
    return PROCESS.thread().run(trio.lowlevel.current_statistics).tasks_living
