"""``dynkube serve --load --state``: what it begins with and what it leaves behind."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import httpx2
import pytest
import trio

from dynkube.cli._state import StateFile
from dynkube.testing import APIServer, Snapshot
from tests.cli.test_serve import COMMAND, failing, serving

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
CONFIGS = "/api/v1/namespaces/default/configmaps"


def names(url: str) -> list[str]:
    return [item["metadata"]["name"] for item in httpx2.get(f"{url}{CONFIGS}").json()["items"]]


def create(url: str, name: str) -> int:
    """The new object's resourceVersion."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return int(httpx2.post(f"{url}{CONFIGS}", json=body).json()["metadata"]["resourceVersion"])


def test_manifests_are_there_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "a.yaml").write_text(CONFIG % "a")
    (tmp_path / "more" / "b.yaml").write_text(CONFIG % "b")

    with serving("--load", str(tmp_path / "a.yaml"), str(tmp_path / "more")) as served:
        found = names(served.url)
        code, errors = served.stop()

    assert found == ["a", "b"]
    assert code == 0
    assert errors.splitlines() == [f"loaded 1 object from {tmp_path}/a.yaml", f"loaded 1 object from {tmp_path}/more"]


def test_what_it_stored_is_there_again_under_the_same_versions(tmp_path: Path) -> None:
    state = str(tmp_path / "state.json")

    with serving("--state", state) as first:
        version = create(first.url, "a")
        assert first.stop() == (0, "")
    with serving("--state", state) as second:
        again = httpx2.get(f"{second.url}{CONFIGS}/a").json()
        following = create(second.url, "b")

    assert int(again["metadata"]["resourceVersion"]) == version
    assert following == version + 1


def test_a_state_that_is_loaded_into_is_replaced_by_the_manifests(tmp_path: Path) -> None:
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


async def test_a_crash_loses_what_came_after_the_last_save_and_clients_learn_of_it(tmp_path: Path) -> None:
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


async def test_nothing_is_written_where_nothing_changed(server: APIServer, tmp_path: Path) -> None:
    file = StateFile(server, tmp_path / "state", every=10)
    async with file.saving():
        await trio.sleep(15)
    (tmp_path / "state").unlink()

    async with file.saving():
        await trio.sleep(100)

    assert not (tmp_path / "state").exists()


async def test_a_save_that_fails_is_told_of_and_tried_again(
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
def test_manifests_that_cannot_be_loaded_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "seed.yaml").write_text(content)

    told = failing("--load", str(tmp_path / "seed.yaml"), "--state", str(tmp_path / "state.json"))

    assert told.startswith("error: --load ")
    assert message in told
    assert not (tmp_path / "state.json").exists(), "a server that did not start leaves no state"


def test_paths_that_are_not_there_are_named(tmp_path: Path) -> None:
    assert f"--load {tmp_path}/no: cannot be read: No such file" in failing("--load", str(tmp_path / "no"))
    assert f"the directory {tmp_path}/no does not exist" in failing("--state", str(tmp_path / "no" / "state"))
    assert f"--state {tmp_path}: is a directory" in failing("--state", str(tmp_path))


def test_a_file_that_is_no_state_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")

    told = failing("--state", str(tmp_path / "state"))

    assert f"--state {tmp_path}/state: not a saved state of an embedded server" in told
    assert (tmp_path / "state").read_text() == "mine"


def test_a_server_that_cannot_listen_leaves_no_state(tmp_path: Path) -> None:
    with serving() as first:
        told = failing("--state", str(tmp_path / "state"), "--port", first.url.rpartition(":")[2])

    assert "Address already in use" in told
    assert list(tmp_path.iterdir()) == []


def test_two_servers_cannot_use_one_file_whatever_leads_to_it(tmp_path: Path) -> None:
    state, link = tmp_path / "state", tmp_path / "link"
    link.symlink_to(state)

    with serving("--state", str(state)) as first:
        create(first.url, "a")
        told = [failing("--state", str(path)) for path in (state, link)]
        assert first.stop() == (0, "")
    with serving("--state", str(link)) as second:
        found = names(second.url)
        second.stop()

    for path, text in zip((state, link), told, strict=True):
        assert f"--state {path}: in use by another dynkube serve (which has locked {tmp_path}/.state.lock)" in text
    assert found == ["a"]
    assert sorted(tmp_path.iterdir()) == [link, state], "the lock is gone"


def test_a_server_that_was_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
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


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
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
def test_what_is_no_regular_file_is_refused_at_once(device: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(device)

    assert f"--state {device}: is not a regular file" in failing("--state", device)
    assert f"--state {tmp_path}/link: is not a regular file" in failing("--state", str(tmp_path / "link"))


def test_a_disk_that_is_full_is_told_of_at_once(tmp_path: Path) -> None:
    full = ["prlimit", "--fsize=1000", *COMMAND, "--state", str(tmp_path / "state")]

    ended = subprocess.run(full, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"error: --state {tmp_path}/state: cannot be written: File too large\n"
    assert list(tmp_path.iterdir()) == []
