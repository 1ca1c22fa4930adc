"""``dynkube serve --load --state``: the initial objects, and the saved state."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import httpx2
import pytest
import trio

from dynkube.cli._state import StateFile
from dynkube_testing import APIServer, Snapshot
from tests.cli.test_serve import COMMAND, failing, serving

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
CONFIGS = "/api/v1/namespaces/default/configmaps"


def names(url: str) -> list[str]:
    return [item["metadata"]["name"] for item in httpx2.get(f"{url}{CONFIGS}").json()["items"]]


def create(url: str, name: str) -> int:
    """Create a ConfigMap; return its resourceVersion."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return int(httpx2.post(f"{url}{CONFIGS}", json=body).json()["metadata"]["resourceVersion"])


def test_manifests_are_loaded_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "a.yaml").write_text(CONFIG % "a")
    (tmp_path / "more" / "b.yaml").write_text(CONFIG % "b")

    with serving("--load", str(tmp_path / "a.yaml"), str(tmp_path / "more")) as served:
        found = names(served.url)
        code, errors = served.stop()

    assert found == ["a", "b"]
    assert code == 0
    assert errors.splitlines() == [f"loaded 1 object from {tmp_path}/a.yaml", f"loaded 1 object from {tmp_path}/more"]


def test_objects_are_restored_with_their_resource_versions(tmp_path: Path) -> None:
    state = str(tmp_path / "state.json")

    with serving("--state", state) as first:
        version = create(first.url, "a")
        assert first.stop() == (0, "")
    with serving("--state", state) as second:
        again = httpx2.get(f"{second.url}{CONFIGS}/a").json()
        following = create(second.url, "b")

    assert int(again["metadata"]["resourceVersion"]) == version
    assert following == version + 1


def test_manifests_replace_objects_of_the_restored_state(tmp_path: Path) -> None:
    state, seed = str(tmp_path / "state.json"), tmp_path / "seed.yaml"
    seed.write_text(CONFIG % "a")

    with serving("--state", state, "--load", str(seed)) as first:
        create(first.url, "b")
        first.stop()
    seed.write_text(CONFIG % "a" + "data: {changed: later}\n")
    with serving("--state", state, "--load", str(seed)) as second:
        found = httpx2.get(f"{second.url}{CONFIGS}").json()["items"]

    assert [(item["metadata"]["name"], item.get("data")) for item in found] == [
        ("a", {"changed": "later"}),
        ("b", None),
    ]


async def test_a_crash_loses_writes_since_the_last_save_and_watches_from_them_get_410(tmp_path: Path) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
    async with APIServer() as server:
        server.create(body)
        async with StateFile(server, tmp_path / "state", every=10).saving():
            await trio.sleep(15)
            server.create({**body, "metadata": {"name": "lost"}})
        crashed = server.revision  # never saved

    async with APIServer() as server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        StateFile(server, tmp_path / "state", every=10).restore()
        watch = await client.get(f"{CONFIGS}?watch=1&resourceVersion={crashed}&timeoutSeconds=1")

        assert [item["metadata"]["name"] for item in server.list("configmaps")] == ["kept"]
        assert watch.json()["object"]["code"] == 410


async def test_without_changes_the_state_is_not_saved(server: APIServer, tmp_path: Path) -> None:
    file = StateFile(server, tmp_path / "state", every=10)
    async with file.saving():
        await trio.sleep(15)
    (tmp_path / "state").unlink()

    async with file.saving():
        await trio.sleep(100)

    assert not (tmp_path / "state").exists()


