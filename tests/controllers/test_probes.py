"""``/livez``, ``/readyz`` and ``/metrics``: their responses in every state of the controllers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
import trio
from prometheus_client import CollectorRegistry

import dynkube
from dynkube.controllers import Controller, ControllerStatus, StatusServer, run
from dynkube.controllers._probes import ProbeApp
from dynkube.errors import ConfigError, InvalidInput
from dynkube.telemetry import PrometheusMetrics
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget


class Probed:
    """Controllers, and an HTTP client of their probes."""

    def __init__(self, *controllers: Controller, **checks: Callable[[], object]) -> None:
        self.controllers = controllers
        self.well = True
        app = ProbeApp(self, checks, None)
        self._http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://pod")

    def statuses(self) -> list[ControllerStatus]:
        return [each.status() for each in self.controllers]

    def healthy(self) -> bool:
        return self.well

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        response = await self._http.request(method, path)
        return response.status_code, response.text


async def test_a_controller_is_ready_once_its_informers_are_synced(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    controller = Controller(WIDGETS, Calls())
    probed = Probed(controller)
    before = await probed.get("/readyz")
    async with running(client, controller):
        await quiet(1)
        during = await probed.get("/readyz")

    assert before == (500, "[-]widgets.v1.example.com failed: the controller is stopped\nreadyz check failed\n")
    assert during == (200, "ok")


async def test_an_absent_resource_does_not_delay_readiness(client: dynkube.Client) -> None:
    controller = Controller(WIDGETS, Calls())
    async with running(client, controller):
        await quiet(1)
        assert await Probed(controller).get("/readyz") == (200, "ok")


async def test_an_informer_that_may_not_list_is_listed_with_its_reason(
    server: APIServer, client: dynkube.Client
) -> None:
    server.create(crd())
    server.fail(resource="widgets", status=403)
    controller = Controller(WIDGETS, Calls())
    async with running(client, controller):
        await quiet(1)
        code, text = await Probed(controller).get("/readyz")

    assert code == 500
    assert "[-]widgets.v1.example.com failed: widgets.v1.example.com is DEGRADED (Forbidden)\n" in text


async def test_a_controller_that_stops_is_not_ready(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    controller = Controller(WIDGETS, Calls(seconds=30))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, client, controller)
        await quiet(1)
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await trio.testing.wait_all_tasks_blocked()
            code, text = await Probed(controller).get("/readyz")

    assert (code, "the controller is stopping" in text) == (500, True)


async def test_the_process_is_alive_unless_its_work_continues_after_the_lease_was_lost(client: dynkube.Client) -> None:
    probed = Probed()
    assert [await probed.get(path) for path in ("/livez", "/healthz")] == [(200, "ok")] * 2
    probed.well = False

    text = "[+]ping ok\n[-]leader-election failed: the lease has expired, and reconciles are still running\n"
    assert await probed.get("/livez") == (500, text + "livez check failed\n")
    assert await probed.get("/livez/ping") == (200, "ok")
    assert (await probed.get("/livez/leader-election"))[0] == 500
    assert await probed.get("/livez?exclude=leader-election") == (200, "ok")


async def test_verbose_lists_all_checks(client: dynkube.Client) -> None:
    probed = Probed(a=lambda: True, b=lambda: None)

    expected = "[+]a ok\n[+]b ok\nreadyz check passed\n"
    assert await probed.get("/readyz?verbose") == (200, expected)
    assert await probed.get("/readyz?verbose&exclude=b") == (200, expected.replace("b ok", "b excluded: ok"))


def raises() -> None:
    raise KeyError("the password is 12345")


@pytest.mark.parametrize(("check", "problem"), [(lambda: False, "returned False"), (raises, "KeyError")])
async def test_a_readiness_check_fails_by_returning_false_or_raising(
    check: Callable[[], object], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    code, text = await Probed(database=check).get("/readyz")

    assert (code, text) == (500, f"[-]database failed: {problem}\nreadyz check failed\n")
    assert ("12345" in caplog.text) is (check is raises)


@pytest.mark.parametrize("path", ["/", "/nothing", "/metrics", "/readyz/nothing", "/livez/nothing"])
async def test_other_paths_are_404(path: str) -> None:
    assert (await Probed().get(path))[0] == 404


async def test_head_has_no_body_and_other_methods_are_not_allowed() -> None:
    assert await Probed().get("/readyz", "HEAD") == (200, "")
    assert (await Probed().get("/readyz", "POST"))[0] == 405


# ── over TCP ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics(CollectorRegistry())


@pytest.fixture
async def observed(server: APIServer, metrics: PrometheusMetrics) -> AsyncIterator[dynkube.Client]:
    async with dynkube.connect(transport=server.transport(), observers=[metrics]) as client:
        yield client


@pytest.mark.real_time
async def test_run_serves_probes_and_metrics_until_it_ends(
    server: APIServer, observed: dynkube.Client, metrics: PrometheusMetrics
) -> None:
    server.create(crd())
    called = trio.Event()

    async def reconcile(ctx: object, key: object) -> None:
        await trio.lowlevel.checkpoint()
        called.set()

    async def start(task_status: trio.TaskStatus[str | None]) -> None:
        settings = StatusServer(host="127.0.0.1", port=0, metrics=metrics)
        await run(observed, Controller(WIDGETS, reconcile), server=settings, task_status=task_status)

    async with trio.open_nursery() as nursery, httpx2.AsyncClient() as http:
        url = await nursery.start(start)
        server.create(widget("a"))
        await called.wait()
        assert [(await http.get(f"{url}/{path}")).text for path in ("livez", "readyz")] == ["ok", "ok"]
        page = (await http.get(f"{url}/metrics")).text
        assert 'controller_runtime_active_workers{controller="widgets.v1.example.com"}' in page
        nursery.cancel_scope.cancel()

    with trio.CancelScope(shield=True), pytest.raises(httpx2.ConnectError):
        await httpx2.AsyncClient().get(f"{url}/readyz")


@pytest.mark.real_time
async def test_an_address_in_use_is_an_error_at_once(client: dynkube.Client) -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        port = listener.socket.getsockname()[1]
        server = StatusServer(host="127.0.0.1", port=port)
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            await run(client, Controller(WIDGETS, Calls()), server=server)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"host": "example.com"}, "host='example.com': pass an IP address"),
        ({"host": 1}, "host=1: pass an IP address"),
        ({"port": 65536}, "port=65536: pass a number"),
        ({"port": True}, "port=True: pass a number"),
        ({"checks": [print]}, "checks is .*: pass a mapping"),
        ({"checks": {"a": 1}}, "checks has 'a': .*pass a mapping"),
        ({"metrics": CollectorRegistry()}, "metrics is .*: pass a PrometheusMetrics"),
    ],
)
def test_invalid_settings_are_rejected(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        StatusServer(**given)  # type: ignore[arg-type]


async def test_a_server_of_another_type_is_rejected(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match=r"server is .*: pass StatusServer"):
        await run(client, Controller(WIDGETS, Calls()), server=":8080")  # type: ignore[arg-type]
