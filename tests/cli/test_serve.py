"""``dynkube serve`` as a process: its output, its kubeconfig, and how it stops."""

from __future__ import annotations

import base64
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import yaml

COMMAND = [sys.executable, "-m", "dynkube.cli", "serve"]


@dataclass
class Served:
    """A running ``dynkube serve``."""

    process: subprocess.Popen[str]
    url: str
    kubeconfig: Path

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate()
        return self.process.returncode, errors


@contextmanager
def serving(*arguments: str) -> Iterator[Served]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().removeprefix("Kubernetes API at ").strip()
            kubeconfig = process.stdout.readline().removeprefix("export KUBECONFIG=").strip()
            yield Served(process, url, Path(kubeconfig))
        finally:
            process.kill()


def failing(*arguments: str) -> str:
    """Return the stderr of a ``serve`` that cannot start."""
    ended = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


def test_the_url_and_a_working_kubeconfig_are_printed() -> None:
    with serving() as served:
        cluster = yaml.safe_load(served.kubeconfig.read_bytes())["clusters"][0]["cluster"]
        response = httpx2.get(f"{cluster['server']}/version")

    assert cluster["server"] == served.url
    assert response.json()["gitVersion"].startswith("v1.")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server_without_output_and_removes_the_kubeconfig(number: signal.Signals) -> None:
    with serving() as served:
        ended = served.stop(number)

    assert ended == (0, "")
    assert not served.kubeconfig.exists()


def test_the_server_stops_despite_an_open_watch() -> None:
    with serving() as served, httpx2.stream("GET", f"{served.url}/api/v1/pods?watch=1", timeout=30) as watch:
        assert watch.status_code == 200
        ended = served.stop()

    assert ended == (0, "")


def test_the_kubeconfig_is_written_to_the_given_path_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "kube config"

    with serving("--kubeconfig-out", str(path)) as served:
        printed = served.kubeconfig
        served.stop()

    assert str(printed) == f"'{path}'", "quoted for the shell"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_kubeconfig_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "config"

    with serving("--kubeconfig-out", str(path)) as first:
        first.stop()
    with serving("--kubeconfig-out", str(path)) as second:
        assert yaml.safe_load(path.read_bytes())["clusters"][0]["cluster"]["server"] == second.url


@pytest.mark.parametrize("content", ["notes: mine\n", "contexts: [{name: prod}]\nclusters: [{name: prod}]\n", "[", ""])
def test_a_file_not_written_by_serve_is_not_overwritten(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content)

    message = failing("--kubeconfig-out", str(path))

    assert f"--kubeconfig-out {path}: exists and was not written by dynkube serve" in message
    assert path.read_text() == content


def test_the_error_for_a_missing_directory_names_it(tmp_path: Path) -> None:
    message = failing("--kubeconfig-out", str(tmp_path / "none" / "config"))

    assert f"the directory {tmp_path / 'none'} does not exist" in message


def test_the_error_for_a_port_in_use_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        message = failing("--port", str(port))

    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another --host or --port" in message


def test_the_error_for_an_invalid_host_names_it() -> None:
    assert "host 'no.such.host.invalid'" in failing("--host", "no.such.host.invalid")


def test_with_tls_and_a_token_the_token_is_required() -> None:
    with serving("--tls", "--token", "secret") as served:
        config = yaml.safe_load(served.kubeconfig.read_bytes())
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        trusting = ssl.create_default_context(cadata=authority)
        url = f"{served.url}/api/v1/namespaces"
        unauthorized = httpx2.get(url, verify=trusting)
        token = config["users"][0]["user"]["token"]
        authorized = httpx2.get(url, verify=trusting, headers={"Authorization": f"Bearer {token}"})

    assert served.url.startswith("https://")
    assert (unauthorized.status_code, authorized.status_code) == (401, 200)


def test_listening_on_all_addresses_without_a_token_prints_a_warning() -> None:
    with serving("--host", "0.0.0.0") as served:
        code, errors = served.stop()

    assert code == 0
    assert errors == "warning: any client that reaches this address has full access; pass --token to restrict it\n"


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("dynkube_testing", ["demo"]),
        ("dynkube_testing", ["serve"]),
        ("h11", ["serve", "--port=0"]),
        ("trustme", ["serve", "--tls"]),
    ],
)
def test_without_the_embedded_server_the_error_says_how_to_install_it(package: str, arguments: list[str]) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from dynkube.cli import main; sys.exit(main({arguments!r}))"

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (1, "")
    missing = package.replace("_", "-")
    assert ended.stderr == f"error: dynkube {arguments[0]} requires {missing}: pip install 'dynkube[cli,testing]'\n"


def test_accept_hosts_adds_hosts() -> None:
    with serving("--accept-hosts", "dev.box,[a-z]+[.]lan", "other.example") as served:
        codes = [
            httpx2.get(f"{served.url}/version", headers={"Host": host}).status_code
            for host in ("dev.box", "a.lan:1", "other.example", "evil.example")
        ]

    assert codes == [200, 200, 200, 403]


def test_an_invalid_expression_for_hosts_is_rejected() -> None:
    assert "--accept-hosts has '(': error parsing regexp: missing closing ): `(`" in failing("--accept-hosts", "(")


def test_a_token_without_tls_prints_that_kubectl_does_not_send_it() -> None:
    with serving("--token", "secret") as served:
        code, errors = served.stop()

    assert code == 0
    assert errors == "warning: kubectl sends tokens over HTTPS only: pass --tls to use it with this server\n"
