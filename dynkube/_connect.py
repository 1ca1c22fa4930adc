"""``connect``: create a :class:`~dynkube.Client`."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dynkube._client import Client
from dynkube.config import ClientConfig, explicit_config, from_kubernetes_configuration, load_config
from dynkube.errors import InvalidInput
from dynkube.informers import InformerSettings
from dynkube.meta import GVR
from dynkube.meta._arguments import a_type
from dynkube.meta._path import resource_path
from dynkube.rest import Limits
from dynkube.telemetry import Observer

if TYPE_CHECKING:
    import httpx2

    from dynkube.config import KubernetesConfiguration

_EMBEDDED = "http://embedded.invalid"  # placeholder for transports that do not use the network
_ANYTHING = GVR("", "v1", "anything")


def connect(
    *,
    kubeconfig: str | os.PathLike[str] | Mapping[str, object] | None = None,
    context: str | None = None,
    url: str | None = None,
    token: str | None = None,
    verify: bool | str | os.PathLike[str] | ssl.SSLContext = True,
    namespace: str | None = None,
    configuration: KubernetesConfiguration | None = None,
    field_manager: str = "dynkube",
    http2: bool = False,
    compression: bool = False,
    transport: httpx2.AsyncBaseTransport | None = None,
    settings: InformerSettings | None = None,
    limits: Limits | None = None,
    exec_timeout: float | None = None,
    observers: Iterable[Observer] = (),
) -> Client:
    """Create a client for one cluster; enter it with ``async with``.

    Without arguments it uses the cluster that kubectl would use, or, inside a pod, the one the pod runs in. Does no
    I/O: the configuration is read on entering.

    Args:
        kubeconfig: a path, several joined by ``os.pathsep``, or a parsed kubeconfig; ``None`` means
            ``$KUBECONFIG``, else ``~/.kube/config``, else the pod's service account.
        context: a context of the kubeconfig to use instead of its current one.
        url: the API server's address, instead of a kubeconfig.
        token: a bearer token; only with ``url``.
        verify: only with ``url``: ``True`` for the system's certificate authorities, a path to a PEM bundle, an
            ``ssl.SSLContext``, or ``False`` to disable verification, which emits a warning.
        namespace: default namespace of single objects, instead of the context's.
        configuration: an existing ``kubernetes.client.Configuration``, instead of a kubeconfig or ``url``.
        field_manager: recorded as owner of written fields.
        http2: offer HTTP/2 (requires the ``http2`` extra). HTTP/1.1 is faster in Python.
        compression: accept compressed responses (gzip), for slow links. kube-apiserver compresses responses of more
            than 128 KiB, but no watches, and so no streaming lists: set ``InformerSettings(streaming_lists=False)`` as
            well, so that informers list.
        transport: an httpx2 transport to use instead of the network, such as
            ``dynkube_testing.APIServer().transport()``.
        settings: timing and paging of informers.
        limits: sizes of responses, watch events and headers; connections, retries, requests per second.
        exec_timeout: seconds for a kubeconfig's exec plugin; ``None`` means 60, or 300 if it may prompt a user at a
            terminal.
        observers: called on requests, informer events and handler runs: instances of
            :class:`dynkube.telemetry.Observer`, such as :class:`~dynkube.telemetry.PrometheusMetrics` and
            :class:`~dynkube.telemetry.OpenTelemetryTracing`.

    Warns:
        InsecureTLSWarning: on entering, if the server's certificate is not verified, or credentials are sent without
            TLS to another machine.

    Raises:
        InvalidInput: arguments exclude each other, or namespace, settings, limits, transport or an observer is invalid.
    """
    sources = {"url": url, "configuration": configuration, "kubeconfig": kubeconfig}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) > 1:
        raise InvalidInput(f"{' and '.join(given)} are mutually exclusive: each selects the cluster; pass one")
    if context is not None and (url is not None or configuration is not None):
        raise InvalidInput(f"context={context!r} requires a kubeconfig: it cannot be combined with {given[0]}")
    if url is None and transport is not None and not given:
        url = _EMBEDDED
    if url is None and (token is not None or verify is not True):
        raise InvalidInput("token and verify require url=...: a kubeconfig has its own")
    if exec_timeout is not None and (url is not None or configuration is not None):
        raise InvalidInput("exec_timeout requires a kubeconfig: it is the timeout of its exec plugin")
    if namespace == "":
        raise InvalidInput("namespace='' is not a valid namespace: omit it (None) to use the context's")
    resource_path(_ANYTHING, namespace=namespace)  # validates the namespace once, instead of in every call
    _check_options(settings, limits, transport)
    if not isinstance(compression, bool):
        raise InvalidInput(f"compression must be True or False, not {compression!r}")
    configure: Callable[[], ClientConfig] = partial(
        load_config, kubeconfig=kubeconfig, context=context, exec_timeout=exec_timeout
    )
    if url is not None:
        configure = partial(explicit_config, url, token=token, verify=verify)
    elif configuration is not None:
        configure = partial(from_kubernetes_configuration, configuration)
    return Client(
        configure if namespace is None else lambda: replace(configure(), namespace=namespace),
        blocking=url is None,
        field_manager=field_manager,
        transport=transport,
        http2=http2,
        compression=compression,
        settings=settings,
        limits=limits,
        observers=observers,
    )


def _check_options(settings: object, limits: object, transport: object) -> None:
    """Reject values of the wrong class, which would otherwise fail only later, in use."""
    for name, value, wanted in (("settings", settings, InformerSettings), ("limits", limits, Limits)):
        if value is not None and not isinstance(value, wanted):
            raise InvalidInput(f"{name} is {a_type(value)}: pass dynkube.{wanted.__name__}(...)")
    if transport is not None and not callable(getattr(transport, "handle_async_request", None)):
        raise InvalidInput(
            f"transport is {a_type(transport)}: pass one of httpx2's, such as dynkube_testing.APIServer().transport()"
        )
