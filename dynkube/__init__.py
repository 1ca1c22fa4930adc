"""dynkube: a dynamic Kubernetes client, for any resource without generated types.

::

    async with dynkube.connect() as client:        # in programs on trio
        await client.get("deploy", namespace="shop")
        async with client.informer("httproutes.v1.gateway.networking.k8s.io") as routes: ...

    async with dynkube.aio.connect() as client: ...  # on asyncio: the same API
    k = dynkube.sync.connect()                     # everywhere else: the same API, blocking
    k.get("deploy", namespace="shop")

The layers, each of which imports only from those below it::

    cli         the command line                    testing   the names of dynkube_testing, an embedded API server
    sync        the blocking API                    aio       the API for asyncio
    notebook    live tables and logs
    controllers reconciles: owned objects, retries, finalizers, leader election
    connect     Client: combines all layers below
    workloads   rollouts, drains
    inspection  describe, explain, events, CPU and memory
    manifests   many objects at once: files, order, report, prune
    pods        what one pod's containers offer: commands, files, ports
    informers   local caches of collections, filters, handlers
    client      verbs on one resource, watch, wait, apply
    discovery   served resources, REST mapper
    rest        one request, one response
    config      cluster address and credentials
    telemetry   observers: metrics, spans
    fields      field ownership: paths, field sets, managedFields
    meta        GVR, Unstructured, selectors, JSONPath: data without I/O
    errors      the exception tree

This module exports the names that programs need; the packages export more, for code that extends dynkube.

``help(dynkube.Client)``, ``help(dynkube.ResourceClient)`` and ``help(dynkube.Informer)`` describe most of what a
program calls; the guides begin with README.md.

Names are imported on first use (SPEC 1), so that ``import dynkube`` is cheap and a program loads only what it uses.
They are listed in ``__init__.pyi``.
"""

from __future__ import annotations

import lazy_loader

_lazy_getattr, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_IPYTHON = {"load_ipython_extension", "unload_ipython_extension"}  # which IPython looks for here


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("dynkube")
    if name in _IPYTHON:
        from dynkube import _ipython

        return getattr(_ipython, name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = _lazy_getattr(name)
    globals()[name] = value  # once: lazy_loader would look it up on each access
    return value
