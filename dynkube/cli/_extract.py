"""``dynkube extract``: what a field manager last applied."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from dynkube.cli._cluster import Cluster
from dynkube.cli._managed import Managed
from dynkube.cli._output import Output
from dynkube.fields import extract as extract_from


async def extract(
    resource: str,
    name: str,
    /,
    *,
    managed: Managed = Managed(),  # noqa: B008  # immutable
    output: Annotated[Literal["yaml", "json"], Parameter(name=["--output", "-o"])] = "yaml",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Print what a manager last applied: name, namespace and the fields it owns, with their live values.

    The result can be edited and applied again by the same manager; a field that is missing then is released. Values of
    Secrets are printed as they are. Exits with 0, and with 1 on errors: also if the manager has applied nothing.

    Args:
        resource: As for kubectl: deploy, deployments.apps, httproutes.v1.gateway.networking.k8s.io.
        name: Name of the object.
        managed: The manager.
        output: YAML, or JSON on one line.
        cluster: The cluster.
    """
    managed.check()
    client = cluster.client()
    async with client:
        obj = await client.resource(resource).get(name, namespace=managed.namespace)
    found = extract_from(obj, managed.manager, subresource=managed.subresource)
    # Not made printable: it may be applied again, and both formats escape control characters.
    await Output.standard().line(found.json if output == "json" else found.to_yaml().rstrip("\n"))
