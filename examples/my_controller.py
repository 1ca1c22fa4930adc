"""A controller that deletes each Session, a custom resource of this example, when it has expired.

The CRD need not be installed at the start: the informer waits for it. The test is in test_my_controller.py.
"""

from __future__ import annotations

import logging

import trio

import dynkube
from dynkube.errors import APIError, NotFound, TransportError

SESSIONS = dynkube.GVR("example.com", "v1", "sessions")
RETRY = 10  # seconds until a delete that failed is tried again

log = logging.getLogger(__name__)


async def expire_sessions(client: dynkube.Client) -> None:
    """Run until cancelled. The time of a session begins when this controller first sees it."""
    waits: dict[str, trio.CancelScope] = {}  # by uid, as another session may get the name of a deleted one
    async with trio.open_nursery() as nursery, client.informer(SESSIONS) as sessions, sessions.events() as events:
        async for event in events:
            match event:
                case dynkube.Added(session):
                    nursery.start_soon(_expire, client, sessions, session, waits)
                case dynkube.Updated(_, session) | dynkube.Deleted(session):
                    if session.uid in waits:
                        waits[session.uid].cancel()  # its task looks at the session again


async def _expire(
    client: dynkube.Client,
    sessions: dynkube.Informer,
    session: dynkube.Unstructured,
    waits: dict[str, trio.CancelScope],
) -> None:
    first_seen = trio.current_time()
    try:
        while (current := sessions.get(session.name, namespace=session.namespace)) and current.uid == session.uid:
            left = first_seen + current["spec"]["seconds"] - trio.current_time()
            if left > 0:
                with trio.CancelScope() as waits[session.uid]:
                    await trio.sleep(left)
            elif await _deleted(client, current):
                return
            else:
                await trio.sleep(RETRY)
    finally:
        waits.pop(session.uid, None)


async def _deleted(client: dynkube.Client, session: dynkube.Unstructured) -> bool:
    """Delete exactly the object that has expired, unless it has changed since: then the cache will know soon."""
    try:
        await client.resource(SESSIONS).delete(
            session.name, namespace=session.namespace, uid=session.uid, resource_version=session.resource_version
        )
    except NotFound:
        return True
    except (APIError, TransportError) as error:  # a Conflict, or no permission at the moment
        log.warning("%s was not deleted: %s", session, error)
        return False
    return True


if __name__ == "__main__":

    async def main() -> None:
        async with dynkube.connect() as client:
            await expire_sessions(client)

    trio.run(main)
