"""``dynkube cp``: both directions, destinations, arguments, and the progress on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from dynkube import connect
from dynkube.cli import main
from dynkube.cli._copy import Place, read_place, run_cp
from dynkube.cli._flags import in_flags
from dynkube.errors import CopyFailed, NotFound
from dynkube_testing import APIServer
from tests.pods.kit import add, run_in, running_pod

OFFLINE = ["--url", "http://127.0.0.1:1"]


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """The root folder of the container."""
    (tmp_path / "inside" / "tmp").mkdir(parents=True)
    return tmp_path / "inside"


@pytest.fixture
async def server(inside: Path) -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        add(server, running_pod("web"))
        server.containers.on_exec(run_in(inside))
        yield server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"x" * 2000)
    return tmp_path / "file"


async def copy(server: APIServer, source: str | Path, destination: str | Path, **options: Any) -> None:
    places = read_place(str(source), None), read_place(str(destination), None)
    await run_cp(connect(url=server.url, transport=server.transport()), *places, **options)


def written_to(terminal: int) -> bytes:
    """Return all that was written to a terminal that is closed at its other end, and close it."""
    found = b""
    with suppress(OSError):  # at the end
        while data := os.read(terminal, 10_000):
            found += data
    os.close(terminal)
    return found


@pytest.mark.real_time
@pytest.mark.parametrize("given", ["/tmp", "/tmp/", "/tmp/file"])
async def test_a_copy_goes_into_a_folder_that_exists(
    server: APIServer, inside: Path, file: Path, given: str, capfd: pytest.CaptureFixture[str]
) -> None:
    await copy(server, file, f"default/web:{given}", container="app")

    assert await trio.Path(inside / "tmp" / "file").read_bytes() == b"x" * 2000
    assert capfd.readouterr() == ("1 file copied, 2.0 kB\n", "")


@pytest.mark.real_time
async def test_a_folder_is_copied_to_a_new_path_or_into_a_folder_here(
    server: APIServer, inside: Path, tmp_path: Path
) -> None:
    (inside / "tmp" / "a").write_text("a")
    (tmp_path / "here").mkdir()

    await copy(server, "web:/tmp", tmp_path / "new")
    await copy(server, "web:/tmp", tmp_path / "here")

    assert [(tmp_path / each).read_text() for each in ("new/a", "here/tmp/a")] == ["a", "a"]


@pytest.mark.real_time
async def test_the_progress_is_shown_on_a_terminal(server: APIServer, inside: Path, file: Path) -> None:
    terminal, errors = os.openpty()

    async with server.serve() as endpoint:
        command = [sys.executable, "-m", "dynkube.cli", "cp", str(file), "web:/tmp", "--url", endpoint.url]
        done = await trio.run_process(command, capture_stdout=True, stderr=errors, env={**os.environ, "TERM": "xterm"})

    os.close(errors)
    assert done.stdout == b"1 file copied, 2.0 kB\n"
    assert b" kB\r" in written_to(terminal)


async def test_a_pod_that_does_not_exist_is_an_error(server: APIServer, file: Path) -> None:
    with pytest.raises(NotFound, match='pods "none" not found'):
        await copy(server, file, "none:/tmp")


@pytest.mark.real_time
async def test_what_is_too_large_names_the_option(server: APIServer, inside: Path, tmp_path: Path) -> None:
    (inside / "tmp" / "a").write_bytes(b"x" * 100_000)

    with pytest.raises(CopyFailed, match="more than 50000 bytes") as caught:
        await copy(server, "web:/tmp/a", tmp_path / "a", max_size=50_000)

    assert "(--max-size): copy less" in in_flags(str(caught.value))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("web:/a:b", Place("/a:b", "web", "given")),
        ("shop/web:a", Place("a", "web", "shop")),
        ("./web:a", Place("./web:a")),
        ("/web:a", Place("/web:a")),
        ("folder/file", Place("folder/file")),
        ("deploy/web:/x", Place("/x", "deploy/web", "given")),
        ("service/web:/x", Place("/x", "service/web", "given")),
        ("jobs/web:/x", Place("/x", "web", "jobs")),
    ],
)
def test_a_place_is_here_or_in_a_pod(text: str, place: Place) -> None:
    assert read_place(text, "given") == place


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["a", "b"], "one of 'a' and 'b' must be in a container"),
        (["a:x", "b:y"], "one of 'a:x' and 'b:y' must be in a container"),
        (["web:", "b"], "'web:' is not POD:PATH or NAMESPACE/POD:PATH"),
        (["a/b/c:x", "b"], "'a/b/c:x' is not POD:PATH"),
        (["deploy/:x", "b"], "'deploy/:x' is not POD:PATH"),
        (["", "web:x"], "a path is empty"),
        (["-", "web:x"], "'-' is not a path"),
        (["a", "web:x", "-n", ""], "-n is empty"),
    ],
)
def test_arguments_are_checked(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cp", *arguments, *OFFLINE]) == 1
    assert error in capsys.readouterr().err
