"""``dynkube watch``: follow a resource, whether or not it exists yet."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import trio
from cyclopts import Parameter
from rich.console import Console

from dynkube._client import Client
from dynkube._signals import cancel_at_signal
from dynkube.cli._arguments import check_namespace
from dynkube.cli._cluster import Cluster
from dynkube.cli._columns import PrinterColumns
from dynkube.cli._follow import Reporter, counts, follow
from dynkube.cli._lines import JSONLines, Lines, Names
from dynkube.cli._notes import note
from dynkube.cli._output import Nowhere, Output
from dynkube.cli._run import CommandFailed
from dynkube.cli._table import WatchTable
from dynkube.errors import InvalidInput, InvalidJSONPath, InvalidSelector
from dynkube.informers import Informer, JSONPathFilter
from dynkube.meta import FieldSelector, LabelSelector, ResourceArg, UnstructuredTable

Format = Literal["table", "json", "name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The validated arguments of an informer."""

    resource: str
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    filter: JSONPathFilter | None = None

    def informer(self, client: Client) -> Informer:
        """Return an informer, not entered yet."""
        return client.informer(
            self.resource,
            namespace=self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            filter=self.filter,
        )

    async def table(self, client: Client, informer: Informer) -> UnstructuredTable:
        """Request the server's table of the objects, in the version that ``informer`` follows now."""
        gvr = informer.gvr
        assert gvr is not None, "it is known once the informer is entered"
        return await client.resource(gvr).table(
            namespace=self.namespace, label_selector=self.label_selector, field_selector=self.field_selector
        )


async def watch(
    resource: str,
    /,
    *,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    all_namespaces: Annotated[bool, Parameter(name=["--all-namespaces", "-A"], negative="")] = False,
    selector: Annotated[str, Parameter(name=["--selector", "-l"])] = "",
    field: Annotated[str, Parameter(name="--field")] = "",
    filter: Annotated[str | None, Parameter(name="--filter", allow_leading_hyphen=True)] = None,  # noqa: A002  # the option's name
    output: Annotated[Format, Parameter(name=["--output", "-o"])] = "table",
    stats: Annotated[bool, Parameter(negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Follow a resource until Ctrl-C, whether or not it exists yet.

    Shows its state and the reason: ABSENT while its CRD is not installed, LIVE once its objects are watched, ABSENT
    again when the CRD is deleted. On a terminal, objects are shown as a live table, with the columns of kubectl get
    that fit; elsewhere each event is a line.
    With -o json and -o name, stdout has events only and states go to stderr.

    Args:
        resource: RESOURCE.VERSION.GROUP, like httproutes.v1.gateway.networking.k8s.io; RESOURCE.GROUP, to follow the
            preferred version; or a short form (deploy, pods), which must exist.
        namespace: Only this namespace; by default all namespaces.
        all_namespaces: All namespaces, which is the default.
        selector: Only objects with these labels (app=web,tier in (fe,be)); the server selects.
        field: Only objects with these fields (metadata.name=web); the server selects.
        filter: Show only objects that match this JSONPath: {.spec.suspend}, or {.spec.x}=value.
        output: A table (lines, unless stdout is a terminal), or one JSON object or one name per event.
        stats: On exit, print the numbers of requests and events to stderr.
        cluster: The cluster.
    """
    if namespace is not None and all_namespaces:
        raise CommandFailed("-n and -A are mutually exclusive: pass one namespace, or all of them")
    query = read_query(resource, namespace=namespace, selector=selector, field=field, filter_text=filter)
    client = cluster.client()
    async with trio.open_nursery() as nursery:
        await nursery.start(cancel_at_signal, nursery.cancel_scope)
        await run_watch(client, query, output, stats=stats)


async def run_watch(client: Client, query: Query, output: Format, *, stats: bool = False) -> None:
    """Enter ``client``, and show the objects of ``query`` on stdout until cancelled.

    Raises:
        NoMatch: the server has no resource with this short name.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    async with client, AsyncExitStack() as stack:
        informer = query.informer(client)
        await stack.enter_async_context(informer)
        try:
            await _show(client, query, informer, output)
        finally:
            if stats:
                note(f"statistics  {counts(informer.statistics())}")


async def _show(client: Client, query: Query, informer: Informer, output: Format) -> None:
    if output == "table" and sys.stdout.isatty() and not (console := Console()).is_dumb_terminal:
        columns = PrinterColumns(informer, partial(query.table, client, informer))
        table = WatchTable(informer, console, columns=columns)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(table.run)
            await follow(informer, table)
    else:
        await follow(informer, _reporter(output))


def _reporter(output: Format) -> Reporter:
    out = Output(sys.stdout.fileno())
    if output == "table":
        return Lines(out)
    notes = Lines(Output(sys.stderr.fileno()) if sys.__stderr__ is not None else Nowhere())
    return JSONLines(out, notes) if output == "json" else Names(out, notes)


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def read_query(
    resource: str, *, namespace: str | None = None, selector: str = "", field: str = "", filter_text: str | None = None
) -> Query:
    """Validate the arguments, before anything is started.

    Raises:
        CommandFailed: the namespace is invalid.
        InvalidInput: another argument is invalid; the message names the option.
    """
    ResourceArg.parse(resource)
    check_namespace(namespace, "all namespaces")
    for option, parse, text in (("-l", LabelSelector.parse, selector), ("--field", FieldSelector.parse, field)):
        try:
            parse(text)
        except InvalidSelector as error:
            raise InvalidInput(f"{option}: {error}") from error
    return Query(
        resource=resource,
        namespace=namespace,
        label_selector=selector,
        field_selector=field,
        filter=None if filter_text is None else read_filter(filter_text),
    )


def read_filter(text: str) -> JSONPathFilter:
    """Parse ``{.spec.x}`` (the field exists and is not false) or ``{.spec.x}=value``.

    A path may contain ``=`` in brackets: the shortest prefix before an ``=`` that is a valid path is used.

    Raises:
        InvalidInput: neither such a prefix nor the whole string is a valid path.
    """
    for end in (position for position, character in enumerate(text) if character == "="):
        try:
            return JSONPathFilter(text[:end], equals=text[end + 1 :])
        except InvalidJSONPath:
            continue
    try:
        return JSONPathFilter(text)
    except InvalidJSONPath as error:
        raise InvalidInput(f"--filter: {error}") from error
