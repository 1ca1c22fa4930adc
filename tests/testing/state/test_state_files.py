"""Snapshots as files: the format, and errors for invalid files."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Snapshot
from tests.contract.objects import config
from tests.testing.state.test_snapshots import all_objects, populated

# The first version of the format, which must stay readable.
VERSION_1 = """{"format":"dynkube.testing/state","version":1,"revision":7,"resources":[
{"name":"configmaps","fields":[],"objects":[
{"metadata":{"resourceVersion":"6","name":"a","namespace":"default","uid":"u-a","labels":{"x":"y"}},"data":{"k":"v"}}
]},
{"name":"pods","fields":["spec.nodeName"],"objects":[
{"metadata":{"resourceVersion":"7","name":"p","namespace":"default","uid":"u-p"},"spec":{"nodeName":"n1"}}
]}
]}
"""


def test_a_saved_snapshot_can_be_restored(tmp_path: Path) -> None:
    old, new = populated(), APIServer()

    old.snapshot().save(tmp_path / "state.json")
    new.restore(tmp_path / "state.json")

    assert all_objects(new) == all_objects(old)
    assert new.revision == old.revision


def test_saving_a_read_snapshot_gives_the_same_file(tmp_path: Path) -> None:
    populated().snapshot().save(tmp_path / "one")

    Snapshot.read(tmp_path / "one").save(tmp_path / "two")

    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_a_file_of_the_first_version_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "state").write_text(VERSION_1)
    server = APIServer()

    server.restore(tmp_path / "state")

    assert server.get("configmaps", "a")["metadata"]["resourceVersion"] == "6"
    assert server.list("pods", field_selector="spec.nodeName=n1", label_selector="!x")
    assert server.list("configmaps", label_selector="x=y")


def test_events_of_an_earlier_file_are_those_of_both_groups(tmp_path: Path) -> None:
    metadata = {"name": "e", "namespace": "default", "uid": "1", "resourceVersion": "7"}
    event = {"metadata": metadata, "eventTime": None, "regarding": {"kind": "Pod", "name": "p"}, "note": "n"}
    core = {"metadata": {**metadata, "name": "c"}, "message": "m", "involvedObject": {}}
    resources = [
        {"name": "events", "fields": [], "objects": [core]},
        {"name": "events.events.k8s.io", "fields": ["regarding.kind"], "objects": [event]},
    ]
    state = {"format": "dynkube.testing/state", "version": 1, "revision": 9, "resources": resources}
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    server = APIServer()

    server.restore(path)

    assert [each["message"] for each in server.list("events.v1.")] == ["m", "n"]
    (found,) = server.list("events.v1.", field_selector="involvedObject.kind=Pod")
    assert found["metadata"]["name"] == "e"
    assert [each["note"] for each in server.list("events.v1.events.k8s.io")] == ["m", "n"]


def test_the_file_is_readable_by_its_owner_only_and_has_one_object_per_line(tmp_path: Path) -> None:
    snapshot = populated().snapshot()

    path = snapshot.save(tmp_path / "state.json")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    objects = [line for line in path.read_text().splitlines() if line.startswith('{"metadata"')]
    assert len(objects) == len(snapshot)
    assert list(tmp_path.iterdir()) == [path]


def test_a_snapshot_saved_with_skip_leaves_room_for_later_revisions(tmp_path: Path) -> None:
    old, new = populated(), APIServer()

    old.snapshot().save(tmp_path / "state.json", skip=1000)
    lost = old.create(config("lost"))
    new.restore(tmp_path / "state.json")
    written = new.create(config("other"))

    assert int(written["metadata"]["resourceVersion"]) == int(lost["metadata"]["resourceVersion"]) + 1000


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = populated().snapshot().save(tmp_path / "state.json")
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        APIServer().snapshot().save(path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a saved state of an embedded server"),
        ("apiVersion: v1", "not a saved state of an embedded server"),
        ("{}", "missing required field `format`"),
        ('{"format":"other","version":1}', "its format is 'other'"),
        (VERSION_1.replace('"version":1', '"version":2'), "its version is 2, but this dynkube reads up to 1"),
        (VERSION_1.replace('"revision":7,', ""), "missing required field `revision`"),
        (VERSION_1.replace('"revision":7', '"revision":6'), "pods p: metadata.resourceVersion is '7', not a number"),
        (VERSION_1.replace('"6"', '"six"'), "configmaps a: metadata.resourceVersion is 'six'"),
        (VERSION_1.replace('"name":"a",', ""), "configmaps: an object has no metadata.name"),
        (VERSION_1[:200], "Input data was truncated"),
    ],
)
def test_the_error_for_an_invalid_file_names_it(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "state").write_text(content)
    server = populated()
    before = json.dumps(all_objects(server))

    with pytest.raises(InvalidInput, match=message) as caught:
        server.restore(tmp_path / "state")

    assert str(tmp_path / "state") in str(caught.value)
    assert json.dumps(all_objects(server)) == before
