"""F40: one log record for each change, with its facts as fields; repetitions are counted and not logged."""

from __future__ import annotations

import logging
from random import Random

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, GVR, LIVE, UNKNOWN, Client, Unstructured
from dynkube.informers._cache.failures import FailureLog
from dynkube.telemetry import Collection
from dynkube_testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, crd, pod, quiet, widget

pytestmark = pytest.mark.scenario("F40", "P8")


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="dynkube")


def levels_and_reasons(caplog: pytest.LogCaptureFixture, logger: str = "dynkube.informers") -> list[tuple[str, str]]:
    """Return the level and the reason of each record."""
    return [(record.levelname, getattr(record, "reason", "")) for record in caplog.records if record.name == logger]


async def test_each_change_in_the_life_of_an_informer_is_one_record(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with client.informer(WIDGETS, namespace="default") as widgets:
        await widgets.wait_state(ABSENT)
        server.create(crd())
        await widgets.wait_state(LIVE)
        fault = server.fail(resource="widgets", status=500)
        server.end_watches("widgets")
        await widgets.wait_state(DEGRADED)
        await trio.sleep(3600)
        fault.remove()
        await widgets.wait_state(LIVE)
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)

    assert levels_and_reasons(caplog) == [
        ("INFO", "CRDsPending"),
        ("INFO", "DiscoveryPending"),
        ("INFO", "AbsenceUnconfirmed"),  # until the APIServices are listed
        ("INFO", "CRDNotFound"),
        ("INFO", "NotEstablished"),
        ("INFO", "Listing"),
        ("INFO", "Watching"),
        ("WARNING", "InternalError"),
        ("INFO", "Watching"),
        ("INFO", "CRDNotFound"),
        ("INFO", "Closed"),
    ]
    phases = [vars(record)["phase"] for record in caplog.records]
    assert phases[4:] == ["ABSENT", "SYNCING", "LIVE", "DEGRADED", "LIVE", "ABSENT", "STOPPED"]
    assert [vars(record)["previous"] for record in caplog.records] == ["UNKNOWN", *phases[:-1]]
    assert {(vars(record)["gvr"], vars(record)["namespace"]) for record in caplog.records} == {(WIDGETS, "default")}


async def test_alternating_reasons_are_logged_once_each(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        for status in [500, 503] * 20:
            server.fail(resource="widgets", status=status, times=2)
        server.end_watches("widgets")
        await trio.sleep(900)

        assert [reason for level, reason in levels_and_reasons(caplog) if level == "WARNING"] == [
            "InternalError",
            "ServiceUnavailable",
        ]


async def test_a_quiet_hour_of_many_absent_informers_logs_nothing(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"things{number}.v1.example.com" for number in range(50)]
    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(client.informer(name).__aenter__)
    await quiet()
    caplog.clear()

    await trio.sleep(3600)

    assert levels_and_reasons(caplog) == []


async def test_a_handler_that_always_fails_is_logged_at_powers_of_two(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(100):
        server.create(pod(f"p{number}"))

    async with client.informer("pods.v1") as pods:
        handle = pods.add_handler(on_add=lambda obj: obj["no such field"], name="mine")
        await pods.wait_synced()

    records = [vars(record) for record in caplog.records if record.levelno == logging.ERROR]
    assert [record["count"] for record in records] == [1, 2, 4, 8, 16, 32, 64]
    assert {(r["gvr"], r["handler"], r["error"]) for r in records} == {("pods.v1", "mine", "KeyError")}
    assert handle.statistics().errors == 100


def test_256_kinds_of_failures_are_logged_as_errors_once_each_and_one_more_resets_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = FailureLog(Collection(gvr=GVR("", "v1", "pods")))

    for number in [*range(256), *range(256), 256, 0]:
        failures.function_failed(f"filter {number}", ValueError())

    logged = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [text.split()[3] for text in logged] == [str(number) for number in [*range(257), 0]]


async def test_crds_that_may_not_be_watched_are_logged_once(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    fault = server.fail(resource="customresourcedefinitions", status=403)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        await trio.sleep(3600)
        fault.remove()
        await trio.sleep(3600)

        records = [record for record in caplog.records if vars(record).get("gvr", "").startswith(CRDS)]
        assert [record.levelname for record in records] == ["WARNING", "INFO"]
        assert "polling discovery as well" in records[0].getMessage()


async def test_crds_that_cannot_be_read_again_are_logged_again(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        for _ in range(2):
            with server.fail(resource=CRDS, status=403):
                server.end_watches(CRDS)
                await trio.sleep(600)
            await trio.sleep(600)

    texts = [record.getMessage().partition(" (")[0] for record in caplog.records]
    assert [text for text in texts if "be read" in text] == ["CRDs cannot be read", "CRDs can be read again"] * 2


async def test_a_failing_crd_filter_is_logged_once_for_each_crd(
    server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(crd_body: Unstructured) -> bool:
        raise KeyError("version")

    settings = dynkube.InformerSettings(random=Random(7), crd_filter=broken)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        server.create(crd())
        async with client.informer(WIDGETS) as widgets:
            for number in range(5):
                crd_body = server.get(CRDS, "widgets.example.com")
                server.update({**crd_body, "metadata": {**crd_body["metadata"], "labels": {"n": str(number)}}})
                await trio.sleep(1)
            assert (widgets.state.phase, widgets.state.reason) == (UNKNOWN, "CRDFilterFailed")

    assert sum(record.levelno == logging.ERROR for record in caplog.records) == 1


async def test_a_warning_in_each_response_is_logged_once(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "abc":
        await client.resource("pods.v1").create({**pod(name), "nonsense": 1})

    assert levels_and_reasons(caplog, "dynkube.rest") == [("WARNING", "")]
    assert client.statistics().warnings == 3


async def test_a_watch_that_cannot_be_resumed_for_an_hour_is_logged_once(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    async with client.resource(WIDGETS).watch() as events:
        server.create(widget("a"))
        await anext(events)
        server.fail(resource="widgets", status=503)
        server.end_watches("widgets", how="cut")
        with trio.move_on_after(3600):
            await anext(events)

    assert [record.levelname for record in caplog.records if record.name == "dynkube.client"] == ["INFO"]


async def test_no_record_contains_a_credential(server: APIServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="dynkube")
    token = "top-secret"
    server.fail(status=401, body=f"no such user: {token}", content_type="text/plain", times=3)
    connected = dynkube.connect(url="http://api.invalid", token=token, transport=server.transport())
    async with connected as client, client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)

    assert "401" in caplog.text
    assert token not in "".join(str(vars(record)) for record in caplog.records)
