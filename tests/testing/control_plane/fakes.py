"""Fake programs that start like the servers of a control plane, or fail like them."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

_PROGRAM = """#!{python} -IS
import os, sys

name, does = os.path.basename(sys.argv[0]), {does!r}
if "--version" in sys.argv:
    print("Kubernetes v1.36.3" if name.startswith("kube-") else "etcd Version: 3.6.16")
    sys.exit()

import signal, ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

flags = dict(argument.removeprefix("--").split("=", 1) for argument in sys.argv[1:])
held = open(does["holds"], "w") if does["holds"] else None
if does["prints"]:
    print(does["prints"], flush=True)
if does["exits"] is not None:
    sys.exit(does["exits"])
if does["ignores_sigterm"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
once = Path(__file__).with_name("taken-once")
if does["port_taken_once"] and not once.exists():
    once.touch()
    sys.exit("listen tcp 127.0.0.1:1: bind: address already in use")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        status, text = does["responses"].get(self.path, (200, "ok"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass


port = flags["listen-client-urls"].rpartition(":")[2] if "listen-client-urls" in flags else flags["secure-port"]
server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
if name.startswith("kube-"):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=flags["client-ca-file"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(flags["tls-cert-file"], flags["tls-private-key-file"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """Behaviour of a fake program.

    Attributes:
        prints: Printed first.
        exits: Then exit with this code; ``None`` keeps running.
        responses: Status and body of responses by path; the default is 200 and ``ok``.
        ignores_sigterm: Ignore SIGTERM.
        port_taken_once: Fail on the first start, as if the port were in use.
        holds: A FIFO that the process keeps open for writing while it runs.
    """

    prints: str = ""
    exits: int | None = None
    responses: dict[str, tuple[int, str]] = field(default_factory=dict)
    ignores_sigterm: bool = False
    port_taken_once: bool = False
    holds: str = ""


def write_fakes(folder: Path, *, etcd: Fake | None = None, api_server: Fake | None = None, **others: Fake) -> Path:
    """Write etcd, kube-apiserver and the ``others`` into ``folder``, which is created if it does not exist; return it.

    ``others`` are ``controller_manager`` and ``scheduler``.
    """
    folder.mkdir(exist_ok=True)
    programs = {"etcd": etcd, "kube-apiserver": api_server}
    programs |= {f"kube-{name.replace('_', '-')}": fake for name, fake in others.items()}
    for name, fake in programs.items():
        path = folder / name
        path.write_text(_PROGRAM.format(python=sys.executable, does=asdict(fake or Fake())), encoding="utf-8")
        path.chmod(0o755)
    return folder
