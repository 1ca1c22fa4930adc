"""Informers that are opened the moment an API server begins to respond, which is the worst moment for it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random

import httpx2
import trio

import dynkube
from benchmarks.restarts.environment import Environment, Options
from benchmarks.restarts.recorder import Findings, Kind, Recorder, Responses
from benchmarks.restarts.resources import Origin
from dynkube import LIVE
from dynkube.errors import APIError

_POLL = 0.005  # seconds


async def wait_answering(env: Environment) -> None:
    """Wait until the API server responds, with whatever status."""
    while True:
        with suppress(httpx2.HTTPError):
            with suppress(APIError):
                await env.api.request("GET", "/version")
            return
        await trio.sleep(_POLL)


async def follow_anew(
    env: Environment, options: Options, findings: Findings, responses: Responses, number: int
) -> None:
    """Open a client with informers of served resources, check what they report, and close them once they are LIVE.

    Odd rounds do so as a user who may not read CRDs.
    """
    origins = (Origin.BUILT_IN, Origin.PERMANENT)
    served = [resource for resource in env.served() if resource.origin in origins]
    some = Random(options.seed + number).sample(served, min(options.newcomers, len(served)))
    settings = dynkube.InformerSettings(random=Random(number), discovery_poll=options.discovery_poll)
    user = env.users[number % len(env.users)]
    client = dynkube.connect(kubeconfig=user.kubeconfig(), settings=settings, observers=[responses])
    async with client, trio.open_nursery() as nursery:
        for resource in some:
            informer = client.informer(resource.gvr, label_selector=f"of={env.label}")
            name = f", opened anew in round {number}"
            nursery.start_soon(
                _follow, Recorder(informer, resource, None, env.ledger, findings, name=name), env, options
            )


async def _follow(recorder: Recorder, env: Environment, options: Options) -> None:
    async with recorder.informer, trio.open_nursery() as nursery:
        nursery.start_soon(recorder.follow_states)
        with trio.move_on_after(options.patience) as waiting:
            await recorder.informer.wait_synced()
            recorder.check_synced(env.stable)
            await recorder.wait_until(partial(_is_live, recorder))
        if waiting.cancelled_caught:
            recorder.add_finding(Kind.LATE, f"not LIVE after {options.patience:g} s")
        nursery.cancel_scope.cancel()


def _is_live(recorder: Recorder) -> bool:
    return recorder.informer.state.phase is LIVE
