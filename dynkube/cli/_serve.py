"""``dynkube serve``: the embedded API server on TCP, for any client."""

from __future__ import annotations

import errno
import ipaddress
import secrets
import shlex
import signal
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import trio
from cyclopts import Parameter
from cyclopts.validators import Number

from dynkube._input_files import read_file
from dynkube._text.tables import printable
from dynkube.cli._notes import note
from dynkube.cli._packages import embedded_server_required
from dynkube.cli._run import CommandFailed
from dynkube.cli._state import StateFile
from dynkube.cli._state import load as load_manifests
from dynkube.meta._yaml import loading as yaml

if TYPE_CHECKING:
    from dynkube_testing import APIServer, Endpoint, User

_CONTEXT = "dynkube"
_CANNOT_LISTEN = {errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EAFNOSUPPORT}


async def serve(
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 0,
    tls: Annotated[bool, Parameter(negative="")] = False,
    token: Annotated[str | None, Parameter(env_var="DYNKUBE_SERVE_TOKEN")] = None,
    user: Annotated[list[str] | None, Parameter(negative="")] = None,
    rbac: Annotated[bool, Parameter(negative="")] = False,
    accept_hosts: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    load: Annotated[list[Path] | None, Parameter(consume_multiple=True, negative="")] = None,
    state: Path | None = None,
    save_every: Annotated[float, Parameter(validator=Number(gt=0))] = 10.0,
    kubeconfig_out: Annotated[Path | None, Parameter(name=("--kubeconfig-out", "--kubeconfig"))] = None,
    stats: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Run a small in-memory Kubernetes API server until Ctrl-C.

    kubectl and other clients can use it: CRDs, watches, server-side apply. Its data is lost when it stops, unless
    --state names a file to keep it in.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0 picks a free one.
        tls: Serve HTTPS, with a certificate authority generated for this run.
        token: Require this bearer token, which has all permissions. kubectl sends tokens over HTTPS only: add --tls.
        user: Additional user, as NAME=TOKEN; may be repeated. The administrator then gets a generated token, in the
            kubeconfig.
        rbac: Enforce RBAC by the stored roles and bindings, with the default roles of a cluster.
        accept_hosts: Host names allowed in requests besides loopback and --host: names, or regular expressions for
            whole names, separated by commas or spaces. Without --token and --user all others are refused, as are web
            pages of other origins: they could make a browser on this machine read and write everything.
        load: Manifests (YAML or JSON files, or folders of them) to create or replace at startup.
        state: File that keeps the stored objects, with UIDs and resourceVersions: read at startup if it exists, written
            periodically and on exit. Writes are atomic: a crash loses the last seconds, not the file.
        save_every: Seconds between writes to --state; nothing is written if nothing changed.
        kubeconfig_out: File to write the kubeconfig to; by default a temporary file, removed on exit.
        stats: On exit, print the number of watches of each client: opened in total, and at most at once.
    """
    with _kubeconfig_path(kubeconfig_out) as path, embedded_server_required("serve"), _readable_errors():
        from dynkube_testing import APIServer

        users = _users(user or ())
        token = token or (secrets.token_urlsafe() if users else None)
        async with APIServer(token=token, users=users, rbac=rbac) as server:
            file = StateFile(server, state, every=save_every)
            with file.held():
                file.restore()
                load_manifests(server, load or ())
                try:
                    hosts = [name for given in accept_hosts or () for name in given.split(",") if name]
                    async with (
                        server.serve(host=host, port=port, tls=tls, accept_hosts=hosts) as endpoint,
                        file.saving(),
                    ):
                        _write(endpoint, path)
                        await _announce_and_wait(endpoint, path, _warnings(host, token, tls=tls))
                        # From here on Ctrl-C raises KeyboardInterrupt again, in case that closing takes too long.
                        if stats:
                            _print_watches(server)
                finally:
                    file.save()  # after the last write of a client


async def _announce_and_wait(endpoint: Endpoint, kubeconfig: Path, warnings: Iterable[str]) -> None:
    """Print the address of the server, and wait for SIGINT or SIGTERM."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        print(f"Kubernetes API at {endpoint.url}")
        print(f"export KUBECONFIG={shlex.quote(str(kubeconfig))}", flush=True)
        for warning in warnings:
            note(f"warning: {warning}")
        async for _ in signals:
            break


def _warnings(host: str, token: str | None, *, tls: bool) -> Iterator[str]:
    """Yield what a user may not expect of these options."""
    if token is None and not _is_loopback(host):
        yield "any client that reaches this address has full access; pass --token to restrict it"
    if token is not None and not tls:  # kubectl fails as "Unauthorized" or "unknown", without the reason
        yield "kubectl sends tokens over HTTPS only: pass --tls to use it with this server"


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn errors that prevent listening into CommandFailed."""
    try:
        yield
    except OSError as error:
        if error.errno not in _CANNOT_LISTEN:
            raise
        raise CommandFailed(
            f"{error.strerror or error}; choose another --host or --port (0 picks a free one)"
        ) from error


def _users(pairs: Sequence[str]) -> dict[str, User]:
    """Parse NAME=TOKEN pairs; return the users by token."""
    from dynkube_testing import User

    users: dict[str, User] = {}
    for pair in pairs:
        name, equals, token = pair.partition("=")
        if not (name and equals and token):
            raise CommandFailed(f"--user {name}: pass NAME=TOKEN, like alice=secret")
        if token in users:
            raise CommandFailed(f"--user {name}: has the same token as {users[token].name}; pass another one")
        users[token] = User(name)
    return users


def _print_watches(server: APIServer) -> None:
    for count in server.watch_counts:
        numbers = f"opened={count.opened} most={count.most} open={count.open}"
        print(f"watches  {count.resource}  {numbers}  {printable(count.user_agent)}", flush=True)


@contextmanager
def _kubeconfig_path(wanted: Path | None) -> Iterator[Path]:
    """Yield the path of the kubeconfig, checked before the server starts.

    A temporary file if none is wanted.
    """
    if wanted is None:
        with tempfile.TemporaryDirectory(prefix="dynkube-") as directory:
            yield Path(directory, "kubeconfig")
        return
    path = wanted.absolute()
    if not path.parent.is_dir():
        raise CommandFailed(f"--kubeconfig-out {path}: the directory {path.parent} does not exist")
    if path.exists() and not _is_ours(path):
        raise CommandFailed(
            f"--kubeconfig-out {path}: exists and was not written by dynkube serve; choose another path or remove it"
        )
    yield path


def _write(endpoint: Endpoint, path: Path) -> None:
    try:
        endpoint.write_kubeconfig(path, context=_CONTEXT)
    except OSError as error:
        raise CommandFailed(f"--kubeconfig-out {path}: cannot be written: {error.strerror or error}") from error


def _is_ours(path: Path) -> bool:
    """Return whether the file may be overwritten: a kubeconfig with only the context of ``dynkube serve``."""
    try:
        content: Any = yaml.load_document(read_file(path, limit=yaml.MAX_CONFIG_BYTES))
        return (
            [context["name"] for context in content["contexts"]]
            == [_CONTEXT]
            == [cluster["name"] for cluster in content["clusters"]]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
