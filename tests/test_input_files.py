"""Input files are read up to a size limit; devices, sockets and named pipes are errors."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dynkube._input_files import read_descriptor, read_file


def test_a_file_is_read_up_to_the_limit_and_not_beyond(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")

    assert read_file(path, limit=5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, the limit is 4 bytes") as caught:
        read_file(path, limit=4)
    assert caught.value.filename == str(path)


def test_a_large_sparse_file_is_an_error_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(OSError, match="it has 1,099,511,627,776 bytes, the limit is 1,000 bytes"):
        read_file(path, limit=1_000)


def test_a_fifo_without_a_writer_is_an_error_at_once(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)

    with pytest.raises(OSError, match=r"it is a named pipe \(FIFO\): copy its content to a file"):
        read_file(path, limit=1)


def test_a_fifo_that_replaces_a_file_between_stat_and_open_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fifo = tmp_path / "file", tmp_path / "fifo"
    path.write_bytes(b"1")
    os.mkfifo(fifo)
    status = path.stat()
    path.unlink()
    path.symlink_to(fifo)
    monkeypatch.setattr(os, "stat", lambda path: status)

    with pytest.raises(OSError, match="it is a named pipe"):
        read_file(path, limit=1)


def test_a_socket_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the paths of Unix sockets are limited to about 100 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")

        with pytest.raises(OSError, match="it is a socket"):
            read_file("s", limit=1)


def test_dev_zero_is_an_error_and_dev_null_is_empty() -> None:
    with pytest.raises(OSError, match="it is a device"):
        read_file("/dev/zero", limit=1)
    assert read_file("/dev/null", limit=1) == b""


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        read_file(tmp_path, limit=1)


def test_a_file_of_unknown_size_is_read_up_to_the_limit() -> None:
    found = Path("/proc/self/limits")
    if not found.exists():
        pytest.skip("there is no /proc here")

    assert b"Max open files" in read_file(found, limit=1 << 20)
    with pytest.raises(OSError, match="it is too large, the limit is 10 bytes"):
        read_file(found, limit=10)


def test_an_open_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    with (
        Path("/dev/zero").open("rb") as zeros,
        pytest.raises(OSError, match="it is too large, the limit is 1,000 bytes"),
    ):
        read_descriptor(zeros.fileno(), "<stdin>", limit=1_000)
