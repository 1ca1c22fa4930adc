"""``dynkube owners``: who owns which field of an object."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import check_namespace, read_paths
from dynkube.cli._cluster import Cluster
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.fields import owners as owners_of


async def owners(
    resource: str,
    name: str,
    /,
    *,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    field: str = "",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Show the managers of an object's fields, their operation (Apply, or an Update of any kind) and its time.

    Args:
        resource: As for kubectl: deploy, deployments.apps, httproutes.v1.gateway.networking.k8s.io.
        name: Name of the object.
        namespace: Namespace of the object; by default the context's.
        field: Only this field and those below it, like .spec.template or '.spec.containers[name="web"]'.
        cluster: The cluster.
    """
    check_namespace(namespace, "that of the current context")
    read_paths("--field", [field] if field else [])
    await run_owners(cluster.client(), resource, name, namespace=namespace, field=field)


async def run_owners(
    client: Client, resource: str, name: str, *, namespace: str | None = None, field: str = ""
) -> None:
    """Enter ``client``, and print the owners of an object's fields on stdout.

    Raises:
        CommandFailed: ``field`` has no owner.
        InvalidInput: ``field`` is not a field path.
        DynkubeError: the object cannot be read, or has no managedFields.
    """
    async with client:
        obj = await client.resource(resource).get(name, namespace=namespace)
    found = owners_of(obj)
    if field:
        found = found.within(field)
        if not found:
            raise CommandFailed(f"{field} of {obj.kind} {name} has no manager, nor has any field below it")
    await Output.standard().line(printable(str(found), keep="\n"))
