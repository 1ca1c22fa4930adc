"""Follow a resource whether or not its CRD is installed, until Ctrl-C.

    python examples/lazy_informer.py [RESOURCE.VERSION.GROUP]

Uses the cluster of your kubeconfig. The state is printed when it changes: install or delete the CRD meanwhile.
"""

from __future__ import annotations

import sys
from contextlib import aclosing
from functools import partial

import trio

import dynkube


async def main(resource: str = "httproutes.v1.gateway.networking.k8s.io") -> None:
    async with dynkube.connect() as client, client.informer(resource) as objects:
        objects.add_handler(
            on_add=lambda obj: print("+", obj),
            on_update=lambda old, new: print("~", new),
            on_delete=lambda obj: print("-", obj),
        )
        async with aclosing(objects.states()) as states:
            async for state in states:
                print(state)


if __name__ == "__main__":
    trio.run(partial(main, *sys.argv[1:2]))
