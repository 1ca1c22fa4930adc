"""Files and folders, copied to and from a container, whose commands are those of this machine."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

import dynkube
from dynkube.errors import CopyFailed, InvalidInput, UnsafeArchive
from dynkube.pods import Copied
from dynkube_testing import APIServer, ContainerSession
from tests.pods.kit import run_in

pytestmark = pytest.mark.real_time

DATA = bytes(range(256)) * 4000


@pytest.fixture
def inside(tmp_path: Path, server: APIServer) -> Path:
    """The root folder of the container."""
    (tmp_path / "inside").mkdir()
    server.containers.on_exec(run_in(tmp_path / "inside"))
    return tmp_path / "inside"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with files, an empty one among them, and an empty folder."""
    folder = tmp_path / "site"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "data").write_bytes(DATA)
    (folder / "deep" / "deeper" / ("long-" * 40)).write_text("long")
    (folder / "deep" / "größe — 1").write_text("umlaut")
    (folder / "-nothing").touch()
    (folder / "run").write_text("#!/bin/sh")
    (folder / "run").chmod(0o755)
    os.utime(folder / "data", (1_700_000_000, 1_700_000_000))
    return folder


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


async def test_a_folder_there_and_back(web: dynkube.Pod, inside: Path, site: Path, tmp_path: Path) -> None:
    sent: list[int] = []
    received: list[int] = []

    there = await web.copy_to(site, "/srv/www", progress=sent.append)
    back = await web.copy_from("/srv/www", tmp_path / "back", progress=received.append)

    assert tree(inside / "srv" / "www") == tree(tmp_path / "back") == tree(site)
    assert there == back == Copied(files=5, size=sum(len(each) for each in tree(site).values() if each))
    assert (inside / "srv/www/run").stat().st_mode & 0o111
    assert (tmp_path / "back/data").stat().st_mtime == 1_700_000_000
    assert (sent == sorted(sent), sent[-1] >= len(DATA), received == sorted(received)) == (True, True, True)


async def test_a_file_and_slashes(web: dynkube.Pod, inside: Path, site: Path, tmp_path: Path) -> None:
    await web.copy_to(site / "data", "/copy")
    await web.copy_to(site / "data", "/folder/")
    await web.copy_from("/folder/data", f"{tmp_path}/got/")
    await web.copy_from("copy", tmp_path / "single")

    assert (inside / "copy").read_bytes() == (inside / "folder" / "data").read_bytes() == DATA
    assert (tmp_path / "got" / "data").read_bytes() == (tmp_path / "single").read_bytes() == DATA


async def test_more_files_than_are_checked_at_once(web: dynkube.Pod, inside: Path, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(401):
        (tmp_path / "many" / str(number)).write_text("x" * number)

    assert (await web.copy_to(tmp_path / "many", "/many")).files == 401


@pytest.mark.parametrize("name", ["a ", "b\t", "c\r", " d", "e\u2028", "f\\", "*"])
async def test_names_that_shells_and_lines_may_get_wrong(
    name: str, web: dynkube.Pod, inside: Path, tmp_path: Path
) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / name).write_text("x")

    await web.copy_to(tmp_path / "odd", "/odd")
    await web.copy_from("/odd", tmp_path / "back")

    assert tree(inside / "odd") == tree(tmp_path / "back") == {name: b"x"}


async def test_what_is_not_in_the_container_is_named(web: dynkube.Pod, inside: Path, tmp_path: Path) -> None:
    with pytest.raises(CopyFailed, match=r"tar in the container ended with exit code \d+: .*nope"):
        await web.copy_from("/nope", tmp_path / "copy")

    assert not (tmp_path / "copy").exists()


async def test_a_container_that_cannot_write_says_why(web: dynkube.Pod, inside: Path, site: Path) -> None:
    (inside / "file").touch()

    with pytest.raises(CopyFailed, match="tar in the container ended with exit code"):
        await web.copy_to(site, "/file/www")


async def test_a_copy_with_wrong_sizes_is_noticed(
    server: APIServer, web: dynkube.Pod, inside: Path, site: Path
) -> None:
    play = run_in(inside)

    async def damaging(session: ContainerSession) -> int:
        code = await play(session)
        if "tar" in session.command[2]:
            (inside / "www" / "data").write_bytes(b"other")
        return code

    server.containers.on_exec(damaging)
    with pytest.raises(CopyFailed, match="'www/data' is missing in the container, or has not 1024000 bytes"):
        await web.copy_to(site, "/www")


