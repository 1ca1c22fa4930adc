"""``dynkube stubs``: models of kinds, from a cluster or from files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio

import dynkube
from dynkube.cli import main
from dynkube.cli._run import CommandFailed
from dynkube.cli._stubs import of_cluster, write_modules
from dynkube.errors import NoMatch
from dynkube_testing import APIServer
from tests.informers.kit import crd
from tests.manifests.kit import text_of
from tests.workloads.kit import workload

GATEWAYS = Path(__file__).parents[3] / "shared" / "data" / "gateway-api" / "crds"
SAMPLE = """
from kube.apps_v1 import Deployment

def replicas(web: Deployment) -> int | None:
    return web.spec.replicas if web.spec is not None else None

def wrong(web: Deployment) -> None:
    print(web.specs)
"""


@pytest.fixture
async def apps(server: APIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with the package ``kube``, which has the models of apps/v1."""
    client = dynkube.connect(transport=server.transport())
    modules = await of_cluster(client, ["deploy"], partial_objects=False)
    write_modules(tmp_path / "kube", modules)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


async def test_an_object_of_a_cluster_is_decoded_as_its_model(apps: Path, server: APIServer) -> None:
    from kube.apps_v1 import Deployment  # type: ignore[import-not-found]  # it was written just now

    server.create(workload())
    async with dynkube.connect(transport=server.transport()) as client:
        web = (await client.resource("deploy").get(workload()["metadata"]["name"])).typed(Deployment)

    assert web.spec.template.spec.containers[0].image == "app:1"
    assert [path.name for path in sorted((apps / "kube").glob("*.py"))] == ["__init__.py", "apps_v1.py"]


@pytest.mark.real_time
async def test_mypy_accepts_the_models_and_finds_a_wrong_field(apps: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    (apps / "sample.py").write_text(SAMPLE)

    command = [sys.executable, "-m", "mypy", "--strict", "kube", "sample.py"]
    done = await trio.run_process(command, cwd=apps, capture_stdout=True, check=False)

    assert done.stdout.decode().splitlines()[:1] == [
        'sample.py:8: error: "Deployment" has no attribute "specs"; maybe "spec"?  [attr-defined]'
    ]
    assert b"Found 1 error in 1 file" in done.stdout


async def test_all_kinds_of_a_cluster_are_written(server: APIServer, tmp_path: Path) -> None:
    server.create(crd())

    modules = await of_cluster(dynkube.connect(transport=server.transport()), [], partial_objects=True)

    assert {"core_v1", "apps_v1", "rbac_authorization_k8s_io_v1", "example_com_v1"} <= modules.keys()
    for name, text in modules.items():
        compile(text, name, "exec")
    with pytest.raises(NoMatch, match="does not serve 'nothing'"):
        await of_cluster(dynkube.connect(transport=server.transport()), ["nothing"], partial_objects=False)


def test_crds_of_files_are_written_again_but_no_other_file_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crds.yaml").write_text(text_of(crd(), crd("gadgets")))
    arguments = ["stubs", "-f", str(tmp_path / "crds.yaml"), "-o", str(tmp_path / "kube")]

    assert [main(arguments), main(arguments)] == [0, 0]
    assert capsys.readouterr().err.splitlines()[0] == f"1 module in {tmp_path / 'kube'}"
    (tmp_path / "kube" / "example_com_v1.py").write_text("mine = 1\n")
    assert main(arguments) == 1
    assert "was not written by this command: choose another --output, or remove it" in capsys.readouterr().err


@pytest.mark.skipif(not GATEWAYS.is_dir(), reason=f"there is no {GATEWAYS}")
def test_the_crds_of_the_gateway_api_have_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stubs", "-f", str(GATEWAYS), "-o", str(tmp_path / "kube")]) == 0

    text = (tmp_path / "kube" / "gateway_networking_k8s_io_v1.py").read_text()
    assert "class HTTPRoute(msgspec.Struct, kw_only=True):" in text
    compile(text, "gateway", "exec")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["deploy", "-f", "x.yaml"], "-f and resources are mutually exclusive"),
        (["-f", "nowhere.yaml"], "nowhere.yaml"),
        (["-f", "{folder}"], "no CustomResourceDefinitions found"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    tmp_path: Path, arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: a}}")
    given = [each.format(folder=tmp_path) for each in arguments]

    assert main(["stubs", *given, "-o", str(tmp_path / "kube")]) == 1

    assert error in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CommandFailed, match="file"):
        write_modules(tmp_path / "file" / "kube", {})
