"""Which request is next to read a container's log, over restarts of the container: a table, without I/O.

A kubelet serves two logs of a container: that of the current run (or, if none runs, of the last one), and that of the
run before it. A request that follows a log is complete when the container exits, and the next run is another request.

The status of a pod may be older than the state of the kubelet. So a run counts as read to its end only by a request
that was sent when the run was known to have ended; and if the first line of a resumed log is unknown, the container
was probably restarted meanwhile: then the log of the previous run is read first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from dynkube.pods._logs.sight import Phase, Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Request a log, and read it to its end.

    Attributes:
        run: the number of the run, as the status says.
        follow: request what is written later, too.
        previous: request the log of the run before the current one.
        changed: the run is another one than that of the last request.
        checked: the first line must be known; otherwise it is the log of another run.
        final: the run has ended, so that a complete response is the whole log.
    """

    run: int
    follow: bool = False
    previous: bool = False
    changed: bool = False
    checked: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until the pod changes, or for some time if its status says nothing."""

    reason: str
    status_known: bool = True


@dataclass(frozen=True, slots=True)
class End:
    """There will be no more lines."""

    reason: str


Step: TypeAlias = Read | Wait | End


class Outcome(Enum):
    """How a request for a log has ended."""

    COMPLETE = "complete"
    CUT = "cut"  # the connection was lost
    FAILED = "failed"  # there was no response
    NO_LOG = "no log"  # the container has not started, or there is no previous run
    OTHER_RUN = "other run"  # the first line is unknown, and was not read


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What was read.

    Attributes:
        run: the number of the run that was read last; ``None`` if none was.
        complete: that run was read to its end.
        doubtful: the current log is probably not that of ``run``.
        previous_of: the run before this one was read to its end.
        nothing: the last request found no log.
    """

    run: int | None = None
    complete: bool = False
    doubtful: bool = False
    previous_of: int | None = None
    nothing: bool = False


def next_step(progress: Progress, sight: Sight | None) -> Step:
    """Return the next step of a log that is followed.

    Args:
        progress: what was read.
        sight: the state of the container; ``None`` if the pod is gone.
    """
    if sight is None:
        return End("the pod was deleted")
    ended = sight.phase is Phase.ENDED
    if progress.nothing:
        over = ended and not sight.runs_again
        return End(sight.reason) if over else Wait(sight.reason, status_known=sight.phase is not Phase.UNKNOWN)
    if sight.phase is Phase.WAITING:
        return Wait(sight.reason)
    if progress.run is None:
        return Read(run=sight.run, follow=not ended, final=ended)
    final = ended and (sight.run >= progress.run or not sight.runs_again)
    run = max(sight.run, progress.run)  # the status may be behind what the log has shown
    if run == progress.run and final and progress.complete:
        return Wait(sight.reason) if sight.runs_again else End(sight.reason)
    next_one = progress.complete and run == progress.run + 1
    if (progress.doubtful or (run > progress.run and not next_one)) and progress.previous_of != run:
        return Read(run=run, previous=True, final=True)
    if progress.doubtful and run == progress.run:
        return Read(run=run + 1, follow=True, changed=True)
    return Read(run=run, follow=not final, changed=run > progress.run, checked=run == progress.run, final=final)


def next_step_once(progress: Progress, *, previous: bool) -> Step:
    """Return the next step of a log that is not followed."""
    if progress.complete:
        return End("")
    return Read(run=0, previous=previous, final=True)


def after(progress: Progress, step: Step, outcome: Outcome) -> Progress:
    """Return the progress after a step, and how its request has ended; of a ``Wait`` the outcome is ignored."""
    if isinstance(step, End):
        return progress
    if isinstance(step, Wait):
        return replace(progress, nothing=False)
    if step.previous and progress.run is not None:
        done = outcome in {Outcome.COMPLETE, Outcome.NO_LOG}
        return replace(progress, previous_of=step.run if done else None)
    match outcome:
        case Outcome.OTHER_RUN:
            return replace(progress, doubtful=True, previous_of=None, complete=False)
        case Outcome.NO_LOG:
            return replace(progress, nothing=True)
        case Outcome.FAILED:
            return progress
        case _:
            return Progress(run=step.run, complete=step.final and outcome is Outcome.COMPLETE)
