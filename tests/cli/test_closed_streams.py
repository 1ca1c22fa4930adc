"""Commands with a closed standard error (``2>&-``) do not write its text to standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube_testing import APIServer
from tests.manifests.kit import config, text_of

pytestmark = pytest.mark.real_time


async def without_stderr(*arguments: str) -> tuple[int, str]:
    """Run ``dynkube ARGUMENTS 2>&-``; return the exit code and standard output."""
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "dynkube", *arguments]
    done = await trio.run_process(command, capture_stdout=True, check=False)
    return done.returncode, done.stdout.decode()


async def test_summaries_and_errors_are_not_printed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text_of(config("a")))
    source = ("-f", str(path))
    async with APIServer() as server, server.serve() as endpoint:
        applied = await without_stderr("apply", *source, "--url", endpoint.url)
        compared = await without_stderr("diff", *source, "--url", endpoint.url)
        rejected = await without_stderr("diff", *source, "--parallel", "0", "--url", endpoint.url)

    assert applied == (0, f"created     configmap/a -n default  ({path}:1)\n")
    assert compared == (0, "")
    assert rejected == (2, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
async def test_a_full_disk_is_an_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)

    try:
        with pytest.raises(CommandFailed, match="the output cannot be written: No space left on device"):
            await Output(full).line("text")
    finally:
        os.close(full)
