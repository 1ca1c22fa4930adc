"""benchmarks/facade.py: services that serve from informers, while their API server is killed and started again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_time

ROOT = Path(__file__).parents[2]
LOAD = ["--workers", "1", "--rate", "50", "--seconds", "6", "--every", "1", "--down", "0.5"]


@pytest.mark.parametrize("example", ["facade", "aio_service"])
def test_no_request_fails_while_the_api_server_is_killed(example: str) -> None:
    command = [sys.executable, "-m", "benchmarks.facade", "--example", example, *LOAD]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)

    assert done.returncode == 0, done.stderr
    assert not {"Traceback", "Warning", "Task"} & set(re.findall(r"\w+", done.stderr)), done.stderr
    found = json.loads(done.stdout)
    assert (found["requests"], found["failures"], found["api_requests_per_read"]) == (300, {}, 0)
    assert found["kills"] > 0
