"""``Pod.attach``: a connection to what runs in a container."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dynkube.errors import Forbidden, PodError
from dynkube.pods._process import Process, open_process
from dynkube.pods._target import PodTarget


@asynccontextmanager
async def open_attached(
    target: PodTarget,
    *,
    container: str | None,
    stdin: bool,
    stdout: bool,
    stderr: bool,
    tty: bool,
    timeout: float | None,
) -> AsyncIterator[Process]:
    """Attach to a container; leaving the block closes the connection."""
    if stdin or tty:
        await _check(target, container, stdin=stdin, tty=tty)
    async with open_process(
        target, None, container=container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty, timeout=timeout
    ) as process:
        yield process


async def _check(target: PodTarget, container: str | None, *, stdin: bool, tty: bool) -> None:
    """Raise an error if the container lacks what is attached to: servers would accept it, and do nothing."""
    try:
        view = await target.view()
    except Forbidden:  # who may attach need not be allowed to read
        return
    found = None if view is None else view.container(container)
    if found is None:
        return  # the server's refusal names the containers
    for name, wanted, has in (("stdin", stdin, found.stdin), ("tty", tty, found.tty)):
        if wanted and not has:
            raise PodError(
                f"{target}: container {found.name!r} was created without {name}: attach without {name}=True, or run "
                "another process with open_exec"
            )
