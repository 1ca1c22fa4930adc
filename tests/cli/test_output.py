"""``Output``: lines for slow readers, closed pipes, and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from dynkube.cli._output import Output

pytestmark = pytest.mark.real_time


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            continue


async def test_a_line_can_be_read_once_it_was_written(pipe: tuple[int, int]) -> None:
    reader, writer = pipe

    await Output(writer).line("caf\u00e9 \udcff")

    assert os.read(reader, 100) == "caf\u00e9 \\udcff\n".encode()


async def test_a_full_pipe_does_not_block_other_tasks(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    passed = 0

    with trio.move_on_after(0.2) as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(output.line, b"x" * 1_000_000)
            while True:
                await trio.sleep(0.01)
                passed += 1

    assert scope.cancelled_caught
    assert passed > 1
    assert os.read(reader, 10) == b"x" * 10


async def test_long_lines_of_two_writers_are_not_interleaved(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    lines = [b"a" * 200_000, b"b" * 200_000]

    async with trio.open_nursery() as nursery:
        for line in lines:
            nursery.start_soon(output.line, line)
        read = bytearray()
        while read.count(b"\n") < 2:
            await trio.lowlevel.wait_readable(reader)
            read += os.read(reader, 65536)

    assert sorted(bytes(read).splitlines()) == lines


async def test_a_closed_pipe_raises_broken_pipe(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.close(reader)

    with pytest.raises(BrokenPipeError):
        await Output(writer).line("hello")


async def test_lines_are_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("wb") as file:
        output = Output(file.fileno())
        await output.line(b"x" * 100_000)
        await output.line("end")

    assert path.read_bytes() == b"x" * 100_000 + b"\nend\n"
