"""Label every pod of an app when it is created, and remove the label from pods that leave the app.

    python examples/watch_and_patch.py APP [NAMESPACE]

Uses the cluster of your kubeconfig; stop it with Ctrl-C. The watch resumes by itself after errors. Pods that were
deleted in the meantime are ignored.
"""

from __future__ import annotations

import sys
from functools import partial

import trio

import dynkube
from dynkube.errors import NotFound

LABEL = "example.com/seen"


async def main(app: str, namespace: str | None = None) -> None:
    async with dynkube.connect() as client:
        await label_pods(client, app, namespace)


async def label_pods(client: dynkube.Client, app: str, namespace: str | None = None) -> None:
    """Follow the pods until cancelled."""
    pods = client.resource("pods")
    async with pods.watch(namespace=namespace, label_selector={"app": app}) as events:
        async for event in events:
            match event:
                case dynkube.Added(pod) if LABEL not in pod.labels:
                    await set_label(pods, pod, "true")
                case dynkube.Deleted(pod):  # deleted, or no longer of the app
                    await set_label(pods, pod, None)


async def set_label(pods: dynkube.ResourceClient, pod: dynkube.Unstructured, value: str | None) -> None:
    """Set the label, or with ``None`` remove it."""
    patch = {"metadata": {"labels": {LABEL: value}}}
    try:
        await pods.patch(pod.name, patch, namespace=pod.namespace)
    except NotFound:
        return
    print(f"{pod.namespace}/{pod.name}: {LABEL}={value}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    trio.run(partial(main, *sys.argv[1:]))