def archive(*members: tuple[str, bytes, str]) -> bytes:
    """Return an archive of members: name, type and target of a link."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            info.size = 4 if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(b"evil"))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (("www/../../escaped", tarfile.REGTYPE, ""), "is not in 'www'"),
        (("/escaped", tarfile.REGTYPE, ""), "is not in 'www'"),
        (("other/file", tarfile.REGTYPE, ""), "is not in 'www'"),
        (("..", tarfile.DIRTYPE, ""), "is not in 'www'"),
        (("www//etc/passwd", tarfile.REGTYPE, ""), "is not in 'www'"),
        (("www/link", tarfile.SYMTYPE, "/etc"), "is a link"),
        (("www/link", tarfile.LNKTYPE, "www/../../x"), "is a link"),
        (("www/null", tarfile.CHRTYPE, ""), "is neither a whole file nor a folder"),
        (("www/sparse", tarfile.GNUTYPE_SPARSE, ""), "is neither a whole file nor a folder"),
        (("www/pipe", tarfile.FIFOTYPE, ""), "is neither a whole file nor a folder"),
    ],
)
async def test_an_archive_that_climbs_is_refused(
    server: APIServer, web: dynkube.Pod, tmp_path: Path, member: tuple[str, bytes, str], text: str
) -> None:
    server.containers.on_exec(
        lambda _: archive(("www/first", tarfile.REGTYPE, ""), member, ("www/last", tarfile.REGTYPE, ""))
    )
    with pytest.raises(UnsafeArchive, match=text):
        await web.copy_from("/www", tmp_path / "out" / "copy")

    assert tree(tmp_path) == {"out": None, "out/copy": None, "out/copy/first": b"evil"}


async def test_a_name_that_is_too_long_is_not_read(server: APIServer, web: dynkube.Pod, tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 8 << 30
    server.containers.on_exec(lambda _: info.tobuf(tarfile.GNU_FORMAT))

    with pytest.raises(UnsafeArchive, match="a name of 8589934592 bytes"):
        await web.copy_from("/www", tmp_path / "copy")


def extended(**fields: str) -> bytes:
    """Return an archive of a file with extended headers."""
    info = tarfile.TarInfo("www")
    info.pax_headers = dict(fields)
    return info.tobuf(tarfile.PAX_FORMAT) + bytes(1024)


def sparse(entries: int) -> bytes:
    """Return the begin of a sparse file with a map of so many entries."""
    head = extended(**{"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}).removesuffix(bytes(1024))
    return head + b"%d\n" % entries + b"0\n" * 2 * entries


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (extended(mtime="1e300"), "is malformed: "),
        (extended(mtime="nan"), "is malformed: "),
        (sparse(8_000_000), "headers of more than 4194304 bytes in a row"),
        (extended(comment="x").removesuffix(bytes(1024))[:1024] * 3000, "is malformed: maximum recursion"),
        (tarfile.TarInfo.create_pax_global_header({f"f{n}": "x" for n in range(101)}) + extended(), "global headers"),
    ],
    ids=["late", "no number", "sparse map", "nested", "global"],
)
async def test_headers_that_are_no_file_of_tar_are_refused(
    server: APIServer, web: dynkube.Pod, tmp_path: Path, sent: bytes, text: str
) -> None:
    server.containers.on_exec(lambda _: sent)

    with pytest.raises(UnsafeArchive, match=text):
        await web.copy_from("/www", tmp_path / "copy")

    assert tree(tmp_path) == {}


async def test_what_is_too_large_is_given_up(web: dynkube.Pod, inside: Path, site: Path, tmp_path: Path) -> None:
    (inside / "data").write_bytes(DATA)

    with pytest.raises(CopyFailed, match=r"more than 99999 bytes \(max_size\)"):
        await web.copy_from("/data", tmp_path / "copy", max_size=99_999)

    assert not (tmp_path / "copy").exists()
    with pytest.raises(InvalidInput, match="max_size must be"):
        await web.copy_from("/data", tmp_path / "copy", max_size=0)


async def test_what_follows_the_archive_is_limited(server: APIServer, web: dynkube.Pod, tmp_path: Path) -> None:
    server.containers.on_exec(lambda _: archive(("www", tarfile.REGTYPE, "")) + bytes(3 << 20))

    with pytest.raises(CopyFailed, match="after the end of its archive"):
        await web.copy_from("/www", tmp_path / "copy")


async def test_links_that_are_here_already_are_not_written_through(
    server: APIServer, web: dynkube.Pod, tmp_path: Path
) -> None:
    server.containers.on_exec(lambda _: archive(("www/a/file", tarfile.REGTYPE, ""), ("www/b", tarfile.REGTYPE, "")))
    (tmp_path / "copy").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "copy" / "a").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnsafeArchive, match="would be written through the link"):
        await web.copy_from("/www", tmp_path / "copy")

    assert tree(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize(("size", "left"), [(700, {}), (0, {})])
async def test_an_archive_that_is_cut_leaves_no_half_file(
    server: APIServer, web: dynkube.Pod, tmp_path: Path, size: int, left: dict[str, bytes]
) -> None:
    whole = archive(("www", tarfile.REGTYPE, ""))
    server.containers.on_exec(lambda _: whole[:514] if size else b"")

    with pytest.raises(CopyFailed, match=r"incomplete|damaged"):
        await web.copy_from("/www", tmp_path / "out")

    assert tree(tmp_path) == left


async def test_local_links_and_missing_files_are_refused(web: dynkube.Pod, site: Path) -> None:
    (site / "link").symlink_to("/etc/passwd")

    with pytest.raises(InvalidInput, match="link' is a symbolic link: only files and folders are copied"):
        await web.copy_to(site, "/www")
    with pytest.raises(InvalidInput, match=r"cannot be read: .*No such file"):
        await web.copy_to(site / "nope", "/www")
    with pytest.raises(InvalidInput, match="local is 'a"):
        await web.copy_to("a\0b", "/www")


@pytest.mark.parametrize("remote", ["", "/", "..", "a/..", 1])
async def test_paths_without_a_name_are_refused(web: dynkube.Pod, tmp_path: Path, remote: str) -> None:
    with pytest.raises(InvalidInput, match="remote is"):
        await web.copy_from(remote, tmp_path / "copy")


async def test_an_exception_of_the_progress_function_ends_the_copy(web: dynkube.Pod, inside: Path, site: Path) -> None:
    def fail(_: int) -> None:
        raise OSError("mine")

    (inside / "data").write_bytes(DATA)
    with pytest.raises(OSError, match=r"^mine$"):
        await web.copy_to(site, "/www", progress=fail)
    with pytest.raises(OSError, match=r"^mine$"):
        await web.copy_from("/data", inside / "copy", progress=fail)
