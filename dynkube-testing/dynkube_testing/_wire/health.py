"""``/healthz``, ``/livez`` and ``/readyz`` with checks that always pass.

The checks have the names of kube-apiserver 1.36, so that probes and dashboards find them. To simulate an unhealthy
server, inject a fault: ``server.fail(status=500, path_prefix="/readyz")``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dynkube_testing._wire.http import Answer, HTTPRequest

ENDPOINTS = ("healthz", "livez", "readyz")

_HOOKS = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)
_STARTED = (
    *(f"poststarthook/{hook}" for hook in _HOOKS),
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
_ALIVE = ("ping", "log", "loopback-serving-certificate", "etcd", *_STARTED)
_CHECKS = {
    "healthz": _ALIVE,
    "livez": _ALIVE,
    "readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_STARTED, "shutdown"),
}


def paths() -> Iterator[str]:
    """Yield every health path that is served."""
    for endpoint in ENDPOINTS:
        yield f"/{endpoint}"
        yield from (f"/{endpoint}/{check}" for check in _CHECKS[endpoint])


def answer(request: HTTPRequest) -> Answer | None:
    """Return the response for a path that begins with one of :data:`ENDPOINTS`.

    ``None`` if the path names an unknown check.
    """
    endpoint, *rest = request.segments
    checks = _CHECKS[endpoint]
    if request.path.endswith("/") or (rest and "/".join(rest) not in checks):
        return None
    if not rest and "verbose" in request.params:
        return _text(_report(endpoint, checks, request.params.get("exclude", "")))
    answer = _text("ok")
    # In kube-apiserver, individual checks have another handler, which does not set X-Content-Type-Options.
    return replace(answer, headers=()) if rest else answer


def _report(endpoint: str, checks: tuple[str, ...], excluded: str) -> str:
    lines = [f"[+]{check} {'excluded: ok' if check == excluded else 'ok'}" for check in checks]
    if excluded and excluded not in checks:
        lines.append(f'warn: some health checks cannot be excluded: no matches for "{excluded}"')
    return "\n".join([*lines, f"{endpoint} check passed", ""])


def _text(text: str) -> Answer:
    headers = (("X-Content-Type-Options", "nosniff"),)
    return Answer(body=text.encode(), content_type="text/plain; charset=utf-8", headers=headers)
