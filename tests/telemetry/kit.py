"""An observer that records all calls, and a server that never responds."""

from __future__ import annotations

import httpx2
import trio

from dynkube.telemetry import (
    Collection,
    HandlerRun,
    Observer,
    ReflectorOutcome,
    RequestInfo,
    RequestOutcome,
    StateChange,
)
from dynkube.telemetry._observed import ObservedClient


class ObserverRecorder(Observer):
    """Overrides every method of Observer."""

    def __init__(self) -> None:
        self.clients: list[str] = []
        self.started: list[RequestInfo] = []
        self.finished: list[tuple[RequestInfo, RequestOutcome]] = []
        self.reflected: list[str] = []
        self.outcomes: list[ReflectorOutcome] = []
        self.changes: list[tuple[Collection, StateChange]] = []
        self.runs: list[HandlerRun] = []

    def client_opened(self, client: ObservedClient) -> None:
        self.clients.append(f"opened with {len(client.informers())} informers")

    def client_closed(self, client: ObservedClient) -> None:
        self.clients.append("closed")

    def request_started(self, request: RequestInfo) -> dict[str, str]:
        self.started.append(request)
        return {"X-Noted": f"{request.verb} {len(self.started)}", "Authorization": "Bearer of-the-observer"}

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        self.finished.append((request, outcome))

    def list_started(self, collection: Collection) -> None:
        self.reflected.append(f"list {collection} started")

    def list_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        self.reflected.append(f"list {collection} finished with {outcome.items}")
        self.outcomes.append(outcome)

    def watch_started(self, collection: Collection) -> None:
        self.reflected.append(f"watch {collection} started")

    def watch_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        self.reflected.append(f"watch {collection} finished with {outcome.items}")
        self.outcomes.append(outcome)

    def state_changed(self, collection: Collection, change: StateChange) -> None:
        self.changes.append((collection, change))

    def handler_ran(self, collection: Collection, run: HandlerRun) -> None:
        self.runs.append(run)


class SilentTransport(httpx2.AsyncBaseTransport):
    """Accepts every request and never responds."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
