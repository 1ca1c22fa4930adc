"""``dynkube apply``: server-side apply of files and folders, and pruning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

import trio
from cyclopts import Parameter

from dynkube._client import Client
from dynkube._signals import cancel_at_signal
from dynkube._text.tables import printable
from dynkube._text.words import several
from dynkube.cli._arguments import read_paths
from dynkube.cli._cluster import Cluster
from dynkube.cli._flags import in_flags
from dynkube.cli._notes import note
from dynkube.cli._output import Output
from dynkube.cli._prune import read_prune
from dynkube.cli._run import FAILED, INTERRUPTED, CommandFailed
from dynkube.cli._source import Source
from dynkube.manifests import ApplyRun, Entry, Outcome
from dynkube.manifests._report import TROUBLE
from dynkube.manifests._run import INTERRUPTED as INTERRUPTED_RUN
from dynkube.meta._arguments import is_seconds


async def apply(
    *,
    source: Source,
    force: Annotated[bool, Parameter(name=["--force", "--force-conflicts"], negative="")] = False,
    take: Annotated[list[str] | None, Parameter(negative="")] = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    prune: Annotated[bool, Parameter(negative="")] = False,
    applyset: str | None = None,
    tooling: str | None = None,
    go_on: Annotated[bool, Parameter(negative="")] = False,
    crd_timeout: float = 60.0,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> int:
    """Apply manifests by server-side apply: namespaces and CRDs first, then the rest in parallel.

    Prints a line for each object as it is applied, and a summary at the end, also after Ctrl-C. Exits with 0 if
    all objects were applied, and with 1 otherwise.

    Args:
        source: The manifests.
        force: Take over conflicting fields from other field managers.
        take: Take over only this field, like .spec.replicas; may be repeated.
        dry_run: Validate everything on the server, without writing anything.
        prune: Delete objects that were applied before as part of --applyset and are no longer in the manifests.
        applyset: The ApplySet of the manifests: NAME of a Secret, or RESOURCE/NAME (configmaps/shop), in the namespace
            of -n or the context.
        tooling: Tool recorded as manager of the ApplySet, to share it with another tool, like kubectl/v1.37.0.
        go_on: Continue after failures. By default nothing more is sent after the first one, and nothing at all if a
            manifest is invalid.
        crd_timeout: Seconds to wait until a CRD is served; after that its objects fail.
        quiet: Print only failures, objects that are being deleted, and the summary.
        cluster: The cluster.
    """
    pruned = read_prune(prune, applyset, tooling, source.namespace)
    if force and take:
        raise CommandFailed("--force and --take are mutually exclusive: --force takes every field, --take only some")
    if not is_seconds(crd_timeout):
        raise CommandFailed(f"--crd-timeout must be a positive number of seconds, not {crd_timeout}")
    taken = read_paths("--take", take)
    client = cluster.client()
    paths = source.paths("apply")

    def begin(opened: Client) -> ApplyRun:
        return opened.apply_all(
            paths,
            namespace=source.namespace,
            field_manager=source.field_manager,
            force=taken or force,
            dry_run=dry_run,
            prune=pruned,
            on_error="continue" if go_on else "stop",
            parallel=source.parallel,
            crd_timeout=crd_timeout,
        )

    return await run_apply(client, begin, quiet=quiet, go_on=go_on)


async def run_apply(
    client: Client, begin: Callable[[Client], ApplyRun], *, quiet: bool = False, go_on: bool = False
) -> int:
    """Enter ``client``, run ``begin``, print entries, and return the exit code.

    Args:
        client: not entered yet.
        begin: makes the run.
        quiet: print lines of failures and of objects that are being deleted only.
        go_on: whether the run continues after a failure; if not, a failure's message mentions the option.

    Raises:
        CommandFailed: there is nothing to apply.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    run: ApplyRun | None = None
    shown: list[Entry] = []
    try:
        async with client:
            run = begin(client)
            interrupted = await _follow(run, shown, quiet=quiet)
    except BaseException:
        if run is not None and run.report:  # such as BrokenPipeError; what was done must be reported all the same
            _print_rest(run, shown, quiet=quiet)
        raise
    report = run.report
    if not report and not interrupted:
        raise CommandFailed("no objects found in the files or folders of -f")
    _print_rest(run, shown, quiet=quiet, hint=not (go_on or interrupted))
    return INTERRUPTED if interrupted else 0 if report.ok else FAILED


def _print_rest(run: ApplyRun, shown: Sequence[Entry], *, quiet: bool, hint: bool = False) -> None:
    """Print on stderr the summary, and the entries not printed on stdout.

    Args:
        run: the run, which has ended.
        shown: the entries printed on stdout.
        quiet: whether to omit objects that did not fail.
        hint: whether to mention the option that continues after failures.
    """
    report, printed = run.report, set(map(id, shown))
    for entry in report:
        if id(entry) not in printed and not _is_omitted(entry, run, quiet=quiet):
            note(_line(entry))
    note(report.summary)
    # Only for objects of the source: if the ApplySet itself fails, a run ends in any case.
    helps = any(entry.outcome in TROUBLE and entry.place is not None for entry in report)
    fix = "; pass --go-on to apply everything else" if hint and helps else ""
    for reason, count in Counter(entry.reason for entry in report if _is_unsent(entry, run)).items():
        note(printable(f"{count} {reason}{fix}"))
    if unknown := [_called(entry) for entry in report.of(Outcome.INTERRUPTED)]:
        note(printable(f"{len(unknown)} may have been applied, as there was no response yet: {several(unknown)}"))


def _called(entry: Entry) -> str:
    return f"{entry.name} ({entry.source})" if entry.source else entry.name


def _line(entry: Entry) -> str:
    text = str(entry) if entry.error is None else in_flags(str(entry))
    return printable(text, keep="\n")


def _is_omitted(entry: Entry, run: ApplyRun, *, quiet: bool) -> bool:
    """Return whether an entry has no line of its own.

    Of objects that were not sent there may be hundreds, which would hide the failure that stopped the run.
    """
    if entry.outcome is Outcome.INTERRUPTED or _is_unsent(entry, run):
        return True
    return quiet and entry.outcome not in TROUBLE and not entry.terminating


def _is_unsent(entry: Entry, run: ApplyRun) -> bool:
    return entry.outcome is Outcome.SKIPPED and bool(entry.reason) and entry.reason in {run.stopped, INTERRUPTED_RUN}


async def _follow(run: ApplyRun, shown: list[Entry], *, quiet: bool) -> bool:
    """Print each entry as it comes, and add it to ``shown``.

    Return whether a signal has interrupted the run.
    """
    out = Output.standard()
    interrupted = True
    async with trio.open_nursery() as nursery:
        await nursery.start(cancel_at_signal, nursery.cancel_scope)
        async with run:
            async for entry in run:
                if not _is_omitted(entry, run, quiet=quiet):
                    await out.line(_line(entry))
                shown.append(entry)
        interrupted = False
        nursery.cancel_scope.cancel()
    return interrupted
