"""What the tests of admission share."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster import Cluster, Response
from tests.contract.objects import JSONObject


async def dry_run(cluster: Cluster, resource: str, body: JSONObject, namespace: str | None = None) -> Response:
    """Create an object without storing it, and return the response."""
    return await cluster.call("POST", cluster.path(resource, namespace=namespace), body=body, params={"dryRun": "All"})


async def until_code(
    cluster: Cluster, code: int, resource: str, body: JSONObject, *, namespace: str | None = None
) -> Response:
    """Send dry-run creates until the response has this code, and return it.

    The admission plugins of a real server see new objects some milliseconds after they were created.
    """
    responses: list[Response] = []

    async def answered() -> bool:
        responses.append(await dry_run(cluster, resource, body, namespace))
        return responses[-1].code == code

    await cluster.until(answered)
    return responses[-1]


async def refused(cluster: Cluster, resource: str, body: JSONObject, **options: Any) -> str:
    """Wait until creates of an object are forbidden, and return the message."""
    message: str = (await until_code(cluster, 403, resource, body, **options)).body["message"]
    return message


async def open_namespace(cluster: Cluster, **labels: str) -> str:
    """Create a namespace with labels of Pod Security, such as ``enforce="baseline"``, and return its name."""
    name = f"{cluster.namespace}-labelled"
    shown = {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    await cluster.create("namespaces", {"metadata": {"name": name, "labels": shown}})
    return name
