"""Tools run where nothing was built and no network is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.fake_go import FakeGo


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """A Go that is new enough, and a cache with nothing in it."""
    fake = FakeGo(folder=tmp_path / "go", cache=tmp_path / "the cache")
    fake.write()
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fake.cache))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # no test asks a network
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return fake
