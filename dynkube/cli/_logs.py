"""``dynkube logs``: follow the logs of many pods."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import trio
from cyclopts import Parameter
from rich.console import Console

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube._text.words import counted
from dynkube.cli._arguments import check_namespace, duration_of
from dynkube.cli._cluster import Cluster
from dynkube.cli._flags import in_flags
from dynkube.cli._log_text import Format, JSONObjects, TextLines, Writer, coloured, raw_line
from dynkube.cli._notes import note
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput, InvalidSelector
from dynkube.meta import LabelSelector
from dynkube.pods import ContainerLog, MergedLogs
from dynkube.pods._logs.merged import open_merged
from dynkube.pods._logs.options import LogOptions
from dynkube.pods._logs.selection import PodQuery

_NAMED: Final = 5  # containers in an error message
_STARTING: Final = frozenset({"Pending", "ContainerCreating", "PodInitializing"})  # reasons of all that start
_OPERATORS: Final = re.compile(r"=|^!|\s(in|notin)\s")  # of label selectors; none is in the names of pods


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The validated arguments.

    Attributes:
        owner: ``KIND/NAME`` of the owner of the pods.
        labels: the labels of the pods.
        names: a regular expression for the names of pods.
        containers: the same for containers.
        namespace: the namespace; ``None`` for that of the context.
        all_namespaces: all namespaces.
        options: which part of each log.
        max_streams: how many logs are read at once.
    """

    owner: str = ""
    labels: str = ""
    names: str | None = None
    containers: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False
    options: LogOptions = LogOptions(follow=True)  # noqa: RUF009  # immutable
    max_streams: int = 500

    def query(self, context: str) -> PodQuery:
        """Return which pods and containers are meant.

        Args:
            context: the namespace of the context.
        """
        return PodQuery.parse(
            self.owner or self.labels,
            None,
            namespace=None if self.all_namespaces else self.namespace or context,
            names=self.names,
            containers=self.containers,
        )


