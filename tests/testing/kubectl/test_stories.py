"""Recorded sessions of a real kubectl; ``stories/`` has the commands and their output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing.kubectl.conftest import DATA
from tests.testing.kubectl.transcripts import Shell

FILES = sorted((Path(__file__).parent / "stories").glob("*.txt"))
STORIES = [pytest.param(file.read_text(encoding="utf-8"), id=file.stem.replace("_", " ")) for file in FILES]

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]


@pytest.mark.parametrize("story", STORIES)
async def test_the_output_of_kubectl_is_the_recorded_one(story: str, shell: Shell) -> None:
    if "$DATA" in story and not DATA.is_dir():
        pytest.skip(f"there is no {DATA}")

    await shell.replay(story)
