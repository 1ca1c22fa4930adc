"""``dynkube release``, ``transfer``, ``upgrade-managed-fields`` and ``extract`` on an embedded server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
import trio
import yaml

from dynkube import Client, connect, fields_of
from dynkube.cli import main
from dynkube.cli._cluster import Cluster
from dynkube.cli._extract import extract
from dynkube.cli._managed import Managed
from dynkube.cli._ownership import release, transfer, upgrade_managed_fields
from dynkube.cli._run import exit_code
from dynkube.errors import InvalidInput, NotFound
from dynkube.telemetry import Observer
from dynkube_testing import APIServer
from tests.manifests.kit import config

OFFLINE = ["--url", "http://127.0.0.1:1"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded(Cluster):
    """Cluster options of a command that select an embedded server."""

    server: APIServer

    def client(self, *, observers: Iterable[Observer] = ()) -> Client:
        return connect(transport=self.server.transport(), observers=observers)


async def have(server: APIServer, manager: str, **data: str) -> None:
    async with connect(transport=server.transport(), field_manager=manager) as client:
        await client.resource("configmaps").apply(config("a", **data))


async def fields(server: APIServer, manager: str) -> set[str]:
    async with connect(transport=server.transport()) as client:
        return set(map(str, fields_of(await client.resource("configmaps").get("a"), manager)))


async def test_released_fields_keep_their_values(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    await have(server, "dynkube", x="1", y="2")

    await release("cm", "a", [".data.x"], cluster=Embedded(server=server))

    assert capfd.readouterr() == ("changed     configmap/a -n default\n", "")
    assert await fields(server, "dynkube") == {".data.y"}
    assert server.get("configmaps", "a")["data"] == {"x": "1", "y": "2"}


async def test_a_dry_run_changes_no_managers(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    await have(server, "team", x="1")
    cluster, managed = Embedded(server=server), Managed(manager="team", namespace="default")

    await release("cm", "a", [".data.x"], managed=managed, dry_run=True, cluster=cluster)
    await transfer("cm", "a", to="other", managed=managed, dry_run=True, cluster=cluster)

    line = "changed     configmap/a -n default  (dry run: nothing was written)\n"
    assert capfd.readouterr() == (2 * line, "")
    assert await fields(server, "team") == {".data.x"}


@pytest.mark.parametrize(("paths", "left", "moved"), [(None, set(), {"x", "y"}), ([".data.x"], {"y"}, {"x"})])
async def test_fields_are_transferred_to_another_manager(
    server: APIServer, paths: list[str] | None, left: set[str], moved: set[str]
) -> None:
    await have(server, "team", x="1", y="2")

    await transfer("cm", "a", paths, to="other", managed=Managed(manager="team"), cluster=Embedded(server=server))

    assert await fields(server, "team") == {f".data.{name}" for name in left}
    assert await fields(server, "other") == {f".data.{name}" for name in moved}


@pytest.mark.parametrize(("names", "manager"), [(None, "kubectl-client-side-apply"), (["old"], "old")])
async def test_fields_of_client_side_apply_are_converted_once(
    server: APIServer, capfd: pytest.CaptureFixture[str], names: list[str] | None, manager: str
) -> None:
    old, cluster = config("a", x="1"), Embedded(server=server)
    if names is None:  # the default managers, found by this annotation
        old["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(old)}
    async with cluster.client() as client:
        await client.resource("configmaps").create(old, field_manager=manager)

    for _ in range(2):
        await upgrade_managed_fields("cm", "a", client_side=names, cluster=cluster)

    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()] == ["changed", "unchanged"]
    assert ".data.x" in await fields(server, "dynkube")


@pytest.mark.parametrize("output", ["yaml", "json"])
async def test_the_fields_that_a_manager_applied_are_extracted(
    server: APIServer, capfd: pytest.CaptureFixture[str], output: str
) -> None:
    await have(server, "dynkube", x="a\x1b[2J\u202e")
    await have(server, "other", y="2")

    await extract("cm", "a", output="json" if output == "json" else "yaml", cluster=Embedded(server=server))

    out = capfd.readouterr().out
    read = json.loads(out) if output == "json" else yaml.safe_load(out)
    assert read == config("a", namespace="default", x="a\x1b[2J\u202e")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("manager", "message"),
    [
        ("unknown", "kubectl-edit (Update). Pass a manager that applied it as --manager\n"),
        ("kubectl-edit", "It wrote by Update: convert with dynkube upgrade-managed-fields\n"),
    ],
)
async def test_the_error_for_a_manager_that_applied_nothing_names_flags(
    server: APIServer, capsys: pytest.CaptureFixture[str], manager: str, message: str
) -> None:
    cluster = Embedded(server=server)
    async with cluster.client() as client:
        await client.resource("configmaps").create(config("a", x="1"), field_manager="kubectl-edit")

    with pytest.raises(InvalidInput) as caught:
        await extract("cm", "a", managed=Managed(manager=manager), cluster=cluster)

    assert exit_code(caught.value) == 1
    assert capsys.readouterr().err.endswith(message)


async def test_fields_of_other_managers_and_missing_objects_are_errors(server: APIServer) -> None:
    await have(server, "dynkube", x="1")
    cluster = Embedded(server=server)

    with pytest.raises(InvalidInput, match=r"'dynkube' does not own \.data\.y of ConfigMap 'a'"):
        await release("cm", "a", [".data.y"], cluster=cluster)
    with pytest.raises(InvalidInput, match=r"'unknown' owns no fields of ConfigMap 'a'; its managers are: dynkube"):
        await transfer("cm", "a", to="other", managed=Managed(manager="unknown"), cluster=cluster)
    with pytest.raises(NotFound):
        await extract("cm", "b", cluster=cluster)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["release", "cm", "a"], 2, "PATHS"),
        (["transfer", "cm", "a"], 2, "--to"),
        (["extract", "cm"], 2, "NAME"),
        (["release", "cm", "a", ".data["], 1, "error: PATHS: invalid path '.data['"),
        (["transfer", "cm", "a", "--to", ""], 1, "error: --to must be the name of a field manager"),
        (["release", "cm", "a", ".x", "--manager", ""], 1, "error: --manager must be the name of a field manager"),
        (["upgrade-managed-fields", "cm", "a", "--client-side", ""], 1, "error: --client-side must be the name"),
        (["extract", "cm", "a", "-n", ""], 1, "error: -n is empty"),
    ],
)
def test_invalid_arguments_are_rejected(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *OFFLINE]) == code

    assert message in capsys.readouterr().err


@pytest.mark.real_time
async def test_the_commands_can_be_run_by_main(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    await have(server, "team", x="1", y="2", z="3")
    async with server.serve() as endpoint:
        for line in (
            "release cm a .data.x .data.y -n default --manager team",
            "transfer cm a .data.z --to other --field-manager team",
            "upgrade-managed-fields cm a --manager other --dry-run",
        ):
            assert await trio.to_thread.run_sync(main, [*line.split(), "--url", endpoint.url]) == 0
        assert (
            await trio.to_thread.run_sync(main, ["extract", "cm", "a", "--manager", "team", "--url", endpoint.url]) == 1
        )

    assert (await fields(server, "team"), await fields(server, "other")) == (set(), {".data.z"})
    assert capfd.readouterr().err.startswith("error: manager 'team' has not applied ConfigMap 'a'")