async def logs(
    pods: str = "",
    /,
    *,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    all_namespaces: Annotated[bool, Parameter(name=["--all-namespaces", "-A"], negative="")] = False,
    selector: Annotated[str, Parameter(name=["--selector", "-l"])] = "",
    container: Annotated[str | None, Parameter(name=["--container", "-c"])] = None,
    since: str | None = None,
    tail: Annotated[int | None, Parameter(name="--tail")] = None,
    previous: Annotated[bool, Parameter(name=["--previous", "-p"], negative="")] = False,
    follow: Annotated[bool, Parameter(name="--follow", negative="--no-follow")] = True,
    timestamps: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Format, Parameter(name=["--output", "-o"])] = "text",
    parse_json: Annotated[bool, Parameter(name="--parse-json", negative="")] = False,
    fields: str = "",
    max_streams: int = 500,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Follow the logs of pods until Ctrl-C, while pods come and go.

    Lines of each container are in order, and each comes once, also when containers restart or connections are lost.
    Containers that begin (+), end (-) or are not read (!) are announced on stderr, with the reason. A name of a pod or
    container that matches none is an error, and so is, with --no-follow, a log that was not read.

    Args:
        pods: Which pods: labels (app=web,tier in (fe,be)); KIND/NAME of an object that owns them, such as deploy/web or
            a custom resource; or a regular expression that is searched in their names. By default all pods.
        namespace: Only this namespace; by default that of the context.
        all_namespaces: All namespaces.
        selector: Only pods with these labels; with a regular expression for their names.
        container: A regular expression that is searched in the names of containers.
        since: Begin with lines not older than this (5m, 1h30m), or than a time (2026-11-24T12:00:00Z).
        tail: Begin with so many lines of each container that runs already; 0 for new ones only.
        previous: The runs before the current ones; requires --no-follow.
        follow: Go on with what is written from now on; --no-follow ends with what was written so far.
        timestamps: Begin lines with their time.
        output: Text with the names of pod and container; the lines as they are; or one JSON object per line.
        parse_json: Show lines that are JSON objects as level, message and name=value; with -o json as objects.
        fields: Of lines that are JSON objects, show only these fields (level,msg,user); implies --parse-json.
        max_streams: How many logs are read at once; further containers wait.
        cluster: The cluster.
    """
    reading = read_arguments(
        pods,
        selector,
        container=container,
        namespace=namespace,
        all_namespaces=all_namespaces,
        options=_options(since=since, tail=tail, previous=previous, follow=follow, timestamps=timestamps),
        max_streams=max_streams,
    )
    names = [name for name in fields.split(",") if name]
    colours = Console().color_system is not None and "NO_COLOR" not in os.environ
    writer: Writer = raw_line
    if output == "json":
        writer = JSONObjects(parse=parse_json, fields=names)
    elif output == "text":
        terminal = sys.stdout is not None and sys.stdout.isatty()
        writer = TextLines(
            terminal=terminal, coloured=colours, namespaces=all_namespaces, parse=parse_json, fields=names
        )
    await run_logs(cluster.client(), reading, Output.standard(), writer)


async def run_logs(client: Client, reading: Reading, out: Output, writer: Writer) -> None:
    """Enter ``client``, and write lines until cancelled, or until all were read without ``follow``.

    Raises:
        CommandFailed: no pod has such a name, or no container of the pods; or without ``follow``, there are no such
            pods, or some logs were not read.
        BrokenPipeError: the reader of stdout has closed the pipe.
        DynkubeError: the owner does not exist, a permission is missing, or another failure that concerns all pods.
    """
    announce = Announcements(coloured=sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    async with client:
        query = reading.query(client.namespace)
        opened = open_merged(client._api, query, reading.options, max_streams=reading.max_streams, announce=announce)
        async with opened as lines:
            await lines._merger.listed.wait()
            _check_found(lines, query)
            await _write(lines, out, writer, announce, follow=reading.options.follow)


async def _write(lines: MergedLogs, out: Output, writer: Writer, announce: Announcements, *, follow: bool) -> None:
    async with trio.open_nursery() as nursery:
        if follow:
            nursery.start_soon(announce.report_waiting, lines)
        while taken := await lines.take():
            await out.line(b"\n".join(map(writer, taken)))
        nursery.cancel_scope.cancel()
    if not lines.containers:
        raise CommandFailed("there are no such pods")
    failing = (each for each in lines.containers if each.state == "failed")
    failed = sorted(f"{each.namespace}/{each.pod} {each.container}" for each in failing)
    if failed:
        named = ", ".join(failed[:_NAMED]) + (f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else "")
        raise CommandFailed(f"{counted(len(failed), 'log was', 'logs were')} not read: {printable(named)}")


def _check_found(lines: MergedLogs, query: PodQuery) -> None:
    """Raise an error if there is no such pod, or no such container in any pod.

    Raises:
        CommandFailed: a name matches nothing that there is.
    """
    merger = lines._merger
    if query.names is not None and not merger.has_pods:
        where = "any namespace" if query.namespace is None else f"namespace {query.namespace!r}"
        raise CommandFailed(
            f"no pod in {where} has a name that matches {query.names.pattern!r}: pass that of a pod, or labels to wait "
            "for pods that come later"
        )
    if query.containers is not None and merger.known_names and not lines.containers:
        known = printable(", ".join(sorted(merger.known_names)))
        pattern = query.containers.pattern
        raise CommandFailed(f"no container has a name that matches -c {pattern!r}: pass one of {known}")


class Announcements:
    """Announces on stderr which containers come (``+``) and go (``-``), and which are not read (``!``).

    Args:
        coloured: names have the colours of their lines.
    """

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured
        self._silent = True

    def __call__(self, container: ContainerLog) -> None:
        """Announce a container whose log begins or ends, or is not read, and why."""
        if container.state == "waiting" and container.reason in _STARTING:
            return
        self._silent = False
        sign = {"reading": "+", "ended": "-"}.get(container.state, "!")
        name = printable(f"{container.namespace}/{container.pod} {container.container}")
        shown = coloured(name, container.pod) if self._coloured else name
        reason = f": {printable(in_flags(container.reason))}" if container.reason else ""
        note(f"{sign} {shown}{reason}")

    async def report_waiting(self, lines: MergedLogs) -> None:
        """Announce that there are no pods yet, and whether containers wait, as long as that is so."""
        await trio.sleep(1)
        if self._silent:
            note("no container of such a pod has started: waiting")
        shown = 0
        while True:
            if (waiting := lines.waiting) != shown:
                shown = waiting
                note(f"{waiting} containers wait for others to end: --max-streams are read already" if waiting else "")
            await trio.sleep(10)


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def read_arguments(
    pods: str,
    selector: str,
    *,
    container: str | None,
    namespace: str | None,
    all_namespaces: bool,
    options: LogOptions,
    max_streams: int,
) -> Reading:
    """Validate the arguments, before anything is started.

    Raises:
        CommandFailed: arguments exclude each other, or the namespace is invalid.
        InvalidInput: another argument is invalid; the message names the option.
    """
    check_namespace(namespace, "that of the context")
    if namespace is not None and all_namespaces:
        raise CommandFailed("-n and -A are mutually exclusive: pass one namespace, or all of them")
    if max_streams < 1:
        raise CommandFailed(f"--max-streams must be an integer >= 1, not {max_streams}")
    labels, owner, names = selector, "", None
    if _OPERATORS.search(pods):
        labels = ",".join(filter(None, (selector, pods)))
    elif "/" in pods:
        owner = pods
        if selector:
            raise CommandFailed(f"-l and {pods} are mutually exclusive: pass labels, or the owner of the pods")
        if all_namespaces:
            raise CommandFailed(f"-A and {pods} are mutually exclusive: an owner has one namespace; pass it as -n")
    elif pods:
        names = pods
    try:
        LabelSelector.parse(labels)
    except InvalidSelector as error:
        raise InvalidInput(f"{'-l' if selector else 'PODS'}: {error}") from error
    for option, text in (("PODS", names), ("-c", container)):
        try:
            re.compile(text or "")
        except re.error as error:
            raise InvalidInput(f"{option} {text!r} is not a regular expression: {error}") from error
    return Reading(
        owner=owner,
        labels=labels,
        names=names,
        containers=container,
        namespace=namespace,
        all_namespaces=all_namespaces,
        options=options,
        max_streams=max_streams,
    )


def _options(*, since: str | None, tail: int | None, previous: bool, follow: bool, timestamps: bool) -> LogOptions:
    if previous and follow:
        raise CommandFailed("-p requires --no-follow: the previous run of a container has ended")
    if tail is not None and tail < 0:
        raise CommandFailed(f"--tail must be an integer >= 0, not {tail}")
    return LogOptions(
        follow=follow,
        previous=previous,
        since=None if since is None else read_since(since),
        tail=tail,
        timestamps=timestamps,
    )


def read_since(text: str) -> float | datetime:
    """Return the seconds of a duration (``5m``, ``1h30m``), or the time (RFC 3339).

    Raises:
        CommandFailed: it is neither.
    """
    if seconds := duration_of(text):
        return float(seconds)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CommandFailed(
            f"--since {text!r} is neither a duration nor a time: pass for example 5m, 1h30m or 2026-11-24T12:00:00Z"
        )
    return moment
