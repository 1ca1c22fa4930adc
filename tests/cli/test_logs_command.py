"""``dynkube logs``: lines on stdout, announcements on stderr, arguments, ends."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import trio

from dynkube import connect
from dynkube.cli import main
from dynkube.cli._log_text import JSONObjects, TextLines, coloured, raw_line
from dynkube.cli._logs import Reading, read_arguments, read_since, run_logs
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput
from dynkube.pods import LogLine
from dynkube.pods._logs.options import LogOptions
from dynkube_testing import APIServer, Refuse
from tests.cli.processes import dynkube
from tests.pods.logs.kubelet import Clock, Kubelet, pod

LOG = "/api/v1/namespaces/default/pods/web-1/log"
PLAIN = TextLines(terminal=False, coloured=False, namespaces=False)


def line(text: str | bytes, **fields: Any) -> LogLine:
    raw = text.encode() if isinstance(text, str) else text
    return LogLine(raw=raw, **{"pod": "web-1", "namespace": "shop", "container": "app", **fields})


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer(now=Clock()) as server:
        yield server


def start(server: APIServer, name: str, *lines: str) -> Kubelet:
    server.create(pod(name))
    kubelet = Kubelet(server, name)
    kubelet.start()
    kubelet.write(*lines)
    return kubelet


async def run(server: APIServer, arguments: Reading) -> None:
    await run_logs(connect(url=server.url, transport=server.transport()), arguments, Output(1), PLAIN)


async def test_lines_are_on_stdout_and_containers_that_come_and_go_on_stderr(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    start(server, "web-1", "one", "two")
    with trio.move_on_after(100):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, server, Reading(labels="app=web"))
            await trio.sleep(1)
            start(server, "web-2", "three")
            server.delete("pods", "web-1")

    out, err = capfd.readouterr()
    assert out == "web-1 app one\nweb-1 app two\nweb-2 app three\n"
    assert err == "+ default/web-1 app\n+ default/web-2 app\n- default/web-1 app: the pod was deleted\n"


async def test_no_follow_ends_with_what_was_written(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    start(server, "web-1", "one", "two")
    start(server, "db-1", "three")

    await run(server, Reading(names="^web", options=LogOptions(tail=1)))

    assert capfd.readouterr().out == "web-1 app two\n"
    with pytest.raises(CommandFailed, match="there are no such pods"):
        await run(server, Reading(labels="app=none", options=LogOptions()))


async def test_a_log_that_is_not_read_says_so_once_for_each_reason(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    start(server, "web-1")
    for seconds, message in ((60, "no kubelet"), (120, "no route")):
        server.inject(Refuse(500, message=message), path_prefix=LOG, duration=seconds)
    with trio.move_on_after(200):
        await run(server, Reading(names="web"))

    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"! default/web-1 app: 500 InternalError: no kubelet [GET {LOG} (watch)]; it is requested again",
        f"! default/web-1 app: 500 InternalError: no route [GET {LOG} (watch)]; it is requested again",
        "+ default/web-1 app",
    ]


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize(
    ("names", "container", "message"),
    [
        ("web-9", None, "no pod in namespace 'default' has a name that matches 'web-9': pass that of a pod"),
        ("web-1", "side", "no container has a name that matches -c 'side': pass one of app"),
    ],
)
async def test_a_name_of_nothing_is_an_error(
    server: APIServer, follow: bool, names: str, container: str | None, message: str
) -> None:
    start(server, "web-1")

    with pytest.raises(CommandFailed, match=message):
        await run(server, Reading(names=names, containers=container, options=LogOptions(follow=follow)))


async def test_no_follow_fails_if_a_log_was_not_read(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    start(server, "web-1")
    start(server, "web-2", "two")
    server.create(pod("web-3"))
    server.inject(Refuse(500, message="no kubelet"), path_prefix=LOG)

    with pytest.raises(CommandFailed, match="1 log was not read: default/web-1 app"):
        await run(server, Reading(names="web", options=LogOptions()))

    out, err = capfd.readouterr()
    assert out == "web-2 app two\n"
    assert sorted(line[:19] for line in err.splitlines()) == [
        "! default/web-1 app",
        "+ default/web-2 app",
        "- default/web-2 app",
        "- default/web-3 app",
    ]
    assert "no node; --follow waits for it" in err


async def test_no_pods_are_waited_for(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    with trio.move_on_after(100):
        await run(server, Reading(labels="app=web"))

    assert capfd.readouterr() == ("", "no container of such a pod has started: waiting\n")


@pytest.mark.real_time
async def test_ctrl_c_ends_logs_with_130() -> None:
    async with APIServer() as server, server.serve() as endpoint:
        start(server, "web-1", "hello")
        async with dynkube("logs", "app=web", "--url", endpoint.url) as command:
            first = await command.line()
            code, out, err = await command.stop(signal.SIGINT)

    assert (first, code, out, err) == ("web-1 app hello", 130, "", "+ default/web-1 app\n")


@pytest.mark.real_time
async def test_a_closed_pipe_ends_logs_with_141() -> None:
    async with APIServer() as server, server.serve() as endpoint:
        kubelet = start(server, "web-1", "hello")
        async with dynkube("logs", "web", "-o", "raw", "--url", endpoint.url) as command:
            assert await command.line() == "hello"
            await command.close_stdout()
            kubelet.write("not read")

            assert (await command.ended())[0] == 141


# ── text ─────────────────────────────────────────────────────────────────────────────────────


def test_on_a_terminal_control_characters_are_replaced_and_colours_kept() -> None:
    text = TextLines(terminal=True, coloured=True, namespaces=True)

    shown = text(line("\x1b[2J\x1b[31mred\x1b[0m\tend\u202e\r")).decode()

    assert shown == f"{coloured('shop/web-1 app', 'web-1')} �[2J\x1b[31mred\x1b[0m\tend�\x1b[0m"
    assert text(line("plain")).decode() == f"{coloured('shop/web-1 app', 'web-1')} plain"


def test_without_colours_those_of_the_log_are_removed() -> None:
    text = TextLines(terminal=True, coloured=False, namespaces=False)

    assert text(line("\x1b[31mred\x1b[0m \x07")) == "web-1 app red �".encode()


def test_through_a_pipe_the_bytes_of_the_container_are_kept() -> None:
    assert PLAIN(line(b"caf\xe9\x1b[1m")) == b"web-1 app caf\xe9\x1b[1m"
    assert raw_line(line(b"caf\xe9", timestamp_ns=5)) == b"1970-01-01T00:00:00.000000005Z caf\xe9"


def test_the_colour_of_a_pod_is_always_the_same_one() -> None:
    assert coloured("x", "web-1") == "\x1b[93mx\x1b[0m"
    assert len({coloured("x", f"web-{number}") for number in range(100)}) == 10


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"time":"12:00","level":"info","msg":"hello you","user":"a b","n":1.5}', 'INFO hello you user="a b" n=1.5'),
        ('{"message":{"a":[1]},"x":null}', '{"a":[1]} x=null'),
        ('{"broken', '{"broken'),
        ("[1]", "[1]"),
    ],
)
def test_lines_that_are_json_objects_are_readable(text: str, shown: str) -> None:
    parsed = TextLines(terminal=False, coloured=False, namespaces=False, parse=True)

    assert parsed(line(text)).decode() == f"web-1 app {shown}"


def test_only_some_fields_are_shown() -> None:
    parsed = TextLines(terminal=False, coloured=False, namespaces=False, fields=["msg", "n"])

    assert parsed(line('{"n":1,"msg":"hello","user":"a"}')) == b"web-1 app hello 1"


def test_json_objects_have_names_and_message() -> None:
    names = {"namespace": "shop", "pod": "web-1", "container": "app"}

    assert json.loads(JSONObjects()(line('{"a":1}'))) == {**names, "message": '{"a":1}'}
    assert json.loads(JSONObjects(parse=True)(line('{"a":1}', timestamp_ns=0))) == {
        **names,
        "timestamp": "1970-01-01T00:00:00.000000000Z",
        "message": {"a": 1},
    }


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def parse(pods: str, selector: str = "", **changed: Any) -> Reading:
    given = {"container": None, "namespace": None, "all_namespaces": False, "max_streams": 500, **changed}
    return read_arguments(pods, selector, options=LogOptions(), **given)


def test_the_argument_is_a_selector_an_owner_or_a_name() -> None:
    assert parse("app=web").labels == "app=web"
    assert parse("tier in (a,b)", "app=web").labels == "app=web,tier in (a,b)"
    assert parse("deploy/web").owner == "deploy/web"
    assert (parse("web-\\d", "app=web").names, parse("web-\\d", "app=web").labels) == ("web-\\d", "app=web")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["app==="], "PODS: "),
        (["(a|b"], "PODS '(a|b' is not a regular expression"),
        (["web", "-c", "("], "-c '(' is not a regular expression"),
        (["-n", "a", "-A"], "-n and -A are mutually exclusive"),
        (["deploy/web", "-A"], "-A and deploy/web are mutually exclusive"),
        (["--since", "5x"], "--since '5x' is neither a duration nor a time"),
        (["--tail=-1"], "--tail must be an integer >= 0, not -1"),
        (["-p"], "-p requires --no-follow"),
        (["--max-streams", "0"], "--max-streams must be an integer >= 1, not 0"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", *arguments, "--url", "http://127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_since_is_a_duration_or_a_time() -> None:
    assert (read_since("5m"), read_since("1h30m"), read_since("2d")) == (300.0, 5400.0, 172_800.0)
    assert read_since("2026-11-24T12:00:00Z") == datetime(2026, 11, 24, 12, tzinfo=UTC)
    for text in ("", "0s", "m", "2026-11-24"):
        with pytest.raises((CommandFailed, InvalidInput)):
            read_since(text)
