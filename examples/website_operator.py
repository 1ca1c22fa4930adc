"""An operator: each Website, a custom resource of this example, gets a Deployment and a Service, and a status.

Its CRD need not be installed at the start. The test is in test_website_operator.py.
"""

from __future__ import annotations

import logging

import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, StatusCondition, Terminal, run

FINALIZER = "example.com/certificate"
THEMES = {"light": "nginx:1.29", "dark": "nginx:1.29-alpine"}


async def reconcile(ctx: Context, key: ObjectKey) -> None:
    site = ctx.get()
    if site is None:
        return  # deleted: Kubernetes deletes the objects that it owned
    image = THEMES.get(site["spec"].get("theme", "light"))
    if image is None:
        raise Terminal(f"there is no theme {site['spec']['theme']!r}")
    labels = {"website": key.name}
    container = {"name": "web", "image": image, "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    replicas = site["spec"].get("replicas", 1)
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    # Before Kubernetes 1.21, server-side apply fails without the protocol: kubernetes/kubernetes#98576.
    ports = {"selector": labels, "ports": [{"port": 80, "protocol": "TCP"}]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": key.name}, "spec": spec}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": key.name}, "spec": ports}
    applied, _ = await ctx.apply_owned([deployment, service])
    ready = applied.get("status", {}).get("readyReplicas", 0)
    condition = StatusCondition("Ready", ready >= replicas, "AllReady" if ready >= replicas else "Starting")
    await ctx.set_status(site, {"readyReplicas": ready}, conditions=[condition])


async def clean_up(ctx: Context, key: ObjectKey) -> None:
    ctx.log.info("the certificate of %s is revoked", key)  # clean-up outside of the cluster


websites = Controller(
    "websites.example.com", reconcile, owns=["deployments", "services"], finalizer=(FINALIZER, clean_up), concurrency=4
)


if __name__ == "__main__":

    async def main() -> None:
        async with dynkube.connect() as client:
            await run(client, websites)

    logging.basicConfig(level=logging.INFO)
    trio.run(main)
