"""``dynkube diff`` and ``dynkube owners``: output and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynkube import connect
from dynkube.cli import main
from dynkube.cli._diff import run_diff
from dynkube.cli._owners import run_owners
from dynkube.cli._run import CommandFailed
from dynkube.cli._source import Source
from dynkube.errors import InvalidInput, NoMatch, NotFound
from dynkube.manifests import ApplySet
from dynkube_testing import APIServer
from tests.manifests.kit import JSONObject, config, crd, namespace, text_of, widget


async def compared(server: APIServer, path: Path, *objects: JSONObject, quiet: bool = False) -> int:
    written = written_to(path, objects)
    return await run_diff(connect(transport=server.transport()), Source(filename=[written]), quiet=quiet)


def written_to(path: Path, objects: tuple[JSONObject, ...]) -> str:
    path.write_text(text_of(*objects))
    return str(path)


async def have(server: APIServer, *objects: JSONObject) -> None:
    async with connect(transport=server.transport()) as client:
        assert (await client.apply_all(objects)).ok


async def test_without_a_difference_stdout_is_empty_and_the_exit_code_is_0(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    await have(server, config("a", x="1"))

    code = await compared(server, tmp_path / "a.json", config("a", x="1"))

    assert (code, *capfd.readouterr()) == (0, "", "0 differ, 1 do not\n")


async def test_a_difference_is_printed_line_by_line_with_exit_code_1(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    await have(server, config("a", x="1"))

    code = await compared(server, tmp_path / "a.json", config("a", x="2"), config("b"))

    out, err = capfd.readouterr()
    assert (code, err) == (1, "2 differ, 0 do not\n")
    assert "--- live ConfigMap default/a\n+++ applied ConfigMap default/a\n" in out
    assert "-  x: '1'\n+  x: '2'\n" in out
    assert "+kind: ConfigMap" in out


async def test_quiet_prints_failures_and_the_summary(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"

    assert await compared(server, path, config("a"), quiet=True) == 1
    assert capfd.readouterr() == ("", "1 differ, 0 do not\n")

    assert await compared(server, path, config("a"), config("b", namespace="no"), quiet=True) == 2
    out, err = capfd.readouterr()
    assert (out.count("\n"), err) == (1, "1 differ, 0 do not, 1 failed\n")
    assert out.startswith("! configmap/b (")


async def test_objects_that_apply_would_prune_are_printed_as_deletions_with_exit_code_1(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with connect(transport=server.transport()) as client:
        await client.apply_all([config("a"), config("b")], prune="set", field_manager="dynkube")
    source = Source(filename=[written_to(tmp_path / "a.json", (config("a"),))])

    code = await run_diff(connect(transport=server.transport()), source, prune=ApplySet("set"))

    out, err = capfd.readouterr()
    assert (code, err) == (1, "0 differ, 1 do not, 1 would be pruned\n")
    assert out.startswith("--- live ConfigMap default/b\n+++ pruned ConfigMap default/b\n")


def test_prune_without_applyset_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["diff", "-f", str(tmp_path), "--prune", "--url", "http://127.0.0.1:1"])

    assert code == 2
    assert "--prune and --applyset NAME require each other" in capsys.readouterr().err


async def test_nothing_is_written(server: APIServer, tmp_path: Path) -> None:
    await have(server, config("a"))
    revision = server.revision

    await compared(server, tmp_path / "a.json", config("a", x="2"), namespace("new"), crd())

    assert server.revision == revision


async def test_objects_whose_crd_or_namespace_is_in_the_source_would_be_created(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"

    code = await compared(server, path, crd(), widget("w"), namespace("n"), config("c", namespace="n"))

    lines = capfd.readouterr().out.splitlines()
    reasons = [line.partition(": ")[2] for line in lines if line.startswith("# ")]
    assert code == 1
    assert reasons == [
        "it would be created, once its CRD widgets.example.com exists",
        "it would be created, once its namespace n exists",
    ]


async def test_failures_are_exit_code_2_and_other_differences_are_printed(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = await compared(server, tmp_path / "a.json", config("a"), widget("w"), config("b", namespace="no"))

    out, err = capfd.readouterr()
    assert (code, err) == (2, "1 differ, 0 do not, 2 failed\n")
    assert "! widget.example.com/w (" in out
    assert 'namespaces "no" not found' in out


async def test_the_values_of_secrets_are_not_printed(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = {**config("s"), "kind": "Secret"} | {"data": {"pin": "MTIzNDU2"}}
    await have(server, secret)

    await compared(server, tmp_path / "a.json", secret | {"data": {"pin": "NjU0MzIx"}})

    out, _ = capfd.readouterr()
    assert "pin" in out
    assert not any(value in out for value in ("MTIzNDU2", "NjU0MzIx", "123456", "654321"))


def test_an_invalid_option_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(text_of(config("a")))

    code = main(["diff", "-f", str(tmp_path / "no"), "--url", "http://127.0.0.1:1", "--parallel", "0"])

    assert code == 2
    assert capsys.readouterr().err.startswith("error: --parallel must be an integer >= 1")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ZeroDivisionError("oops"), 2, "ZeroDivisionError: oops"),
        (ExceptionGroup("of a nursery", [ZeroDivisionError("oops")]), 2, "ZeroDivisionError: oops"),
        (ExceptionGroup("of a nursery", [NoMatch("no such thing")]), 2, "error: no such thing"),
        (BrokenPipeError(), 141, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_no_error_is_exit_code_1(
    error: BaseException,
    code: int,
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("dynkube.cli._diff.run_diff", fail)

    ended = main(["diff", "-f", str(tmp_path), "--url", "http://127.0.0.1:1"])

    err = capfd.readouterr().err
    assert ended == code
    assert message in err
    assert bool(message) == bool(err)


async def test_owners_are_printed_as_a_table_of_fields_and_managers(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    await have(server, config("a", x="1"))

    await run_owners(connect(transport=server.transport()), "cm", "a")

    head, row = capfd.readouterr().out.splitlines()
    assert head.split() == ["FIELD", "MANAGER", "OPERATION", "SINCE"]
    assert row.split()[:3] == [".data.x", "dynkube", "Apply"]


async def test_owners_of_an_unmanaged_field_or_of_a_missing_object_are_an_error(server: APIServer) -> None:
    await have(server, config("a", x="1"))

    with pytest.raises(CommandFailed, match=r"\.data\.y of ConfigMap a has no manager"):
        await run_owners(connect(transport=server.transport()), "cm", "a", field=".data.y")
    with pytest.raises(InvalidInput):
        await run_owners(connect(transport=server.transport()), "cm", "a", field=".data[")
    with pytest.raises(NotFound):
        await run_owners(connect(transport=server.transport()), "cm", "b")
