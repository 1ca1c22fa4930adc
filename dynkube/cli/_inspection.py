"""``dynkube describe``, ``dynkube explain``, ``dynkube top pods`` and ``dynkube top nodes``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dynkube._client import Client
from dynkube._displayable import Displayable
from dynkube._text.tables import printable
from dynkube.cli._arguments import Flag, NamespaceOption, check_namespace, read_target
from dynkube.cli._cluster import Cluster
from dynkube.cli._notes import note
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput, InvalidSelector, NotFound
from dynkube.errors._evidence import proves_deletion
from dynkube.inspection import Usages
from dynkube.inspection._usage import SortBy
from dynkube.meta import LabelSelector

AllNamespaces: TypeAlias = Annotated[bool, Parameter(name=["--all-namespaces", "-A"], negative="")]
Selector: TypeAlias = Annotated[str, Parameter(name=["--selector", "-l"])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """Which objects of a kind.

    Attributes:
        kind: the resource.
        namespace: ``None`` for the context's.
        all_namespaces: whether all namespaces are meant.
        selector: labels.
    """

    kind: str
    namespace: str | None = None
    all_namespaces: bool = False
    selector: str = ""


async def describe(
    what: str,
    name: str = "",
    /,
    *,
    namespace: NamespaceOption = None,
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    show_owned: Annotated[bool | None, Parameter(negative="--no-show-owned")] = None,
    show_events: Annotated[bool, Parameter(negative="--no-show-events")] = True,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Show an object of any kind with its fields in short, conditions, owners, what it owns, and events.

    Values of Secrets are masked. What could not be read, for example because RBAC forbids it, is said.

    Args:
        what: KIND/NAME, or KIND and NAME: deploy/web, or a custom resource; KIND alone for all objects of a kind.
        name: The name, if it is not part of the first argument.
        namespace: Namespace of the object; by default the context's.
        all_namespaces: All objects of the kind, in all namespaces.
        selector: Only objects of the kind with these labels.
        show_owned: Look for what the object owns, and its events: that lists the metadata of all objects in the
            namespace. By default if one object is named.
        show_events: Show events.
        cluster: The cluster.
    """
    _check_selection(namespace, selector, all_namespaces=all_namespaces)
    kind, named = read_target(what, name)
    if named and (selector or all_namespaces):
        raise CommandFailed(f"{'-l' if selector else '-A'} and the name {named!r} are mutually exclusive: pass one")
    owned = bool(named) if show_owned is None else show_owned
    if named:
        await run_describe(cluster.client(), kind, named, namespace=namespace, owned=owned, events=show_events)
        return
    wanted = Objects(kind=kind, namespace=namespace, all_namespaces=all_namespaces, selector=selector)
    await run_describe_all(cluster.client(), wanted, owned=owned, events=show_events)


async def explain(
    path: str,
    /,
    *,
    recursive: Flag = False,
    api_version: str | None = None,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Show the fields of a kind, or of one of its fields, with types and texts, also of custom resources.

    Args:
        path: A resource, and fields below it: deploy.spec.strategy, pods.spec.containers.image, widgets.example.com.
        recursive: Also the fields below, as a tree without texts.
        api_version: The version to explain, like apps/v1; by default the one that the server prefers.
        cluster: The cluster.
    """
    await run_explain(cluster.client(), path, recursive=recursive, api_version=api_version)


async def pods(
    *,
    namespace: NamespaceOption = None,
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    containers: Flag = False,
    sort_by: SortBy = "name",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Show the CPU and memory that pods use, from the metrics API.

    Args:
        namespace: Only this namespace; by default the context's.
        all_namespaces: All namespaces.
        selector: Only pods with these labels.
        containers: Each container by itself.
        sort_by: The largest first, or by name.
        cluster: The cluster.
    """
    _check_selection(namespace, selector, all_namespaces=all_namespaces)
    async with cluster.client() as client:
        wanted = None if all_namespaces else namespace or client.namespace
        found = await client.top_pods(
            namespace=wanted, label_selector=selector or None, containers=containers, sort_by=sort_by
        )
    await _print_usages(found, f"pods in the namespace {wanted}" if wanted else "pods")


async def nodes(
    *,
    selector: Selector = "",
    sort_by: SortBy = "name",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Show the CPU and memory that nodes use, from the metrics API.

    Args:
        selector: Only nodes with these labels.
        sort_by: The largest first, or by name.
        cluster: The cluster.
    """
    _check_selection(None, selector, all_namespaces=False)
    async with cluster.client() as client:
        found = await client.top_nodes(label_selector=selector or None, sort_by=sort_by)
    await _print_usages(found, "nodes")


async def run_describe(
    client: Client, kind: str, name: str, *, namespace: str | None = None, owned: bool = True, events: bool = True
) -> None:
    """Enter ``client``, and print the description of an object on stdout.

    Raises:
        NotFound: there is no object of that name.
        DynkubeError: the object could not be read.
    """
    async with client:
        found = await client.describe(kind, name, namespace=namespace, owned=owned, events=events)
    await Output.standard().line(_whole(found))


async def run_describe_all(client: Client, wanted: Objects, *, owned: bool = False, events: bool = True) -> None:
    """Enter ``client``, and print the descriptions of all objects of a kind, with an empty line between them.

    Raises:
        DynkubeError: the objects could not be listed, or one of them could not be read.
    """
    out = Output.standard()
    between = ""
    async with client:
        resource = client.resource(wanted.kind)
        by_default = client.namespace if (await resource.resolve()).namespaced and not wanted.all_namespaces else None
        namespace = wanted.namespace or by_default
        for obj in await resource.list(namespace=namespace, label_selector=wanted.selector or None):
            try:
                found = await client.describe(obj, owned=owned, events=events)
            except NotFound as error:
                if not proves_deletion(error):
                    raise
                continue  # deleted meanwhile
            await out.line(between + _whole(found))
            between = "\n"
    if not between:
        note(printable(f"there are no {wanted.kind}" + (f" in the namespace {namespace}" if namespace else "")))


async def run_explain(client: Client, path: str, *, recursive: bool = False, api_version: str | None = None) -> None:
    """Enter ``client``, and print the explanation of a kind or field on stdout.

    Raises:
        InvalidInput: there is no such field; the message has similar ones.
        NoMatch: there is no such resource, or no schema of it.
    """
    async with client:
        found = await client.explain(path, recursive=recursive, api_version=api_version)
    await Output.standard().line(_whole(found))


async def _print_usages(found: Usages, what: str) -> None:
    if found:
        await Output.standard().line(printable(str(found), keep="\n"))
    else:
        note(f"there are no metrics of {what}")


def _whole(shown: Displayable) -> str:
    """Return the text of an object with its heading, which ``str()`` leaves out."""
    from dynkube._display import card_of, plain  # it takes 70 ms, which no other command needs

    return printable(plain(card_of(shown, datetime.now(UTC))), keep="\n")


def _check_selection(namespace: str | None, selector: str, *, all_namespaces: bool) -> None:
    check_namespace(namespace, "that of the context")
    if namespace is not None and all_namespaces:
        raise CommandFailed("-n and -A are mutually exclusive: pass one namespace, or all of them")
    try:
        LabelSelector.parse(selector)
    except InvalidSelector as error:
        raise InvalidInput(f"-l: {error}") from error
