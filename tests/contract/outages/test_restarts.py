"""Informers send no false events when servers are killed or restored from a backup; their user has RBAC permissions.

``python -m benchmarks.restarts`` does the same for longer.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.restarts import backup
from benchmarks.restarts.environment import Options
from benchmarks.restarts.run import WITHIN, kill_and_start
from dynkube_testing import ControlPlane
from tests.contract.backends import Backend

pytestmark = pytest.mark.timeout(300)

TWO_KILLS = Options(kills=2, informers=40, etcd_every=2, longest_outage=0.0, rest=0.0, restores=0, discovery_poll=3.0)
ONE_BACKUP = replace(TWO_KILLS, kills=0, restores=1)
PERMISSIONS = pytest.mark.parametrize(
    "crd_rights", [True, False], ids=["with CRD permissions", "without CRD permissions"]
)


@pytest.fixture
def plane(backend: Backend) -> ControlPlane:
    """The processes of the server, if the suite has started them and so may kill them."""
    if not backend.real:
        pytest.skip("the embedded server has no processes: see tests/informers")
    if backend.plane is None:
        pytest.skip("tests must not kill the processes behind a kubeconfig: pass a folder of binaries")
    return backend.plane


@pytest.mark.scenario("P13")
@PERMISSIONS
async def test_killed_servers_cause_no_false_event(crd_rights: bool, backend: Backend, plane: ControlPlane) -> None:
    options = replace(TWO_KILLS, crd_rights=crd_rights)

    outcome = await kill_and_start(plane, next(backend.labels), options, print)

    assert outcome.findings.found == []
    assert (outcome.kills, outcome.etcd_kills) == (2, 1)
    assert outcome.findings.events.total()  # the number of deletes is random in such a short run


@pytest.mark.scenario("P13")
@PERMISSIONS
async def test_after_a_restored_backup_informers_show_its_content(
    crd_rights: bool, backend: Backend, plane: ControlPlane
) -> None:
    if backup.etcdutl_of(plane) is None:
        pytest.skip(f"no etcdutl beside {plane.etcd.command[0]}: `make control-plane` builds it")
    options = replace(ONE_BACKUP, crd_rights=crd_rights)

    outcome = await kill_and_start(plane, next(backend.labels), options, print)

    assert outcome.findings.found == []
    (seconds,) = outcome.restores
    assert seconds < WITHIN
