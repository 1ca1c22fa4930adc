"""What the servers of a control plane say when asked whether they are ready, and compaction. Everything blocks."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from dynkube.errors import ControlPlaneError
from dynkube.testing._control_plane.ports import LOOPBACK

_PROBE_SECONDS = 5.0
_COMPACTION_SECONDS = 60.0
_COMPACTED_BEFORE = "required revision has been compacted"  # nothing was written since the last time


@dataclass(frozen=True, slots=True)
class Site:
    """A port of the loopback where a server speaks HTTP, or HTTPS with a context."""

    port: int
    tls: ssl.SSLContext | None = None

    def ask(self, path: str, body: object = None, *, timeout: float = _PROBE_SECONDS) -> tuple[int, str]:
        """Status and text of the answer to a GET, or to a POST of ``body`` as JSON.

        Raises:
            OSError: Nobody listens, or answers in time.
            http.client.HTTPException: The answer is no HTTP.
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


def etcd_trouble(etcd: Site) -> str:
    """Why etcd is not ready; empty where it is."""
    return _trouble(lambda: _expect(etcd, "/health"))


def api_server_trouble(api_server: Site) -> str:
    """Why kube-apiserver is not ready for tests; empty where it is.

    Ready means that the namespace ``default`` is there too: a new server makes it some moments after it says that it
    is.
    """
    return _trouble(
        lambda: _expect(api_server, "/readyz?verbose") or _expect(api_server, "/api/v1/namespaces/default", 404)
    )


def compact(etcd: Site) -> int:
    """Forget all revisions of etcd before the current one, and return that one.

    Raises:
        ControlPlaneError: etcd does not answer, or refuses.
    """
    found = _post(etcd, "/v3/kv/range", {"key": "AA==", "keys_only": True, "limit": 1})
    revision = int(json.loads(found)["header"]["revision"])
    _post(etcd, "/v3/kv/compaction", {"revision": revision, "physical": True}, fine=_COMPACTED_BEFORE)
    return revision


def _post(etcd: Site, path: str, body: object, *, fine: str | None = None) -> str:
    """The answer of etcd, which is a good one or has the text ``fine``."""
    try:
        status, text = etcd.ask(path, body, timeout=_COMPACTION_SECONDS)
    except (OSError, http.client.HTTPException) as error:
        raise ControlPlaneError(f"etcd does not answer, so it cannot be compacted: {error}") from error
    if status == http.client.OK or (fine and fine in text):
        return text
    raise ControlPlaneError(f"etcd refuses to be compacted: {path} answers {status}: {text.strip()}")


def _expect(site: Site, path: str, bad: int | None = None) -> str:
    """What the answer says, unless it is a good one; with ``bad`` any other status is good."""
    status, text = site.ask(path)
    good = status == http.client.OK if bad is None else status != bad
    return "" if good else f"{path} answers {status}: {text.strip()}"


def _trouble(probe: Callable[[], str]) -> str:
    try:
        return probe()
    except (OSError, http.client.HTTPException) as error:
        return f"it does not answer: {error}"
