"""``dynkube run``: loads controllers, and runs them until a signal."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import httpx2
import pytest
import trio

from dynkube.cli._run import CommandFailed
from dynkube.cli._targets import load_operator
from dynkube_testing import APIServer
from tests.cli.processes import dynkube
from tests.informers.kit import WIDGETS, crd, widget

PROGRAM = f"""
from dynkube.controllers import Controller

async def reconcile(ctx, key):
    print("reconciled", key, flush=True)

widgets = Controller("{WIDGETS}", reconcile)
others = [widgets, Controller("configmaps", reconcile, name="others")]
nothing = []
number = 3
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "my_operator.py"
    path.write_text(PROGRAM)
    return str(path)


# ── loading ──────────────────────────────────────────────────────────────────────────────────


def names(*targets: str) -> list[str]:
    return [controller.name for controller in load_operator(targets).controllers]


def test_without_a_name_all_controllers_of_a_file_are_loaded(program: str) -> None:
    assert names(program) == [WIDGETS]


def test_a_name_may_be_that_of_a_controller_or_of_a_list(program: str) -> None:
    assert names(f"{program}:widgets") == [WIDGETS]
    assert names(f"{program}:others") == [WIDGETS, "others"]


def test_a_module_is_found_in_the_current_directory(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(program).parent)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))

    assert names("my_operator:widgets", "my_operator:widgets") == [WIDGETS]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module", "there is no module 'no_such_module' here: pass MODULE:NAME or FILE.py:NAME"),
        ("no_such_package.module", "there is no module 'no_such_package.module' here"),
        ("nothing.py", "there is no file nothing.py: pass MODULE:NAME"),
        (":widgets", "':widgets' names no module"),
        ("json", "json has no controllers: define one"),
        ("{program}:widgetz", "my_operator.py has no 'widgetz'; its controllers are widgets$"),
        ("{program}:number", "my_operator.py:number is an int: pass the name of a Controller, or of a list"),
        ("{program}:nothing", "my_operator.py:nothing is a list: pass the name of a Controller"),
    ],
)
def test_errors_of_loading_name_the_target(target: str, message: str, program: str) -> None:
    with pytest.raises(CommandFailed, match=message):
        names(target.format(program=program))


def test_an_exception_in_the_module_keeps_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_dependency")

    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        names(str(tmp_path / "broken.py"))


def test_the_lifespan_of_a_module_is_found_by_its_name(program: str) -> None:
    assert load_operator([program]).lifespan is None
    with Path(program).open("a") as file:
        file.write("def lifespan(client): ...\n")

    loaded = load_operator([f"{program}:widgets", f"{program}:others"])

    assert [controller.name for controller in loaded.controllers] == [WIDGETS, "others"]
    assert getattr(loaded.lifespan, "__name__", None) == "lifespan"


def test_two_modules_with_lifespans_are_rejected(program: str, tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(PROGRAM + "def lifespan(client): ...\n")

    with pytest.raises(CommandFailed, match=r"one.py and .*two.py both define a lifespan"):
        load_operator([str(tmp_path / "one.py"), str(tmp_path / "two.py")])


# ── the command ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_objects_are_reconciled_until_a_signal_and_the_lease_is_released(
    number: signal.Signals, program: str, server: APIServer
) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with server.serve() as endpoint:
        arguments = ("--lease", "default/sites", "--url", endpoint.url, "--log-format", "json")
        async with dynkube("run", f"{program}:widgets", *arguments) as command:
            assert await command.line() == "reconciled default/a"
            code, _, errors = await command.stop(number)

    assert code == 0
    assert {"dynkube.controllers", "dynkube.informers"} <= {json.loads(line)["logger"] for line in errors.splitlines()}
    assert server.get("leases.coordination.k8s.io", "sites")["spec"]["holderIdentity"] == ""


@pytest.mark.real_time
async def test_probes_and_metrics_are_served_on_the_given_address(program: str, server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    (free,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = free.socket.getsockname()[1]
    await free.aclose()
    async with (
        server.serve() as endpoint,
        dynkube("run", program, "--listen", f"127.0.0.1:{port}", "--url", endpoint.url) as command,
        httpx2.AsyncClient() as http,
    ):
        await command.line()
        ready = await http.get(f"http://127.0.0.1:{port}/readyz")
        metrics = await http.get(f"http://127.0.0.1:{port}/metrics")

    assert ready.text == "ok"
    assert "controller_runtime_reconcile_total{" in metrics.text
    assert "process_cpu_seconds_total" in metrics.text


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: pass the controllers to run, as MODULE:NAME or FILE.py:NAME"),
        (("x", "--listen", "localhost:1"), "error: --listen localhost:1: host='localhost': pass an IP address"),
        (("x", "--listen", "a:b"), "error: --listen a:b: pass a port, like 8080, or an address and a port"),
        (("x", "--lease", "Sites"), "error: --lease Sites: name='Sites': pass a lowercase DNS name"),
        (("no_such_module",), "error: there is no module 'no_such_module' here"),
    ],
)
async def test_invalid_arguments_are_rejected(arguments: tuple[str, ...], message: str) -> None:
    async with dynkube("run", *arguments, "--url", "http://127.0.0.1:1") as command:
        code, _, errors = await command.ended()

    assert (code, errors.startswith(message)) == (1, True), errors


LIFESPAN = """
from contextlib import asynccontextmanager

@asynccontextmanager
async def lifespan(client):
    print("entered", flush=True)
    yield "state"
    print("exited", flush=True)

async def shows_state(ctx, key):
    print("reconciled with", ctx.state, flush=True)

widgets = Controller("widgets.v1.example.com", shows_state)
"""


@pytest.fixture
def program_with_lifespan(program: str) -> str:
    Path(program).write_text(PROGRAM + LIFESPAN)
    return program


@pytest.mark.real_time
async def test_the_lifespan_of_the_module_is_entered_and_exited(program_with_lifespan: str, server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with (
        server.serve() as endpoint,
        dynkube("run", f"{program_with_lifespan}:widgets", "--url", endpoint.url) as command,
    ):
        assert [await command.line(), await command.line()] == ["entered", "reconciled with state"]
        code, rest, _ = await command.stop(signal.SIGTERM)

    assert (code, rest.split()) == (0, ["exited"])
