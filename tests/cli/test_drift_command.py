"""``dynkube drift``: the changes that others made since an apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynkube import connect
from dynkube.cli import main
from dynkube.cli._drift import run_drift
from dynkube.cli._run import CommandFailed
from dynkube.cli._source import Source
from dynkube_testing import APIServer
from tests.manifests.kit import JSONObject, config, namespace, text_of


async def drifted(server: APIServer, path: Path, *objects: JSONObject, quiet: bool = False, **options: str) -> int:
    source = Source(filename=[written_to(path, objects)], namespace=options.get("namespace"))
    return await run_drift(connect(transport=server.transport()), source, quiet=quiet)


def written_to(path: Path, objects: tuple[JSONObject, ...]) -> str:
    path.write_text(text_of(*objects))
    return str(path)


async def have(server: APIServer, *objects: JSONObject) -> None:
    async with connect(transport=server.transport()) as client:
        assert (await client.apply_all(objects)).ok


async def edit(server: APIServer, name: str, **data: str) -> None:
    async with connect(transport=server.transport(), field_manager="kubectl-edit") as client:
        await client.resource("configmaps").patch(name, {"data": data})


async def test_without_drift_stdout_is_empty_and_the_exit_code_is_0(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    await have(server, config("a", x="1"), namespace("shop"))

    code = await drifted(server, tmp_path / "a.json", config("a", x="1"), namespace("shop"), config("a", x="1"))

    assert (code, *capfd.readouterr()) == (0, "", "0 drifted, 2 did not\n")


async def test_drift_is_printed_with_its_manager_and_exit_code_1(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    await have(server, config("a", x="1", y="1"), config("b", x="1"))
    await edit(server, "a", x="2", z="3")
    path = tmp_path / "a.json"

    code = await drifted(server, path, config("a", x="1", y="1"), config("b", x="1"))

    out, err = capfd.readouterr()
    first, head, row = out.splitlines()
    assert first == f"drifted     configmap/a  ({path}:1)"
    assert head.split() == ["FIELD", "APPLIED", "LIVE", "MANAGER"]
    assert row.split() == [".data.x", '"1"', '"2"', "kubectl-edit", "(Update)"]
    assert (code, err) == (1, "1 drifted, 1 did not\n")


@pytest.mark.parametrize("quiet", [False, True])
async def test_failures_are_exit_code_2_and_drift_is_printed_unless_quiet(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str], quiet: bool
) -> None:
    await have(server, config("a", x="1"))
    await edit(server, "a", x="2")
    unknown = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}

    code = await drifted(server, tmp_path / "a.json", unknown, config("a", x="1"), {"kind": "Pod"}, quiet=quiet)

    out, err = capfd.readouterr()
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == (
        ["failed", "failed"] if quiet else ["failed", "drifted", "failed"]
    )
    assert (code, err) == (2, "1 drifted, 0 did not, 2 failed\n")


async def test_the_error_for_an_object_of_another_namespace_names_the_flag(
    server: APIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = await drifted(server, tmp_path / "a.json", config("a", namespace="other"), namespace="shop")

    assert code == 2
    assert "has metadata.namespace 'other', but -n is 'shop': leave one of them out" in capfd.readouterr().out


async def test_nothing_to_compare_is_an_error(server: APIServer, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="no objects found in the files or folders of -f"):
        await drifted(server, tmp_path / "a.json")


def test_an_invalid_option_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", "-f", str(tmp_path), "--manager", "", "--url", "http://127.0.0.1:1"]) == 2

    assert capsys.readouterr().err.startswith("error: --field-manager must be the name of")
