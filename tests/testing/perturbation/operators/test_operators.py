"""An operator on kopf is perturbed over TCP. ``python -m tests.testing.perturbation.operators`` does more of this."""

from __future__ import annotations

import pytest

from dynkube_testing import replay
from tests.testing.perturbation.operators.scenarios import kopf

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]

KILLED = "crash(at=1, how=processed)"


def test_ships_that_kopf_creates_again_are_found() -> None:
    pytest.importorskip("kopf")

    finding = replay(kopf("generated"), KILLED, real_time=True)

    assert finding is not None
    assert "configmaps default/a-<3> exists, unexpectedly" in str(finding)
