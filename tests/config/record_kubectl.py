"""Records what kubectl does with the kubeconfigs of ``kubeconfigs.py``.

    python -m tests.config.record_kubectl [--kubectl PATH] [--only TEXT]

gives each of them to kubectl, with a server that echoes what it receives, and writes the outcomes to
``kubectl_outcomes.json``: the namespace, and what the request carries, or ``"error"``. What a proxy does, and whether
the certificate of the server is accepted, is not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

from tests.config.kubeconfigs import Case, Place, cases

OUTCOMES = Path(__file__).with_name("kubectl_outcomes.json")


class Echo(BaseHTTPRequestHandler):
    """Answers with what it has received."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        seen: dict[str, object] = {"path": self.path.removesuffix("/echo")}
        seen["authorization"] = self.headers.get("Authorization", "")
        impersonation = [(name, value) for name, value in self.headers.items() if name.startswith("Impersonate-")]
        seen["impersonation"] = sorted([name.title(), value] for name, value in impersonation)
        assert isinstance(self.connection, ssl.SSLSocket)
        seen["certificate"] = bool(self.connection.getpeercert())
        seen["server_name"] = getattr(self.connection.context, "asked_for", "") or ""
        body = json.dumps(seen).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the base class
        """Print nothing."""


@contextmanager
def echoing() -> Iterator[Place]:
    """Serve on loopback, with TLS."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    # One request at a time, so the last handshake is that of the request.
    context.sni_callback = lambda connection, name, own: setattr(own, "asked_for", name)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield place(authority, f"https://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def place(authority: trustme.CA, server: str) -> Place:
    """Return a place with new client certificates."""
    own, other = authority.issue_cert("dev@example.org"), authority.issue_cert("ops@example.org")
    return Place(
        server=server,
        ca=authority.cert_pem.bytes().decode(),
        certificate=own.cert_chain_pems[0].bytes().decode(),
        key=own.private_key_pem.bytes().decode(),
        other_key=other.private_key_pem.bytes().decode(),
    )


def outcome(kubectl: str, case: Case) -> dict[str, Any] | str:
    """Give one case to kubectl."""
    with tempfile.TemporaryDirectory(prefix="kubeconfig-") as folder:
        variable = case.write(Path(folder))
        environment = {"KUBECONFIG": variable, "HOME": folder, "PATH": os.environ["PATH"]}

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [kubectl, *arguments], env=environment, capture_output=True, text=True, timeout=30,
                stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip

        echoed = run("get", "--raw", "/echo")
        if echoed.returncode:
            print(f"    {echoed.stderr.strip().splitlines()[-1][:200]}", file=sys.stderr)
            return "error"
        viewed = run("config", "view", "--minify", "--raw", "--output=json")
        contexts = json.loads(viewed.stdout)["contexts"] if viewed.returncode == 0 else None
        namespace = contexts[0]["context"].get("namespace", "default") if contexts else "default"
        return {"namespace": namespace, **{name: value for name, value in json.loads(echoed.stdout).items() if value}}


def main() -> None:
    """Record the outcomes."""
    parser = argparse.ArgumentParser(description="Record what kubectl does with kubeconfigs.")
    parser.add_argument("--kubectl", default=shutil.which("kubectl", path=str(Path(sys.executable).parent)))
    parser.add_argument("--only", default="", help="only cases whose name contains this; prints them, writes nothing")
    options = parser.parse_args()
    version = json.loads(subprocess.check_output([options.kubectl, "version", "--client", "--output=json"]))
    outcomes: dict[str, Any] = {}
    with echoing() as where:
        for name, case in cases(where).items():
            if options.only in name:
                print(name, file=sys.stderr)
                outcomes[name] = outcome(options.kubectl, case)
    lines = [
        f" {json.dumps(name, ensure_ascii=False)}: {json.dumps(found, ensure_ascii=False)}"
        for name, found in outcomes.items()
    ]
    text = "{\n" + ",\n".join([f' "kubectl": {json.dumps(version["clientVersion"]["gitVersion"])}', *lines]) + "\n}\n"
    if options.only:
        print(text)
    else:
        OUTCOMES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
