"""Tokens and certificates in files that other programs replace."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio.testing

from dynkube.config import CertificateFiles, ClientCertificate, Credential, TokenFile
from dynkube.errors import CredentialError


def token(credential: Credential) -> str:
    return credential.headers["Authorization"].removeprefix("Bearer ")


class TokenPath:
    """The file of the token, with methods to change it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def put(self, content: str | bytes) -> None:
        self.path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def remove(self) -> None:
        self.path.unlink()


@pytest.fixture
def path(tmp_path: Path) -> TokenPath:
    path = TokenPath(tmp_path / "token")
    path.put("one\n")
    return path


async def test_the_trailing_newline_is_stripped_from_the_token(path: TokenPath) -> None:
    assert token(await TokenFile(path).current()) == "one"


@pytest.mark.scenario("F24")
async def test_the_file_is_read_again_after_a_minute_and_not_before(path: TokenPath, clock: Any) -> None:
    source = TokenFile(path, now=clock)
    first = await source.current()
    path.put("two")

    clock.advance(seconds=59)
    assert await source.current() is first
    clock.advance(seconds=1)
    assert token(await source.current()) == "two"


@pytest.mark.scenario("F25")
async def test_a_clock_that_is_set_back_does_not_extend_the_minute(path: TokenPath, clock: Any) -> None:
    source = TokenFile(path, now=clock)
    await source.current()
    path.put("two")

    clock.advance(days=-1)

    assert token(await source.current()) == "two"


async def test_an_unchanged_file_gives_the_same_object(path: TokenPath, clock: Any) -> None:
    source = TokenFile(path, now=clock)
    first = await source.current()

    clock.advance(minutes=2)

    assert await source.current() is first
    assert await source.refresh(first) is first


@pytest.mark.parametrize("content", [None, "", "\n", b"\xff\xfe", "two words"])
async def test_if_the_file_cannot_be_read_the_old_token_is_used(
    path: TokenPath, clock: Any, content: str | bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    source = TokenFile(path, now=clock)
    first = await source.current()
    path.remove()
    if content is not None:
        path.put(content)

    clock.advance(minutes=1)
    with caplog.at_level(logging.WARNING):
        assert await source.current() is first

    assert "continuing with the previous one" in caplog.text
    assert str(path.path) in caplog.text


@pytest.mark.scenario("F40")
async def test_a_file_that_stays_unreadable_is_logged_once_and_again_after_it_was_readable(
    path: TokenPath, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    source = TokenFile(path, now=clock)
    await source.current()

    for content in [None, None, None, "mended", None, None]:
        path.path.unlink(missing_ok=True)
        if content is not None:
            path.put(content)
        clock.advance(minutes=1)
        await source.current()

    assert [record.name for record in caplog.records] == ["dynkube.config"] * 2


@pytest.mark.scenario("F24")
async def test_a_rejected_token_is_read_again_at_once(path: TokenPath, clock: Any) -> None:
    source = TokenFile(path, now=clock)
    first = await source.current()
    path.put("two")

    second = await source.refresh(first)

    assert token(second) == "two"
    path.put("three")
    assert await source.refresh(first) is second  # it was refreshed since `first`


async def test_the_error_for_a_file_that_never_existed_names_it(tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match=r"tokenFile: .*/nowhere cannot be read: No such file"):
        await TokenFile(tmp_path / "nowhere").current()


async def test_the_fallback_is_used_until_the_file_can_be_read(tmp_path: Path, clock: Any) -> None:
    source = TokenFile(tmp_path / "late", fallback="spare", now=clock)
    assert token(await source.current()) == "spare"

    (tmp_path / "late").write_text("real")
    clock.advance(minutes=1)

    assert token(await source.current()) == "real"


async def test_the_use_of_the_fallback_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await TokenFile(tmp_path / "late", fallback="spare").current()

    assert "late cannot be read: No such file" in caplog.text


@pytest.mark.scenario("F24")
async def test_a_projected_volume_that_switches_its_symlink_is_followed(tmp_path: Path, clock: Any) -> None:
    for name in ("v1", "v2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
    (tmp_path / "data").symlink_to("v1")
    source = TokenFile(tmp_path / "data" / "token", now=clock)
    await source.current()

    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("v2")
    clock.advance(minutes=1)

    assert token(await source.current()) == "v2"


async def test_reading_is_always_a_checkpoint(path: TokenPath) -> None:
    source = TokenFile(path)

    with trio.testing.assert_checkpoints():
        first = await source.current()
    with trio.testing.assert_checkpoints():
        await source.current()
    with trio.testing.assert_checkpoints():
        await source.refresh(first)


@pytest.fixture
def put(tmp_path: Path, issue: Callable[[datetime], ClientCertificate]) -> Callable[[datetime], ClientCertificate]:
    def put(not_after: datetime) -> ClientCertificate:
        pair = issue(not_after)
        (tmp_path / "tls.crt").write_bytes(pair.certificate_pem)
        (tmp_path / "tls.key").write_bytes(pair.key_pem)
        return pair

    return put


@pytest.mark.scenario("F24")
async def test_a_replaced_certificate_is_used_within_a_minute(
    tmp_path: Path, put: Callable[[datetime], ClientCertificate], clock: Any
) -> None:
    put(clock() + timedelta(days=1))
    source = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key", now=clock)
    await source.current()

    second = put(clock() + timedelta(days=2))
    clock.advance(minutes=1)

    assert (await source.current()).certificate == second


async def test_a_certificate_whose_key_is_not_replaced_yet_is_not_used(
    tmp_path: Path, put: Callable[[datetime], ClientCertificate], clock: Any
) -> None:
    first = put(clock() + timedelta(days=1))
    source = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key", now=clock)
    await source.current()

    second = put(clock() + timedelta(days=2))
    (tmp_path / "tls.key").write_bytes(first.key_pem)
    clock.advance(minutes=1)
    during = await source.current()
    (tmp_path / "tls.key").write_bytes(second.key_pem)
    clock.advance(minutes=1)

    assert (during.certificate, (await source.current()).certificate) == (first, second)


async def test_an_expired_certificate_is_read_again_and_then_rejected(
    tmp_path: Path, put: Callable[[datetime], ClientCertificate], clock: Any
) -> None:
    put(clock() + timedelta(seconds=10))
    source = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key", now=clock)
    await source.current()
    clock.advance(seconds=10)

    with pytest.raises(CredentialError, match=r"tls\.crt expired at 2030-01-01T12:00:10"):
        await source.current()

    renewed = put(clock() + timedelta(days=1))
    assert (await source.current()).certificate == renewed


def test_the_error_for_a_file_without_a_certificate_names_it(tmp_path: Path) -> None:
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_text("junk")

    with pytest.raises(CredentialError, match=r"tls\.crt: the client certificate contains no PEM certificate"):
        CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key").check()


def test_an_expiry_is_in_utc(issue: Callable[[datetime], ClientCertificate]) -> None:
    assert issue(datetime(2031, 5, 1, tzinfo=UTC)).expires_at() == datetime(2031, 5, 1, tzinfo=UTC)
