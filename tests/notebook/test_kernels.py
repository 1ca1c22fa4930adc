"""A real kernel: informers run across cells, the stop button ends waiting calls, a restart ends everything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dynkube_testing import ServerThread, serve_in_thread
from tests.notebook.kernel import Kernel

pytestmark = pytest.mark.real_time

WAITING = """
print("waiting")
{call}
"""


def test_an_informer_runs_across_cells(cluster: ServerThread, kernel: Kernel) -> None:
    kernel.run("maps = k.informer('configmaps', namespace='default'); maps.wait_synced(timeout=10)")
    created = cluster.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}}
    )
    kernel.run(f"import dynkube; one = dynkube.Unstructured({dict(created)!r}); maps.wait_for(one, timeout=10)")

    assert kernel.run("print([obj.name for obj in maps])").printed == "['one']\n"


@pytest.mark.parametrize(
    "call",
    [
        "k.informer('widgets.v1.example.com').wait_state(dynkube.LIVE)",
        "k.resource('pods').wait_for('never', 'create', timeout=None)",
    ],
)
def test_the_stop_button_ends_a_waiting_call_but_no_informer(kernel: Kernel, call: str) -> None:
    kernel.run("namespaces = k.informer('namespaces'); namespaces.wait_synced(timeout=10)")

    stopped = kernel.run(WAITING.format(call=call), on_output=lambda text: kernel.interrupt())
    after = kernel.run("print(namespaces.state.phase, len(namespaces))")

    assert stopped.error == "KeyboardInterrupt: "
    assert after.printed == "LIVE 4\n"


def test_the_stop_button_ends_a_loop_over_events(kernel: Kernel) -> None:
    kernel.run("namespaces = k.informer('namespaces'); namespaces.wait_synced(timeout=10)")
    loop = "with namespaces.events() as events:\n    for event in events: print(event.object.name)"

    names: list[str] = []

    def stop_after_all(text: str) -> None:
        names.extend(text.split())
        if len(names) == 4:
            kernel.interrupt()

    stopped = kernel.run(loop, on_output=stop_after_all)

    assert stopped.error == "KeyboardInterrupt: "
    assert kernel.run("print(namespaces.state.phase)").printed == "LIVE\n"


def test_names_and_fields_are_completed(cluster: ServerThread, kernel: Kernel) -> None:
    kernel.run("%load_ext dynkube")
    kernel.run("k.mapper.load(); all = k.get('namespaces')")
    before = len(cluster.audit)

    assert kernel.complete('k["deplo') == ["deployments"]
    assert kernel.complete("k.resources.deplo") == ["deployments"]
    assert kernel.complete("k.resources.deployments.delete_c") == ["delete_collection"]
    assert kernel.complete('k["deployments"].delete_c') == ["delete_collection"]
    assert kernel.complete('all[0]["metadata"]["na') == ["name"]
    assert kernel.complete("all[0].resource_v") == ["resource_version"]
    assert cluster.audit[before:] == []


def test_the_traceback_of_an_error_response_is_short(kernel: Kernel) -> None:
    cell = kernel.run("k.resource('configmaps').get('none')")

    assert cell.error.startswith("NotFound: 404 NotFound")
    assert len(cell.traceback.splitlines()) <= 12, cell.traceback
    assert "trio" not in cell.traceback


def test_the_traceback_of_a_connection_error_is_short(kernel: Kernel) -> None:
    cell = kernel.run("dynkube.sync.connect(url='http://127.0.0.1:9').resource('pods').list()")

    assert cell.error.startswith("ConnectFailed: ")
    assert len(cell.traceback.splitlines()) <= 12, cell.traceback


def test_output_of_a_handler_appears_below_its_cell(kernel: Kernel) -> None:
    cell = kernel.run(
        "namespaces = k.informer('namespaces', field_selector='metadata.name=default')\n"
        "namespaces.add_handler(on_add=lambda obj: print('saw', obj.name)).wait_synced(timeout=10)"
    )

    assert cell.printed == "saw default\n"


def test_two_clients_of_two_clusters_are_independent(cluster: ServerThread, kernel: Kernel) -> None:
    def named(name: str) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-public"}}

    with serve_in_thread() as other:
        kernel.run(
            f"two = dynkube.sync.connect(url={other.url!r})\n"
            "here, there = [each.informer('configmaps', namespace='kube-public') for each in (k, two)]\n"
            "tables = [here.live(), k.get('configmaps', namespace='kube-public').live(), there.live()]\n"
            "for each in (here, there): each.wait_synced(timeout=10)"
        )
        cluster.create(named("one"))
        created = [dict(server.create(named(name))) for server, name in ((cluster, "here"), (other, "there"))]
        result = kernel.run(
            f"for each, obj in zip((here, there), {created!r}): each.wait_for(dynkube.Unstructured(obj), timeout=10)\n"
            "print([sorted(obj.name for obj in each) for each in (here, there)])\n"
            "print(two.get('cm', 'there', namespace='kube-public').name)"
        )
        closed = kernel.run(
            "two.close()\n"
            "print(repr(two), there.state.phase, here.state.phase, len(k.get('cm', namespace='kube-public')))\n"
            "print([table._follower.picture.head.following for table in tables])"
        )

    assert (result.error, result.printed) == ("", "[['here', 'one'], ['there']]\nthere\n")
    assert (closed.error, closed.printed) == ("", "<Client, closed> STOPPED LIVE 2\n[True, True, False]\n")


def test_a_restart_ends_the_process_and_runs_finally_blocks(kernel: Kernel, tmp_path: Path) -> None:
    process = int(kernel.run("import os; print(os.getpid())").printed)
    cleaned = tmp_path / "cleaned"
    kernel.run(
        f"""
import pathlib, trio
async def on_add(obj):
    try:
        await trio.sleep_forever()
    finally:
        pathlib.Path({str(cleaned)!r}).write_text("up")
namespaces = k.informer("namespaces")
handler = namespaces.add_handler(on_add=on_add)
while not handler.statistics().handled: pass
"""
    )

    kernel.restart()

    assert cleaned.read_text() == "up"
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    # The kernel is new from here on, so this must be the last test of the module that uses the old one.
    assert kernel.run("print('k' in globals())").printed == "False\n"


def test_a_live_status_of_controllers_is_replaced_when_they_stop(cluster: ServerThread, kernel: Kernel) -> None:
    kernel.run(f"""
import dynkube.sync
from dynkube.controllers import Controller
k = dynkube.sync.connect(url={cluster.url!r})
running = dynkube.sync.start(k, Controller("configmaps", lambda ctx, key: None))
""")
    shown = kernel.run("running.live()").result["text/plain"]
    cell = kernel.run("live = running.live(); display(live); running.stop()")

    assert "configmaps" in shown
    assert "Stopped" not in shown
    assert "Stopped" in cell.result["text/plain"], cell.traceback
