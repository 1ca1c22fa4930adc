"""Embedded Kubernetes API server for tests in virtual time, demos and notebooks.

:class:`APIServer` is the server. ``transport()`` connects an httpx2 client to it in-process, ``serve()`` listens on
TCP (for kubectl and other clients), and :func:`serve_in_thread` does so for programs without an event loop. The server
shares only plain data types with the client, so that a bug in one is not hidden by the same bug in the other.

:class:`ControlPlane` runs a real etcd and kube-apiserver as processes, from binaries that you provide.
:class:`FaultProxy` is a reverse proxy that injects the same faults in front of a real server.

Names are imported on first use (lazy loading, SPEC 1 of Scientific Python), so that the pytest plugin costs nothing in
tests that do not use it. They are listed in ``__init__.pyi``.
"""

from __future__ import annotations

import lazy_loader

_lazy_getattr, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("dynkube-testing")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = _lazy_getattr(name)
    globals()[name] = value  # once: lazy_loader would look it up on each access
    return value
