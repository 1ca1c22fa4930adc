"""The servers that the contract suite runs on: the embedded one, and those of ``--cluster NAME=PATH``."""

from __future__ import annotations

import base64
import itertools
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import trio.testing
import yaml

import dynkube
from dynkube.rest._transport import PoolTransport
from dynkube.telemetry import Observer
from dynkube_testing import APIServer, ControlPlane, Endpoint, User
from dynkube_testing._wire.nonresource import DEFAULT_VERSION
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.objects import JSONObject

EMBEDDED = "embedded"
_TOKEN, _ADMIN = "admin-token", User("system:admin", ("system:masters",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One API server, for all tests of a run.

    Attributes:
        name: as in the ids of tests: ``embedded``, ``apiserver-old``, ...
        version: the server's version, major and minor.
        plane: its processes, which tests may stop and start again; ``None`` if the suite did not start them.
        kubeconfig: connects clients; ``None`` for the embedded server, which is a new one for each test.
        labels: yields parts of names, unique among the tests and earlier runs on the same cluster.
    """

    name: str
    version: tuple[int, int]
    plane: ControlPlane | None = None
    kubeconfig: Path | None = None
    labels: Iterator[str] = field(repr=False)

    @property
    def real(self) -> bool:
        """Whether this is a real server, which uses sockets and the real clock."""
        return self.kubeconfig is not None

    @property
    def anyio_backend(self) -> tuple[str, dict[str, object]]:
        """Trio, in virtual time for the embedded server."""
        return ("trio", {}) if self.real else ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[APIServer | None]:
        """Start an embedded server; yields ``None`` for a real one, which is already running."""
        if self.real:
            yield None
        else:
            async with APIServer(rbac=True, token=_TOKEN) as server:
                server.compact()  # like an older cluster, whose first revisions are compacted
                yield server

    @asynccontextmanager
    async def connect(self, server: APIServer | None) -> AsyncIterator[httpx2.AsyncClient]:
        """Open an HTTP client that is authenticated as the administrator.

        Args:
            server: the embedded server of the test, which is running; ``None`` for a real one.
        """
        if self.kubeconfig is not None:
            async with _client_of(self.kubeconfig) as client:
                yield client
            return
        assert server is not None
        transport, headers = server.transport(), {"Authorization": f"Bearer {_TOKEN}"}
        async with httpx2.AsyncClient(
            transport=transport, base_url=server.url, headers=headers, timeout=None
        ) as client:
            yield client

    @asynccontextmanager
    async def endpoint(self, server: APIServer | None, *, tls: bool = False) -> AsyncIterator[Endpoint]:
        """Serve on TCP; yields the address and the administrator's credentials.

        Args:
            server: the embedded server of the test; ``None`` for a real one.
            tls: let the embedded server use HTTPS: kubectl sends tokens only over HTTPS.
        """
        if server is not None:
            async with server.serve(tls=tls) as endpoint:
                yield endpoint
            return
        assert self.kubeconfig is not None
        cluster, user = _current(yaml.safe_load(self.kubeconfig.read_text()))
        pems = [(cluster, "certificate-authority-data"), (user, "client-certificate-data"), (user, "client-key-data")]
        ca, certificate, key = (base64.b64decode(entry[name]) if name in entry else None for entry, name in pems)
        yield Endpoint(
            url=cluster["server"], ca_pem=ca, token=user.get("token"), certificate_pem=certificate, key_pem=key
        )

    def client(
        self,
        server: APIServer | None,
        *,
        user: str = "",
        settings: dynkube.InformerSettings | None = None,
        observers: Iterable[Observer] = (),
        compression: bool = False,
    ) -> dynkube.Client:
        """Return a dynkube client that is not entered yet.

        Args:
            server: the embedded server of the test; ``None`` for a real one.
            user: the user to act as; the administrator by default.
            settings: the settings of its informers.
            observers: the observers of its requests.
            compression: whether it accepts compressed responses.
        """
        options: dict[str, Any] = {"observers": observers, "compression": compression}
        settings = settings or dynkube.InformerSettings(random=Random(7))
        if server is not None:
            transport = server.transport(user or _ADMIN)
            return dynkube.connect(transport=transport, settings=settings, **options)
        assert self.kubeconfig is not None
        if not user:
            return dynkube.connect(kubeconfig=self.kubeconfig, settings=settings, **options)
        document = yaml.safe_load(self.kubeconfig.read_text())
        _current(document)[1]["as"] = user
        return dynkube.connect(kubeconfig=document, settings=settings, **options)


@asynccontextmanager
async def open_cluster(backend: Backend, server: APIServer | None) -> AsyncIterator[Cluster]:
    """Open a cluster with a namespace and an API group for one test; ``server`` is as for ``connect``."""
    label = next(backend.labels)
    async with backend.connect(server) as client:
        cluster = Cluster(http=client, namespace=f"ns-{label}", group=f"{label}.example.com", version=backend.version)
        await cluster.request("POST", "/api/v1/namespaces", body={"metadata": {"name": cluster.namespace}})
        yield cluster
        await cluster.clean_up()
        if backend.real and backend.plane is None:  # a plane is deleted with its namespaces
            await cluster.call("DELETE", f"/api/v1/namespaces/{cluster.namespace}")


@contextmanager
def open_backend(name: str, path: Path | None) -> Iterator[Backend]:
    """Open a backend.

    Args:
        name: its name.
        path: a folder with binaries to start, or a kubeconfig; ``None`` for the embedded server.
    """
    if path is None:
        yield Backend(name=name, version=_minor(DEFAULT_VERSION), labels=_labels("t"))
    elif path.is_file():
        yield Backend(name=name, version=_version_of(path), kubeconfig=path, labels=_labels(f"t{token_hex(3)}"))
    else:
        with TemporaryDirectory() as folder, _plane(path, Path(folder)) as plane:
            # With a token, as a client certificate would take precedence over the tokens of tests.
            endpoint = replace(plane.endpoint, token=_TOKEN, certificate_pem=None, key_pem=None)
            kubeconfig = endpoint.write_kubeconfig(Path(folder) / "kubeconfig")
            version = _version_of(kubeconfig)
            plane.compact()  # like an older cluster, whose first revisions are compacted
            yield Backend(name=name, version=version, plane=plane, kubeconfig=kubeconfig, labels=_labels("t"))


def _plane(assets: Path, folder: Path) -> ControlPlane:
    """Return a control plane that authenticates the administrator by a token."""
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{_TOKEN},{_ADMIN.name},,"{",".join(_ADMIN.groups)}"\n')
    return ControlPlane(assets=assets, api_server_flags={"token-auth-file": str(tokens)})


def parse_clusters(given: list[str]) -> dict[str, Path | None]:
    """Return the name and the path of each backend, the embedded one first.

    Raises:
        ValueError: an option is not ``NAME=PATH``, or the path does not exist.
    """
    found: dict[str, Path | None] = {EMBEDDED: None}
    for text in given:
        name, separator, place = text.partition("=")
        path = Path(place).expanduser()
        if not separator or not name or name in found or not path.exists():
            raise ValueError(f"--cluster {text!r}: give NAME=PATH, a new name and a kubeconfig or a folder of binaries")
        found[name] = path
    return found


def _labels(prefix: str) -> Iterator[str]:
    return (f"{prefix}x{number}" for number in itertools.count())


def _client_of(kubeconfig: Path) -> httpx2.AsyncClient:
    server, headers, context = _credentials(kubeconfig)
    # A stream of httpx2's own transport that is closed before its end is not cleaned up completely.
    transport = PoolTransport(ssl_context=context, proxy_url=None, max_connections=None, keepalive=60, http2=False)
    return httpx2.AsyncClient(transport=transport, base_url=server, headers=headers, timeout=GIVE_UP)


def _version_of(kubeconfig: Path) -> tuple[int, int]:
    server, headers, context = _credentials(kubeconfig)
    with httpx2.Client(base_url=server, headers=headers, verify=context, timeout=GIVE_UP) as client:
        return _minor(client.get("/version").raise_for_status().json()["gitVersion"])


def _minor(text: str) -> tuple[int, int]:
    major, minor, *_ = text.removeprefix("v").split(".")
    return int(major), int(minor)


def _current(document: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return the cluster and the user of a kubeconfig's current context, as dynkube and kubectl do."""

    def named(section: str, name: str) -> JSONObject:
        (found,) = [entry[section] for entry in document[f"{section}s"] if entry["name"] == name]
        chosen: JSONObject = found
        return chosen

    context = named("context", document["current-context"])
    return named("cluster", context["cluster"]), named("user", context["user"])


@cache  # creating an SSL context takes milliseconds, and thousands of tests need two
def _credentials(kubeconfig: Path) -> tuple[str, Mapping[str, str], ssl.SSLContext]:
    """Return the server's URL, the headers with the user's token, and an SSL context."""
    cluster, user = _current(yaml.safe_load(kubeconfig.read_text()))
    if not user.keys() & {"token", "client-certificate-data"}:
        raise ValueError(f"{kubeconfig}: give its user a token, or client-certificate-data and client-key-data")
    context = ssl.create_default_context()
    if authority := cluster.get("certificate-authority-data"):
        context.load_verify_locations(cadata=base64.b64decode(authority).decode())
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if "client-certificate-data" in user:
        with TemporaryDirectory() as folder:
            pem = Path(folder) / "user.pem"
            pem.touch(mode=0o600)
            parts = (user["client-certificate-data"], user["client-key-data"])
            pem.write_bytes(b"\n".join(base64.b64decode(part) for part in parts))
            context.load_cert_chain(pem)
    headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
    return cluster["server"], headers, context
