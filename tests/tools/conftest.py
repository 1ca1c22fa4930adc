"""Fixtures for tools that build servers: without a network, and with an empty cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.fake_go import FakeGo


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """A fake ``go`` of a new enough version, and an empty cache."""
    fake = FakeGo(folder=tmp_path / "go", cache=tmp_path / "the cache")
    fake.write()
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fake.cache))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # tests use no network
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return fake
