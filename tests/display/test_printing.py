"""``print`` shows statuses, statistics and lists as a terminal does, not as the repr of a record."""

from __future__ import annotations

from dynkube import Client
from dynkube.controllers import ControllerPhase, ControllerStatus
from dynkube.discovery import APIResources
from dynkube.inspection import ObjectEvents
from dynkube_testing import APIServer
from tests.display.test_resources import resource


def test_resources_print_as_a_table() -> None:
    printed = str(APIResources([resource("webs")], {})).splitlines()

    assert printed[0].startswith("NAME  SHORT NAMES  API VERSION")
    assert printed[1].startswith("webs")


def test_the_status_of_a_controller_prints_its_name_and_phase_first() -> None:
    printed = str(ControllerStatus("sites", "sites.example.com", ControllerPhase.RUNNING))

    assert printed.splitlines()[0].startswith("controller · sites")
    assert printed.splitlines()[0].endswith("Running")


async def test_statistics_print_as_they_are_displayed(server: APIServer, client: Client) -> None:
    async with client.informer("configmaps.v1") as configs:
        await configs.wait_synced()

        assert str(configs.statistics()).startswith("informer statistics · LIVE · 0 objects\n")
    assert str(client.statistics()).startswith("REST statistics · ")


def test_a_list_without_rows_does_not_print_as_an_empty_line() -> None:
    assert str(ObjectEvents([])) == "events · 0 events"
    assert str(APIResources([], {})).strip()
