"""Correct controllers that reconcile one object from several, and without custom resources."""

from __future__ import annotations

import base64

import trio

from dynkube.controllers import Context, Controller, ObjectKey, StatusCondition, Watch
from dynkube_testing import PerturbedRun
from tests.testing.perturbation.correct.kit import change, create, delete
from tests.testing.perturbation.zoo.kit import configmap, custom, definition, running

APPS = "apps.example.com"


async def merge(ctx: Context, key: ObjectKey) -> None:
    """Merge the ConfigMaps that an App names into one Secret, and say whether all are there."""
    app = ctx.get()
    if app is None:
        return
    names = app["spec"]["sources"]
    found = {name: ctx.get(ObjectKey(key.namespace, name), resource="configmaps") for name in names}
    # Not stringData, which is written only: a key that is no longer applied would stay in data.
    values = {name: encoded(source["data"]["value"]) for name, source in found.items() if source is not None}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": key.name}, "data": values}
    await ctx.apply_owned([secret])
    missing = sorted(set(names) - values.keys())
    ready = StatusCondition("Ready", not missing, "Missing" if missing else "AllThere", ", ".join(missing))
    await ctx.set_conditions(app, ready)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def merged(run: PerturbedRun) -> None:
    watches = [Watch("configmaps", to=lambda source: [ObjectKey("default", "app")])]
    run.server.create(definition("App"))
    run.start(running(Controller(APPS, merge, owns=["secrets"], watches=watches)))
    await create(run, custom("App", "app", sources=["one", "two"]))
    await create(run, configmap({"name": "one"}, value="1"))
    await trio.sleep(2)
    await create(run, configmap({"name": "two"}, value="2"))
    await run.settle()
    await change(run, "configmaps", "one", data={"value": "3"})
    await delete(run, "configmaps", "two")
    await run.settle()


async def copy(ctx: Context, key: ObjectKey) -> None:
    """Keep a copy of a labelled ConfigMap in another namespace, and delete it with its source."""
    copied = ObjectKey("copies", key.name)
    source, there = ctx.get(), ctx.get(copied, resource="configmaps")
    if source is not None:
        await ctx.apply(configmap({"name": key.name, "namespace": "copies"}, **source["data"]), owned=False)
    elif there is not None:
        await ctx.delete(there)


async def copies(run: PerturbedRun) -> None:
    run.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "copies"}})
    watches = [Watch("configmaps", namespace="copies", to=lambda copied: [ObjectKey("default", copied.name)])]
    controller = Controller(
        "configmaps", copy, namespace="default", label_selector="copy=yes", watches=watches, concurrency=2
    )
    run.start(running(controller))
    for name in ("a", "b"):
        await create(run, configmap({"name": name, "namespace": "default", "labels": {"copy": "yes"}}, of=name))
    await trio.sleep(2)
    await change(run, "configmaps", "a", data={"of": "changed"})
    await run.settle()
    await delete(run, "configmaps", "b")
    await delete(run, "configmaps", "a", "copies")  # it comes back
    await run.settle()
