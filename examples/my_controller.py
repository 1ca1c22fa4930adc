"""A controller that deletes each Session, a custom resource of this example, when it has expired.

The CRD need not be installed at the start: the informer waits for it. The test is in test_my_controller.py.
"""

from __future__ import annotations

from contextlib import suppress

import trio

import dynkube
from dynkube.errors import NotFound

SESSIONS = dynkube.GVR("example.com", "v1", "sessions")


async def expire_sessions(client: dynkube.Client) -> None:
    """Run until cancelled."""
    async with trio.open_nursery() as nursery, client.informer(SESSIONS) as sessions, sessions.events() as events:
        async for event in events:
            if isinstance(event, dynkube.Added):
                nursery.start_soon(_delete_later, client, event.object)


async def _delete_later(client: dynkube.Client, session: dynkube.Unstructured) -> None:
    await trio.sleep(session["spec"]["seconds"])
    with suppress(NotFound):
        await client.resource(SESSIONS).delete(session.name, namespace=session.namespace)


if __name__ == "__main__":

    async def main() -> None:
        async with dynkube.connect() as client:
            await expire_sessions(client)

    trio.run(main)
