"""``dynkube release``, ``transfer`` and ``upgrade-managed-fields``: who owns the fields of an object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from cyclopts import Parameter

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import read_paths
from dynkube.cli._cluster import Cluster
from dynkube.cli._managed import Managed, object_line
from dynkube.cli._output import Output
from dynkube.client import Applied, ResourceClient
from dynkube.client._options import check_field_manager


async def release(
    resource: str,
    name: str,
    paths: list[str],
    /,
    *,
    managed: Managed = Managed(),  # noqa: B008  # immutable
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Give up the ownership of fields, and keep their values.

    An apply that omits a field gives it up as well, but removes it if it has no other owner. Exits with 0 if the
    manager does not own the fields any more, and with 1 on errors: also if it did not own them.

    Args:
        resource: As for kubectl: deploy, deployments.apps, httproutes.v1.gateway.networking.k8s.io.
        name: Name of the object.
        paths: Fields with everything below them, like .spec.replicas or '.spec.containers[name="web"]'.
        managed: The manager.
        dry_run: Validate everything on the server, without writing anything.
        cluster: The cluster.
    """
    managed.check()
    fields = read_paths("PATHS", paths)
    await _rewrite(
        cluster.client(),
        resource,
        lambda verbs: verbs.release_fields(
            name,
            fields,
            managed.manager,
            subresource=managed.subresource,
            namespace=managed.namespace,
            dry_run=dry_run,
        ),
        dry_run=dry_run,
    )


async def transfer(
    resource: str,
    name: str,
    paths: list[str] | None = None,
    /,
    *,
    to: str,
    managed: Managed = Managed(),  # noqa: B008  # immutable
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Transfer the ownership of fields to another manager, as if that had applied them.

    Its next apply must contain the fields, or it releases them. Exits with 0 if the other manager owns the fields, and
    with 1 on errors: also if --manager does not own them.

    Args:
        resource: As for kubectl: deploy, deployments.apps, httproutes.v1.gateway.networking.k8s.io.
        name: Name of the object.
        paths: Fields with everything below them, like .spec.replicas; by default all that --manager owns.
        to: The new owner.
        managed: The current owner.
        dry_run: Validate everything on the server, without writing anything.
        cluster: The cluster.
    """
    managed.check()
    check_field_manager(to, "--to")
    fields = read_paths("PATHS", paths)
    await _rewrite(
        cluster.client(),
        resource,
        lambda verbs: verbs.transfer_fields(
            name,
            managed.manager,
            to,
            fields or None,
            subresource=managed.subresource,
            namespace=managed.namespace,
            dry_run=dry_run,
        ),
        dry_run=dry_run,
    )


async def upgrade_managed_fields(
    resource: str,
    name: str,
    /,
    *,
    managed: Managed = Managed(),  # noqa: B008  # immutable
    client_side: Annotated[list[str] | None, Parameter(negative="")] = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Migrate the ownership of fields from kubectl apply without --server-side to server-side apply.

    Without it, a field that is omitted from a server-side apply stays, as its client-side manager owns it too. Exits
    with 0, also if there was nothing to migrate, and with 1 on errors.

    Args:
        resource: As for kubectl: deploy, deployments.apps, httproutes.v1.gateway.networking.k8s.io.
        name: Name of the object.
        managed: The manager that applies from now on.
        client_side: A manager that used client-side apply; may be repeated. By default those that wrote the annotation
            last-applied-configuration.
        dry_run: Validate everything on the server, without writing anything.
        cluster: The cluster.
    """
    managed.check()
    for given in client_side or ():
        check_field_manager(given, "--client-side")
    await _rewrite(
        cluster.client(),
        resource,
        lambda verbs: verbs.upgrade_managed_fields(
            name,
            managed.manager,
            client_side or None,
            subresource=managed.subresource,
            namespace=managed.namespace,
            dry_run=dry_run,
        ),
        dry_run=dry_run,
    )


async def _rewrite(
    client: Client, resource: str, change: Callable[[ResourceClient], Awaitable[Applied]], *, dry_run: bool
) -> None:
    """Enter ``client``, change the ownership, and print what was done in the format of ``apply``.

    Raises:
        DynkubeError: the ownership was not changed.
    """
    async with client:
        applied = await change(client.resource(resource))
    note = "  (dry run: nothing was written)" if dry_run else ""
    await Output.standard().line(printable(object_line(applied.change, applied)) + note)
