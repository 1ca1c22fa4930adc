"""An operator of fleets on kopf: a ConfigMap labelled ``fleet`` gets as many ships, which are ConfigMaps too.

With ``SHIPS=generated`` it has a bug: a handler that is called again, as it was killed before kopf has stored its
success, creates all ships again. With ``SHIPS=named`` their names follow from that of the fleet, and it has not.
"""

from __future__ import annotations

import os
from typing import Any

import kopf

import dynkube

GENERATED = os.environ.get("SHIPS") == "generated"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Retry soon, as the tests wait in real time; keep the mark of ``conflict`` out of kopf's copy of an object."""
    mark = ("metadata", "annotations", "perturbation.dynkube/touched")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(ignored_fields=[mark])
    settings.posting.enabled = False
    settings.networking.error_backoffs = [0.2] * 10
    settings.watching.reconnect_backoff = 0.1


@kopf.on.create("", "v1", "configmaps", labels={"fleet": "yes"}, backoff=0.5)
async def launch(body: kopf.Body, name: str, namespace: str | None, **_: Any) -> None:
    """Create the ships of a new fleet."""
    async with dynkube.aio.connect() as client:
        ships = client.resource("configmaps.v1")
        for number in range(int(body["data"]["size"])):
            metadata = {"labels": {"of": name}, "namespace": namespace}
            ship: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            kopf.append_owner_reference(ship, owner=body)
            if GENERATED:
                await ships.create({**ship, "metadata": {**metadata, "generateName": f"{name}-"}})
            else:
                await ships.apply({**ship, "metadata": {**metadata, "name": f"{name}-{number}"}}, force=True)