async def test_a_failed_save_prints_a_warning_and_is_retried(
    server: APIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = StateFile(server, folder / "state", every=10)
    async with file.saving():
        (folder / "state").unlink()
        folder.rmdir()
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        await trio.sleep(15)
    folder.mkdir()
    async with file.saving():
        pass

    warning = f"warning: --state {folder}/state: cannot be written now: No such file or directory\n"
    assert capsys.readouterr().err == warning
    assert (folder / "state").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "seed.yaml: yaml: line 2, column 1"),
        ("kind: Pod\n", "seed.yaml:1: the object must have apiVersion and kind as strings"),
        (CONFIG % "a" + "---\n" + CONFIG % "B_", 'ConfigMap "B_" is invalid'),
        (CONFIG % "a" + "---\n" + CONFIG % "B_", "seed.yaml:5)"),
    ],
)
def test_the_error_for_invalid_manifests_names_the_file(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "seed.yaml").write_text(content)

    stderr = failing("--load", str(tmp_path / "seed.yaml"), "--state", str(tmp_path / "state.json"))

    assert stderr.startswith("error: --load ")
    assert message in stderr
    assert not (tmp_path / "state.json").exists(), "a server that did not start leaves no state"


def test_the_error_for_a_missing_path_names_it(tmp_path: Path) -> None:
    assert f"--load {tmp_path}/no: cannot be read: No such file" in failing("--load", str(tmp_path / "no"))
    assert f"the directory {tmp_path}/no does not exist" in failing("--state", str(tmp_path / "no" / "state"))
    assert f"--state {tmp_path}: is a directory" in failing("--state", str(tmp_path))


def test_a_file_that_is_not_a_state_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")

    stderr = failing("--state", str(tmp_path / "state"))

    assert f"--state {tmp_path}/state: not a saved state of an embedded server" in stderr
    assert (tmp_path / "state").read_text() == "mine"


def test_a_server_that_cannot_listen_leaves_no_state(tmp_path: Path) -> None:
    with serving() as first:
        stderr = failing("--state", str(tmp_path / "state"), "--port", first.url.rpartition(":")[2])

    assert "Address already in use" in stderr
    assert list(tmp_path.iterdir()) == []


def test_two_servers_cannot_use_the_same_file_even_by_a_link(tmp_path: Path) -> None:
    state, link = tmp_path / "state", tmp_path / "link"
    link.symlink_to(state)

    with serving("--state", str(state)) as first:
        create(first.url, "a")
        stderr = [failing("--state", str(path)) for path in (state, link)]
        assert first.stop() == (0, "")
    with serving("--state", str(link)) as second:
        found = names(second.url)
        second.stop()

    for path, text in zip((state, link), stderr, strict=True):
        assert f"--state {path}: in use by another dynkube serve (which has locked {tmp_path}/.state.lock)" in text
    assert found == ["a"]
    assert sorted(tmp_path.iterdir()) == [link, state], "the lock file was removed"


def test_after_a_server_was_killed_the_next_one_removes_its_lock_and_temporary_files(tmp_path: Path) -> None:
    state, temporary, other = tmp_path / "state", tmp_path / ".state.abcd1_23.tmp", tmp_path / ".state.swp"
    with serving("--state", str(state)) as first:
        create(first.url, "a")
        first.stop(signal.SIGKILL)
    assert (tmp_path / ".state.lock").exists()
    temporary.write_text("half")
    other.write_text("mine")

    with serving("--state", str(state)) as second:
        assert not temporary.exists()
        assert second.stop() == (0, f"restored {len(Snapshot.read(state))} objects from {state}\n")

    assert {path.name for path in tmp_path.iterdir()} == {"state", ".state.swp"}


def test_a_link_is_kept_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "state"
    link.symlink_to("real/state")

    for name in ("a", "b"):
        with serving("--state", str(link)) as served:
            create(served.url, name)
            code, _ = served.stop()
            assert code == 0

    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["state"]
    assert len(Snapshot.read(link)) > 0


@pytest.mark.parametrize("device", ["/dev/full", "/dev/null", "/dev/zero"])
def test_a_state_that_is_not_a_regular_file_is_rejected(device: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(device)

    assert f"--state {device}: is not a regular file" in failing("--state", device)
    assert f"--state {tmp_path}/link: is not a regular file" in failing("--state", str(tmp_path / "link"))


def test_a_full_disk_is_an_error_at_the_start(tmp_path: Path) -> None:
    full = ["prlimit", "--fsize=1000", *COMMAND, "--state", str(tmp_path / "state")]

    ended = subprocess.run(full, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"error: --state {tmp_path}/state: cannot be written: File too large\n"
    assert list(tmp_path.iterdir()) == []
