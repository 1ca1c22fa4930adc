"""``dynkube serve`` as a process: what it prints, what it serves, how it stops."""

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
        """Exit code and stderr."""
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
    """What stderr says of a serve that cannot start."""
    ended = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


def test_it_prints_where_it_is_and_a_kubeconfig_that_leads_there() -> None:
    with serving() as served:
        cluster = yaml.safe_load(served.kubeconfig.read_bytes())["clusters"][0]["cluster"]
        answer = httpx2.get(f"{cluster['server']}/version")

    assert cluster["server"] == served.url
    assert answer.json()["gitVersion"].startswith("v1.")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_without_a_word_and_without_a_trace(number: signal.Signals) -> None:
    with serving() as served:
        ended = served.stop(number)

    assert ended == (0, "")
    assert not served.kubeconfig.exists()


def test_an_open_watch_does_not_keep_it_from_stopping() -> None:
    with serving() as served, httpx2.stream("GET", f"{served.url}/api/v1/pods?watch=1", timeout=30) as watch:
        assert watch.status_code == 200
        ended = served.stop()

    assert ended == (0, "")


def test_the_kubeconfig_is_written_where_it_is_wanted_for_its_owner_only(tmp_path: Path) -> None:
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
def test_a_file_of_somebody_else_is_left_alone(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content)

    message = failing("--kubeconfig-out", str(path))

    assert f"--kubeconfig-out {path}: exists and was not written by dynkube serve" in message
    assert path.read_text() == content


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    message = failing("--kubeconfig-out", str(tmp_path / "none" / "config"))

    assert f"the directory {tmp_path / 'none'} does not exist" in message


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        message = failing("--port", str(port))

    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another --host or --port" in message


def test_a_host_that_is_none_of_this_machine_is_named() -> None:
    assert "host 'no.such.host.invalid'" in failing("--host", "no.such.host.invalid")


def test_with_tls_and_a_token_only_those_who_have_both_are_let_in() -> None:
    with serving("--tls", "--token", "secret") as served:
        config = yaml.safe_load(served.kubeconfig.read_bytes())
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        trusting = ssl.create_default_context(cadata=authority)
        url = f"{served.url}/api/v1/namespaces"
        refused = httpx2.get(url, verify=trusting)
        token = config["users"][0]["user"]["token"]
        answered = httpx2.get(url, verify=trusting, headers={"Authorization": f"Bearer {token}"})

    assert served.url.startswith("https://")
    assert (refused.status_code, answered.status_code) == (401, 200)


def test_listening_for_everybody_without_a_token_is_warned_of() -> None:
    with serving("--host", "0.0.0.0") as served:
        code, errors = served.stop()

    assert code == 0
    assert errors == "warning: any client that reaches this address has full access; pass --token to restrict it\n"


@pytest.mark.parametrize(("package", "option"), [("h11", "--port=0"), ("trustme", "--tls")])
def test_without_the_extra_it_says_how_to_install_it(package: str, option: str) -> None:
    script = (
        f"import sys; sys.modules[{package!r}] = None; "
        f"from dynkube.cli import main; sys.exit(main(['serve', {option!r}]))"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"error: dynkube serve requires {package}: pip install 'dynkube[cli,serve]'\n"


def test_a_host_is_answered_that_was_named() -> None:
    with serving("--accept-hosts", "dev.box,[a-z]+[.]lan", "other.example") as served:
        codes = [
            httpx2.get(f"{served.url}/version", headers={"Host": host}).status_code
            for host in ("dev.box", "a.lan:1", "other.example", "evil.example")
        ]

    assert codes == [200, 200, 200, 403]


def test_a_host_that_is_no_expression_is_refused_at_the_start() -> None:
    assert "--accept-hosts has '(': error parsing regexp: missing closing ): `(`" in failing("--accept-hosts", "(")
