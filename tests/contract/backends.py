"""What the contract suite runs against: the embedded server, and any number of clusters by ``--cluster NAME=PATH``."""

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

import httpx2
import trio.testing
import yaml

import dynkube
from dynkube.rest._transport import PoolTransport
from dynkube.telemetry import Observer
from dynkube.testing import APIServer, ControlPlane, Endpoint, User
from dynkube.testing._wire.nonresource import DEFAULT_VERSION
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.objects import JSONObject

EMBEDDED = "embedded"
_TOKEN, _ADMIN = "admin-token", User("system:admin", ("system:masters",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One API server, for as many tests as there are.

    Attributes:
        name: As in the tests' names: ``embedded``, ``apiserver-old``, ...
        version: Major and minor, as the server tells it.
        plane: The processes behind it, to stop and to start again; ``None`` where the suite did not start them.
        kubeconfig: How clients reach it; ``None`` for the embedded server, which is a new one for each test.
        labels: Parts of names that no other test has, nor an earlier run on the same cluster.
    """

    name: str
    version: tuple[int, int]
    plane: ControlPlane | None = None
    kubeconfig: Path | None = None
    labels: Iterator[str] = field(repr=False)

    @property
    def real(self) -> bool:
        """Whether sockets and the real clock are involved."""
        return self.kubeconfig is not None

    @property
    def anyio_backend(self) -> tuple[str, dict[str, object]]:
        """Trio, in virtual time wherever no process is involved."""
        return ("trio", {}) if self.real else ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[APIServer | None]:
        """A new embedded server; ``None`` where a real one runs already."""
        if self.real:
            yield None
        else:
            async with APIServer(rbac=True, token=_TOKEN) as server:
                server.compact()  # as on a cluster that has been there for a while: its first revisions are gone
                yield server

    @asynccontextmanager
    async def connect(self, server: APIServer | None) -> AsyncIterator[httpx2.AsyncClient]:
        """An HTTP client of it, as its administrator.

        Args:
            server: The embedded server of the test, which runs already; ``None`` on a real one.
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
        """Where it is on TCP, for its administrator.

        Args:
            server: The embedded server of the test; ``None`` on a real one.
            tls: Have the embedded one serve HTTPS too, as kubectl sends tokens over that only.
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
    ) -> dynkube.Client:
        """A client of ours, not entered yet.

        Args:
            server: The embedded server of the test.
            user: Whom to act as; its administrator unless given.
            settings: Of its informers.
            observers: Of its requests.
        """
        settings = settings or dynkube.InformerSettings(random=Random(7))
        if server is not None:
            transport = server.transport(user or _ADMIN)
            return dynkube.connect(transport=transport, settings=settings, observers=observers)
        assert self.kubeconfig is not None
        if not user:
            return dynkube.connect(kubeconfig=self.kubeconfig, settings=settings, observers=observers)
        document = yaml.safe_load(self.kubeconfig.read_text())
        _current(document)[1]["as"] = user
        return dynkube.connect(kubeconfig=document, settings=settings, observers=observers)


@asynccontextmanager
async def open_cluster(backend: Backend, server: APIServer | None) -> AsyncIterator[Cluster]:
    """A cluster with a namespace and an API group that nobody else has; ``server`` is as for ``connect``."""
    label = next(backend.labels)
    async with backend.connect(server) as client:
        cluster = Cluster(http=client, namespace=f"ns-{label}", group=f"{label}.example.com", version=backend.version)
        await cluster.ask("POST", "/api/v1/namespaces", body={"metadata": {"name": cluster.namespace}})
        yield cluster
        await cluster.clean_up()
        if backend.real and backend.plane is None:  # the namespaces of processes of our own go with them
            await cluster.call("DELETE", f"/api/v1/namespaces/{cluster.namespace}")


@contextmanager
def open_backend(name: str, path: Path | None) -> Iterator[Backend]:
    """A backend by name: the embedded server without a path, else processes of its own, or what a kubeconfig says."""
    if path is None:
        yield Backend(name=name, version=_minor(DEFAULT_VERSION), labels=_labels("t"))
    elif path.is_file():
        yield Backend(name=name, version=_version_of(path), kubeconfig=path, labels=_labels(f"t{token_hex(3)}"))
    else:
        with TemporaryDirectory() as folder, _plane(path, Path(folder)) as plane:
            # A token, as a certificate would count even where a test brings another token.
            endpoint = replace(plane.endpoint, token=_TOKEN, certificate_pem=None, key_pem=None)
            kubeconfig = endpoint.write_kubeconfig(Path(folder) / "kubeconfig")
            version = _version_of(kubeconfig)
            plane.compact()  # so that some history is gone, as on a cluster that has been there for a while
            yield Backend(name=name, version=version, plane=plane, kubeconfig=kubeconfig, labels=_labels("t"))


def _plane(assets: Path, folder: Path) -> ControlPlane:
    """A control plane that knows the administrator by a token."""
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{_TOKEN},{_ADMIN.name},,"{",".join(_ADMIN.groups)}"\n')
    return ControlPlane(assets=assets, api_server_flags={"token-auth-file": str(tokens)})


def parse_clusters(given: list[str]) -> dict[str, Path | None]:
    """Name and place of each backend, the embedded one first.

    Raises:
        ValueError: Text that is no ``NAME=PATH`` of something that exists.
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
    # Streams of httpx2's own transport leave something behind when they are closed before their end.
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
    """The cluster and the user of a kubeconfig's current context, as dynkube itself and kubectl choose them."""

    def named(section: str, name: str) -> JSONObject:
        (found,) = [entry[section] for entry in document[f"{section}s"] if entry["name"] == name]
        chosen: JSONObject = found
        return chosen

    context = named("context", document["current-context"])
    return named("cluster", context["cluster"]), named("user", context["user"])


@cache  # building a context takes milliseconds, and thousands of tests ask for two of them
def _credentials(kubeconfig: Path) -> tuple[str, Mapping[str, str], ssl.SSLContext]:
    """The server, who asks, and whom to trust."""
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
