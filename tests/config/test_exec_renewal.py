"""When a plugin is run again, and which callers share the run."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from dynkube.config import Anonymous, ClientCertificate, Combined, Credential, ExecCommand, ExecPlugin
from dynkube.config._exec import plugin_calls
from dynkube.errors import CredentialError

pytestmark = pytest.mark.real_time

Write = Callable[..., ExecCommand]
Runs = Callable[[], int]


def token(credential: Credential) -> str:
    return credential.headers["Authorization"].removeprefix("Bearer ")


async def test_without_an_expiry_the_plugin_runs_once(plugin: Write, runs: Runs, clock: Any) -> None:
    source = ExecPlugin(plugin("respond(token=f't{run}')"), now=clock)
    first = await source.current()

    clock.advance(days=1000)

    assert await source.current() is first
    assert runs() == 1


@pytest.mark.scenario("F24")
@pytest.mark.parametrize(("lifetime", "margin"), [(60, 6), (240, 24), (600, 60), (36000, 60)])
async def test_a_token_is_renewed_in_the_last_tenth_of_its_life_at_most_a_minute_early(
    plugin: Write, runs: Runs, clock: Any, lifetime: int, margin: int
) -> None:
    expiry = (clock() + timedelta(seconds=lifetime)).isoformat()
    source = ExecPlugin(plugin(f"respond(token=f't{{run}}', expirationTimestamp={expiry!r})"), now=clock)
    await source.current()

    clock.advance(seconds=lifetime - margin - 1)
    assert token(await source.current()) == "t1"
    clock.advance(seconds=1)
    assert token(await source.current()) == "t2"
    assert runs() == 2


async def test_if_an_early_renewal_fails_the_old_token_is_used_until_it_expires(
    plugin: Write, runs: Runs, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    expiry = (clock() + timedelta(seconds=60)).isoformat()
    source = ExecPlugin(
        plugin(f"respond(token='t', expirationTimestamp={expiry!r}) if run == 1 else sys.exit(1)"), now=clock
    )
    first = await source.current()

    clock.advance(seconds=55)
    with caplog.at_level(logging.WARNING):
        assert await source.current() is first
        assert await source.current() is first

    assert runs() == 2
    assert "failed with exit code 1; continuing with the credential that expires at" in caplog.text
    clock.advance(seconds=5)
    with pytest.raises(CredentialError, match="exit code 1"):
        await source.current()
    assert plugin_calls(source) == {(0, "no_error"): 1, (1, "plugin_execution_error"): 2}


@pytest.mark.scenario("F40")
async def test_runs_are_counted_by_outcome_for_combined_sources_too(plugin: Write, clock: Any) -> None:
    missing = ExecPlugin(ExecCommand(command="/nowhere/plugin", api_version="client.authentication.k8s.io/v1"))
    with pytest.raises(CredentialError):
        await missing.current()
    silent = ExecPlugin(plugin("pass"), now=clock)
    with pytest.raises(CredentialError):
        await silent.current()

    calls = plugin_calls(Combined(missing, Combined(silent, Anonymous())))

    assert calls == {(1, "plugin_not_found_error"): 1, (1, "client_internal_error"): 1}


@pytest.mark.scenario("F24")
async def test_a_certificate_is_renewed_at_its_expiry(
    plugin: Write, clock: Any, issue: Callable[[datetime], ClientCertificate]
) -> None:
    pairs = [issue(clock() + timedelta(hours=hours)) for hours in (1, 2)]
    statuses = [
        {"clientCertificateData": pair.certificate_pem.decode(), "clientKeyData": pair.key_pem.decode()}
        for pair in pairs
    ]
    source = ExecPlugin(plugin(f"respond(token='t', **{statuses!r}[run - 1])"), now=clock)

    first = await source.current()
    clock.advance(hours=1)
    second = await source.current()

    assert [first.certificate, second.certificate] == pairs
    assert token(first) == token(second) == "t"  # both a token and a certificate


async def test_concurrent_callers_share_one_run(plugin: Write, runs: Runs) -> None:
    source = ExecPlugin(plugin("respond(token=f't{run}')"))
    got = []

    async def get_credential() -> None:
        got.append(await source.current())

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(get_credential)

    assert len(got) == 5
    assert all(credential is got[0] for credential in got)
    assert runs() == 1


@pytest.mark.scenario("F24")
async def test_many_401s_cause_one_run_even_if_it_returns_the_same_token(plugin: Write, runs: Runs) -> None:
    source = ExecPlugin(plugin("respond(token='same')"))
    rejected = await source.current()
    got = []

    async def get_credential() -> None:
        got.append(await source.refresh(rejected))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(get_credential)

    assert [credential is rejected for credential in got] == [True] * 5
    assert runs() == 2


async def test_a_late_refresh_of_an_old_token_returns_the_new_one_without_a_run(plugin: Write, runs: Runs) -> None:
    source = ExecPlugin(plugin("respond(token=f't{run}')"))
    old = await source.current()
    new = await source.refresh(old)

    assert await source.refresh(old) is new
    assert token(new) == "t2"
    assert runs() == 2


async def test_a_failure_is_raised_for_all_waiting_callers_and_not_cached(plugin: Write, runs: Runs) -> None:
    source = ExecPlugin(plugin("sys.exit(1) if run == 1 else respond(token=f't{run}')"))
    failures = []

    async def get_credential() -> None:
        try:
            await source.current()
        except CredentialError as error:
            failures.append(error)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(get_credential)

    assert len(failures) == 5
    assert len({id(error) for error in failures}) == 5  # each with its own traceback
    assert runs() == 1
    assert token(await source.current()) == "t2"


@pytest.mark.scenario("F37")
async def test_if_the_caller_that_runs_the_plugin_is_cancelled_the_next_one_runs_it(
    plugin: Write, runs: Runs, tmp_path: Path
) -> None:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    source = ExecPlugin(
        plugin(f"if run == 1:\n    open({fifo!r}, 'w').close()\n    time.sleep(3600)\nrespond(token='t')")
    )
    got = []

    async def get_credential(scope: trio.CancelScope) -> None:
        with scope:
            got.append(token(await source.current()))

    first_scope = trio.CancelScope()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(get_credential, first_scope)
        started = await trio.to_thread.run_sync(open, fifo, abandon_on_cancel=True)
        started.close()
        nursery.start_soon(get_credential, trio.CancelScope())
        await trio.testing.wait_all_tasks_blocked()
        first_scope.cancel()

    assert first_scope.cancelled_caught
    assert got == ["t"]
    assert runs() == 2
