"""The examples in docs/apply.md for many objects, run on a folder of manifests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dynkube
from dynkube import Client
from dynkube_testing import APIServer
from tests.manifests.kit import config, crd, namespace, widget
from tests.public_api.documents import python_blocks, run

PAGE = "docs/apply.md"


def block(text: str) -> str:
    """Return the Python block of the page that contains ``text``."""
    (found,) = (block for block in python_blocks(PAGE) if text in block)
    return found


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: APIServer) -> None:
    connect = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda **options: connect(**{"transport": server.transport()} | options))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "manifests"
    folder.mkdir()
    for obj in (widget("w"), crd(), namespace("shop"), config("a", namespace="shop")):
        (folder / f"{obj['metadata']['name']}.json").write_text(json.dumps(obj))


async def test_a_folder_is_applied_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    await run(block('report = await client.apply_all("manifests/")\n'), {"dynkube": dynkube})

    out = capsys.readouterr().out
    assert out.startswith("OUTCOME  OBJECT ")
    assert out.rstrip().endswith("4 created")


@pytest.mark.real_time  # reads files in a thread, with a timeout
async def test_the_progress_of_a_long_run_is_printed(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    await run(block("move_on_after"), {"client": client})

    # Several requests are in flight: when the first entry is printed, others may be complete.
    assert re.match(r"[1-4]/4 created ", capsys.readouterr().out)


async def test_objects_removed_from_the_folder_are_pruned(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(block('prune="shop", dry_run'), {"client": client})
    (tmp_path / "manifests" / "w.json").unlink()

    await run(block('prune="shop", dry_run'), {"client": client})

    assert capsys.readouterr().out.splitlines() == ["[]", "['widget.example.com/w']"]
    assert not len(await client.resource("widgets.example.com").list())


async def test_a_set_is_shared_with_kubectl(client: Client, tmp_path: Path) -> None:
    await client.apply_all(namespace("shop"))
    (tmp_path / "manifests" / "w.json").unlink()

    names = await run(block("shared = dynkube.ApplySet"), {"client": client, "dynkube": dynkube})

    assert isinstance(names["report"], dynkube.Report)
    assert names["report"].ok, str(names["report"])


async def test_differences_are_printed(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    await run(block("diff_all"), {"client": client})

    assert capsys.readouterr().out.rstrip().endswith("4 differ, 0 do not")
