"""``apply_all``, blocking."""

from __future__ import annotations

from dynkube._portal.thread import TrioThread
from dynkube.errors import DynkubeError
from dynkube.manifests import ApplyRun, Report


def carry_out(thread: TrioThread, run: ApplyRun) -> Report:
    """Carry out a run and return its report.

    If it is interrupted, the exception gets a note with the results so far.
    """
    __tracebackhide__ = True

    async def await_run() -> Report:
        return await run

    try:
        return thread.call(await_run)
    except DynkubeError:
        raise
    except BaseException as exc:  # Ctrl-C, mostly
        exc.add_note(f"apply_all was interrupted: {run.report.summary}\n{run.report}")
        raise
