"""Display of one object: kind, name and state in the heading, other fields collapsed, no values of Secrets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dynkube import Unstructured
from dynkube._display.objects import object_card
from tests.display.kit import NOW, POD, Page, lines

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def shown(**fields: Any) -> Page:
    return Page(object_card({"apiVersion": "v1", "kind": "Thing", **fields}, now=NOW))


def test_the_heading_has_kind_name_and_state() -> None:
    assert Page(object_card(POD, now=NOW)).text(".dk-head") == "v1 Pod · shop/web-1 · Ready 1/1 · Running · age 5d3h"


def test_labels_conditions_and_owners_are_visible_and_other_fields_collapsed() -> None:
    page = Page(object_card(POD, now=NOW))

    assert page.all(".dk-facts tr") == ["labelsapp=web, tier=front", "owned byReplicaSet/web"]
    assert page.all(".dk-chip") == ["PodScheduled=True", "Ready=True"]
    assert list(page.sections()) == ["spec", "status", "metadata"]
    assert page.sections()["spec"] == "containers:\n- name: web\n  image: web:1"
    assert not page.all("details[open]")


def test_a_terminal_displays_only_the_keys_of_collapsed_sections() -> None:
    assert lines(object_card(POD, now=NOW)) == [
        "v1 Pod · shop/web-1 · Ready 1/1 · Running · age 5d3h",
        "labels    app=web, tier=front",
        "owned by  ReplicaSet/web",
        "PodScheduled=True  Ready=True",
        "+ spec  containers",
        "+ status  phase, conditions, containerStatuses",
        "+ metadata  uid, resourceVersion, creationTimestamp",
    ]


def test_managed_fields_and_the_last_applied_configuration_are_not_displayed() -> None:
    metadata = {"managedFields": [{"manager": "ci"}] * 2, "annotations": {LAST_APPLIED: "hunter2", "note": "x"}}
    page = shown(metadata=metadata)

    assert page.sections()["annotations"] == f"{LAST_APPLIED}: (7 bytes, not shown)\nnote: x"
    assert page.sections()["metadata"] == "managedFields: (2 entries, not shown: see dynkube.owners)"
    assert not any(word in page.source for word in ("hunter2", "manager:"))


def test_of_a_secret_only_keys_and_sizes_are_displayed() -> None:
    data = {"password": base64.b64encode(b"hunter2").decode(), "odd": "?"}
    page = shown(kind="Secret", type="Opaque", data=data, stringData={"pin": "7345"})

    assert page.sections()["data"] == "password: (7 bytes, not shown)\nodd: (not base64, not shown)"
    assert page.sections()["stringData"] == "pin: (4 bytes, not shown)"
    assert "7345" not in page.source


@pytest.mark.parametrize("section", ["data", "stringData"])
@pytest.mark.parametrize("wrong", ["hunter2", ["hunter2"], {"a": ["hunter2"]}, {"a": {"b": "hunter2"}}])
def test_a_malformed_secret_displays_no_value(section: str, wrong: object) -> None:
    assert "hunter2" not in shown(kind="Secret", **{section: wrong}).source


@pytest.mark.parametrize("item", [{"kind": "Secret"}, {}])
def test_secrets_in_a_list_display_no_values(item: dict[str, Any]) -> None:
    secret = {**item, "metadata": {"annotations": {LAST_APPLIED: "hunter2"}}, "data": {"a": "hunter2"}}

    assert "hunter2" not in shown(kind="SecretList", items=[secret]).source
    assert ("hunter2" in shown(kind="List", items=[secret]).source) is (item == {})


@pytest.mark.parametrize("kind", ["Thing", "List", "AdmissionReview"])
def test_nested_secrets_display_no_values(kind: str) -> None:
    metadata = {"annotations": {LAST_APPLIED: "hunter2"}}
    secret = {"kind": "Secret", "metadata": metadata, "data": {"a": "hunter2"}, "stringData": {"b": "hunter2"}}
    page = shown(kind=kind, spec={"template": secret}, request={"object": secret}, items=[[secret]])

    assert "hunter2" not in page.source
    assert "a: (not base64, not shown)" in page.sections()["spec"]
    assert page.sections()["request"].splitlines()[-2:] == ["  stringData:", "    b: (7 bytes, not shown)"]


def test_of_a_large_list_of_secrets_only_displayed_values_are_read() -> None:
    read: list[str] = []

    class Value(str):
        __slots__ = ()

        def __getitem__(self, place: Any) -> str:
            read.append(self)
            return super().__getitem__(place)

    data = {str(number): Value("b25l" * 10_000) for number in range(1000)}
    page = shown(kind="SecretList", items=[{"data": data}] * 5000)

    assert "(30.0 kB, not shown)" in page.sections()["items"]
    assert 100 < len(read) < 400


@pytest.mark.parametrize(
    ("condition", "chip", "kind"),
    [
        ({"type": "Ready", "status": "True", "reason": "Fine"}, "Ready=True", "dk-good"),
        ({"type": "Ready", "status": "False", "reason": "NoDisk"}, "Ready=False NoDisk", "dk-bad"),
        ({"type": "Ready", "status": "Unknown"}, "Ready=Unknown", "dk-warn"),
        ({"type": "DiskPressure", "status": "True"}, "DiskPressure=True", "dk-bad"),
        ({"type": "DiskPressure", "status": "False"}, "DiskPressure=False", "dk-good"),
        ({"type": "Ready", "status": "False", "reason": "PodCompleted"}, "Ready=False", None),
        ({"type": "Conflicted", "status": "False"}, "Conflicted=False", "dk-good"),
        ({"type": "Failed", "status": "True", "reason": "Deadline"}, "Failed=True Deadline", "dk-bad"),
        ({"type": "Reconciling", "status": "True"}, "Reconciling=True", None),
        ({"type": "DisruptionAllowed", "status": "False"}, "DisruptionAllowed=False", None),
        ({"type": "Progressing", "status": "False", "reason": "Late"}, "Progressing=False Late", "dk-bad"),
    ],
)
def test_the_colour_of_a_condition_depends_on_type_and_status(
    condition: dict[str, str], chip: str, kind: str | None
) -> None:
    page = shown(status={"conditions": [condition]})

    assert page.all(f".dk-chip{f'.{kind}' if kind else ':not(.dk-good,.dk-bad,.dk-warn)'}") == [chip]


@pytest.mark.parametrize(
    ("fields", "head"),
    [
        ({"spec": {"replicas": 3}, "status": {"replicas": 3, "readyReplicas": 2}}, "Ready 2/3"),
        ({"spec": {"replicas": 3}, "status": {"replicas": 3}}, "Ready 0/3"),
        ({"spec": {"replicas": 3}}, ""),
        ({"status": {"desiredNumberScheduled": 4, "numberReady": 4}}, "Ready 4/4"),
        ({"spec": {"completions": 1}, "status": {"succeeded": 1}}, "Ready 1/1"),
        ({"status": {"conditions": [{"type": "Available", "status": "False"}]}}, "Ready False"),
        ({"status": {"phase": "Bound"}}, "Bound"),
        ({"metadata": {"deletionTimestamp": "2026-05-06T00:00:00Z"}, "status": {"phase": "Active"}}, "Terminating"),
    ],
)
def test_the_state_is_read_from_common_fields(fields: dict[str, Any], head: str) -> None:
    metadata = {"name": "a", **fields.pop("metadata", {})}

    assert shown(metadata=metadata, **fields).text(".dk-head").removeprefix("v1 Thing · a").strip(" ·") == head


@pytest.mark.parametrize("api_version", ["autoscaling/v1", "autoscaling/v1beta1"])
def test_a_scale_has_no_readiness(api_version: str) -> None:
    fields = {"spec": {"replicas": 3}, "status": {"replicas": 3, "selector": "app=web"}}
    page = shown(apiVersion=api_version, kind="Scale", metadata={"name": "web"}, **fields)

    assert page.text(".dk-head") == f"{api_version} Scale · web"


def test_the_waiting_reason_of_a_container_is_the_status() -> None:
    waiting = {"name": "web", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    page = shown(status={"phase": "Running", "containerStatuses": [waiting]})

    assert page.text(".dk-head").endswith("Ready 0/1 · CrashLoopBackOff")


def test_an_object_being_deleted_displays_its_finalizers() -> None:
    metadata = {"deletionTimestamp": "2026-05-06T00:00:00Z", "finalizers": ["example.com/backup"]}

    assert shown(metadata=metadata).all(".dk-facts tr") == ["finalizersexample.com/backup"]


@pytest.mark.parametrize("wrong", [None, 7, True, "text", [], [1, None], {"a": None}, {"conditions": 7}])
@pytest.mark.parametrize("field", ["metadata", "spec", "status", "items", "kind", "apiVersion", "data"])
def test_a_malformed_object_is_displayed(field: str, wrong: object) -> None:
    obj = {**POD, field: wrong}

    assert Page(object_card(obj, now=NOW)).text()
    assert lines(object_card(obj, now=NOW))


def test_an_object_that_cannot_be_decoded_has_a_note() -> None:
    obj = Unstructured(b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":"\xff"}')

    page = Page(obj._repr_html_())

    assert page.text(".dk-head") == "v1 · Pod · a"
    assert "cannot be decoded" in page.text(".dk-note")
