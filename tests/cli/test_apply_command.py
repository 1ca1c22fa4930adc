"""``dynkube apply`` as a command: its output, exit codes and invalid options."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from dynkube import Client, connect
from dynkube.cli import main
from dynkube.cli._apply import run_apply
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.manifests import ApplyRun
from dynkube_testing import APIServer, Delay, Hang, RequestFacts
from tests.cli.processes import dynkube
from tests.manifests.kit import config, namespace, text_of


async def applied(server: APIServer, *source: Any, quiet: bool = False, **options: Any) -> int:
    def begin(client: Client) -> ApplyRun:
        return client.apply_all(source, **options)

    return await run_apply(connect(transport=server.transport()), begin, quiet=quiet)


async def test_each_object_is_a_line_of_stdout_and_stderr_has_the_counts(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    code = await applied(server, config("a"), namespace("shop"))

    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "created     namespace/shop  (<object 2>)",
        "created     configmap/a -n default  (<object 1>)",
    ]
    assert (err, code) == ("2 created\n", 0)


async def test_quiet_prints_failures_and_the_summary(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    await applied(server, config("a"))
    capfd.readouterr()

    source = (config("a"), config("b"), config("c"), config("c"), config("d", namespace="no"))
    code = await applied(server, *source, quiet=True, on_error="continue")

    out, err = capfd.readouterr()
    assert [line for line in out.splitlines() if not line.startswith(" ")] == [
        "failed      configmap/d -n no  (<object 5>)"
    ]
    assert err == "2 created, 1 unchanged, 1 failed, 1 skipped\n"
    assert code == 1


@pytest.mark.parametrize("quiet", [False, True])
async def test_an_object_that_is_being_deleted_is_printed_even_if_quiet(
    server: APIServer, capfd: pytest.CaptureFixture[str], quiet: bool
) -> None:
    held = config("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await applied(server, held)
    server.delete("configmaps", "a")
    capfd.readouterr()

    code = await applied(server, held, quiet=quiet)

    out, err = capfd.readouterr()
    first, second = out.splitlines()
    assert first == "unchanged   configmap/a -n default  (<object 1>)"
    assert second.startswith("    it is being deleted since ")
    assert (err, code) == ("1 unchanged; 1 is being deleted\n", 0)


async def test_a_conflict_is_printed_as_a_table_below_its_object_with_exit_code_1(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    await applied(server, config("a", x="theirs"), field_manager="other")
    capfd.readouterr()

    code = await applied(server, config("a", x="ours"))

    out, _ = capfd.readouterr()
    first, head, row, *_ = out.splitlines()
    assert first == "conflicted  configmap/a  (<object 1>)"
    assert head.split() == ["FIELD", "YOURS", "LIVE", "MANAGER", "OPERATION", "SINCE"]
    assert row.split()[:5] == [".data.x", '"ours"', '"theirs"', "other", "Apply"]
    assert code == 1


async def test_a_conflict_names_the_options_that_resolve_it(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    await applied(server, config("a", **{"x.y": "theirs"}), field_manager="other")
    capfd.readouterr()

    await applied(server, config("a", **{"x.y": "ours"}))

    out, _ = capfd.readouterr()
    take = """--take '.data["x.y"]' for some of the fields or --force for all;"""
    assert f"    - take ownership of it, with {take}\n" in out
    assert "force=" not in out


async def test_if_objects_are_not_sent_the_option_to_send_them_is_named(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    code = await applied(server, config("a"), config("a", x="1"), config("b"))

    out, err = capfd.readouterr()
    stopped = "1 not sent: the run stopped at the first failure, <object 1>"
    assert err == f"2 failed, 1 skipped\n{stopped}; pass --go-on to apply everything else\n"
    assert "configmap/b" not in out
    assert code == 1


async def test_go_on_is_not_suggested_if_it_would_not_help(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    code = await applied(server, config("a"), prune="pods/set")

    _, err = capfd.readouterr()
    assert err == "1 failed, 1 skipped\n1 not sent: the ApplySet pods/set cannot be used\n"
    assert code == 1


async def test_a_source_without_objects_is_an_error(server: APIServer) -> None:
    with pytest.raises(CommandFailed, match="no objects found in the files or folders of -f"):
        await applied(server)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prune"], "--prune and --applyset NAME require each other"),
        (["--applyset", "shop"], "--prune and --applyset NAME require each other"),
        (["--tooling", "kubectl/v1"], "--tooling requires --prune and --applyset NAME"),
        (["--prune", "--applyset", "configmaps/"], "neither NAME nor RESOURCE/NAME"),
        (["--force", "--take", ".data.x"], "--force and --take are mutually exclusive"),
        (["-f", "a{b"], "is not a path"),
        (["-f", "-", "-f", "-"], "standard input can be read only once"),
        (["--take", ".data["], ".data["),
        (["--field-manager", "x" * 200], "at most 128 characters"),
        (["--parallel", "0"], "--parallel must be an integer >= 1"),
        (["--crd-timeout", "0"], "--crd-timeout must be a positive number of seconds, not 0.0"),
        (["-n", ""], "-n is empty: pass the name of a namespace"),
    ],
)
def test_invalid_options_are_rejected(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [] if "-f" in arguments else ["-f", str(tmp_path)]

    code = main(["apply", *given, *arguments, "--url", "http://127.0.0.1:1"])

    assert code == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("command", "expected"), [("apply", 1), ("diff", 2)])
def test_a_closed_standard_output_is_an_error(
    command: str, expected: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "__stdout__", None)
    monkeypatch.setattr(sys, "stdout", None)

    code = main([command, "-f", str(tmp_path), "--url", "http://127.0.0.1:1"])

    assert code == expected
    assert capsys.readouterr().err.startswith("error: standard output is closed")


def test_a_missing_filename_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply"]) == 2
    assert "--filename" in capsys.readouterr().err


@pytest.mark.real_time
async def test_files_are_applied_and_removed_objects_are_pruned(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text_of(config("a"), config("b")))
    async with APIServer() as server, server.serve() as endpoint:
        options = ("--prune", "--applyset", "configmaps/set", "--url", endpoint.url)
        async with dynkube("apply", "-f", str(tmp_path), *options) as first:
            assert (await first.ended())[0] == 0
        path.write_text(text_of(config("b")))
        async with dynkube("apply", "-f", str(path), *options) as second:
            code, out, err = await second.ended()

    assert out.splitlines() == [
        f"unchanged   configmap/b -n default  ({path}:1)",
        "pruned      configmap/a -n default",
    ]
    assert (code, err) == (0, "1 unchanged, 1 pruned\n")


@pytest.mark.real_time
async def test_a_dash_before_other_options_reads_standard_input() -> None:
    async with APIServer() as server, server.serve() as endpoint:
        command = [sys.executable, "-m", "dynkube", "apply", "-f", "-", "--dry-run", "--url", endpoint.url]
        done = await trio.run_process(
            command, stdin=text_of(config("a")).encode(), capture_stdout=True, capture_stderr=True
        )

    assert done.stdout.decode() == "created     configmap/a -n default  (<stdin>:1)\n"
    assert done.stderr.decode() == "1 created (dry run: nothing was written)\n"


async def test_results_that_stdouts_closed_reader_missed_are_printed_on_stderr(
    server: APIServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = trio.Event()

    def is_second(request: RequestFacts) -> bool:
        if request.name == "b":
            arrived.set()
        return request.name == "b"

    async def left(self: Output, text: str | bytes) -> None:
        await arrived.wait()
        raise BrokenPipeError

    monkeypatch.setattr(Output, "line", left)
    server.inject(Hang(), verb="patch", when=is_second)

    with pytest.RaisesGroup(BrokenPipeError, allow_unwrapped=True, flatten_subgroups=True):
        await applied(server, config("a"), config("b"), config("c"), parallel=1)

    assert capfd.readouterr().err.splitlines() == [
        "created     configmap/a -n default  (<object 1>)",
        "1 created, 1 skipped, 1 interrupted; the run was interrupted",
        "1 not sent: the run was interrupted",
        "1 may have been applied, as there was no response yet: configmap/b (<object 2>)",
    ]


@pytest.mark.real_time
async def test_after_ctrl_c_the_summary_has_applied_and_unsent_objects(tmp_path: Path) -> None:
    arrived = trio.Event()
    rest = [config(f"z{number}") for number in range(900)]

    def is_slow(request: RequestFacts) -> bool:
        if request.name == "slow":
            arrived.set()
        return request.name == "slow"

    path = tmp_path / "three.yaml"
    path.write_text(text_of(config("a"), config("slow"), *rest))
    async with APIServer() as server, server.serve() as endpoint:
        server.inject(Delay(1000), verb="patch", when=is_slow)
        async with dynkube("apply", "-f", str(path), "--parallel", "1", "--url", endpoint.url) as command:
            first = await command.line()
            await arrived.wait()
            code, out, err = await command.stop(signal.SIGINT)

    assert first.startswith("created     configmap/a ")
    assert (code, out) == (130, "")
    assert err.splitlines() == [
        "1 created, 900 skipped, 1 interrupted; the run was interrupted",
        "900 not sent: the run was interrupted",
        f"1 may have been applied, as there was no response yet: configmap/slow ({path}:10)",
    ]
