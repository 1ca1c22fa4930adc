"""Readiness probes and compaction of a control plane's servers. All calls block."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from dynkube.errors import ControlPlaneError
from dynkube_testing._control_plane.ports import LOOPBACK

_PROBE_SECONDS = 5.0
_COMPACTION_SECONDS = 60.0
_COMPACTED_BEFORE = "required revision has been compacted"  # nothing was written since the last compaction


@dataclass(frozen=True, slots=True)
class Site:
    """The address of an HTTP server on a loopback port; HTTPS if ``tls`` is given."""

    port: int
    tls: ssl.SSLContext | None = None

    def ask(self, path: str, body: object = None, *, timeout: float = _PROBE_SECONDS) -> tuple[int, str]:
        """Send a GET, or a POST of ``body`` as JSON; return status and text.

        Raises:
            OSError: The connection fails, or there is no response in time.
            http.client.HTTPException: The response is not HTTP.
        """
        connection = (
            http.client.HTTPSConnection(LOOPBACK, self.port, timeout=timeout, context=self.tls)
            if self.tls
            else http.client.HTTPConnection(LOOPBACK, self.port, timeout=timeout)
        )
        try:
            if body is None:
                connection.request("GET", path)
            else:
                connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()


def etcd_failure(etcd: Site) -> str:
    """Return why etcd is not ready; empty if it is."""
    return _failure(lambda: _expect(etcd, "/health"))


def api_server_failure(api_server: Site) -> str:
    """Return why kube-apiserver is not ready for tests; empty if it is.

    Ready includes that the namespace ``default`` exists: a new server creates it shortly after its readiness probe
    succeeds.
    """
    return _failure(
        lambda: _expect(api_server, "/readyz?verbose") or _expect(api_server, "/api/v1/namespaces/default", 404)
    )


def component_failure(component: Site) -> str:
    """Return why kube-controller-manager or kube-scheduler is not ready; empty if it is."""
    return _failure(lambda: _expect(component, "/healthz"))


def controller_manager_failure(component: Site, api_server: Site) -> str:
    """Return why kube-controller-manager is not ready for tests; empty if it is.

    Ready includes that the namespace ``default`` has its ServiceAccount, without which Pods cannot be created in it.
    """
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    return component_failure(component) or _failure(lambda: _expect(api_server, account))


def compact(etcd: Site) -> int:
    """Compact etcd at the current revision, and return that revision.

    Raises:
        ControlPlaneError: etcd does not respond, or responds with an error.
    """
    found = _post(etcd, "/v3/kv/range", {"key": "AA==", "keys_only": True, "limit": 1})
    revision = int(json.loads(found)["header"]["revision"])
    _post(etcd, "/v3/kv/compaction", {"revision": revision, "physical": True}, fine=_COMPACTED_BEFORE)
    return revision


def _post(etcd: Site, path: str, body: object, *, fine: str | None = None) -> str:
    """Send a POST to etcd, and return the response.

    An error response that contains ``fine`` is returned, too.

    Raises:
        ControlPlaneError: etcd does not respond, or responds with another error.
    """
    try:
        status, text = etcd.ask(path, body, timeout=_COMPACTION_SECONDS)
    except (OSError, http.client.HTTPException) as error:
        raise ControlPlaneError(f"etcd does not respond, so it cannot be compacted: {error}") from error
    if status == http.client.OK or (fine and fine in text):
        return text
    raise ControlPlaneError(f"etcd refused the compaction: {path} responded {status}: {text.strip()}")


def _expect(site: Site, path: str, bad: int | None = None) -> str:
    """Send a GET; return a description of an error response, otherwise ``""``.

    Every status except 200 is an error. If ``bad`` is given, only that status is an error.
    """
    status, text = site.ask(path)
    good = status == http.client.OK if bad is None else status != bad
    return "" if good else f"{path} responded {status}: {text.strip()}"


def _failure(probe: Callable[[], str]) -> str:
    try:
        return probe()
    except (OSError, http.client.HTTPException) as error:
        return f"it does not respond: {error}"
