"""Which differences between two states count."""

from __future__ import annotations

from typing import Any

from dynkube_testing._perturbation.states import Objects, differences, flattened, normalized, varying
from tests.testing.perturbation.kit import config


def state(*objects: dict[str, Any]) -> Objects:
    return {f"configmaps default/{each['metadata']['name']}": each for each in objects}


def differing(found: Objects, expected: Objects) -> list[str]:
    return differences(flattened(normalized(found)), flattened(normalized(expected)))


def with_metadata(obj: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


def test_uids_versions_times_and_managers_do_not_count() -> None:
    old = with_metadata(config("a"), uid="1", resourceVersion="7", creationTimestamp="2026-01-01T00:00:00Z")
    new = with_metadata(config("a"), uid="2", resourceVersion="9", managedFields=[{"manager": "x"}], generation=3)

    assert differing(state(new), state(old)) == []


def test_times_in_the_content_do_not_count_but_that_there_is_one_does() -> None:
    one, other = config("a", at="2026-01-01T00:00:00Z"), config("a", at="2026-11-28T07:00:00.123Z")

    assert differing(state(one), state(other)) == []
    assert differing(state(config("a")), state(one)) == [
        "configmaps default/a .data: {}, expected (missing)",
        "configmaps default/a .data.at: (missing), expected '(a time)'",
    ]


def test_an_object_that_is_missing_or_unexpected_is_one_line() -> None:
    assert differing(state(config("a")), state(config("b"))) == [
        "configmaps default/b is missing",
        "configmaps default/a exists, unexpectedly",
    ]


def test_generated_names_are_equal_by_what_the_objects_contain() -> None:
    def generated(*names: str) -> Objects:
        made = [with_metadata(config(f"web-{name}", n=str(n)), generateName="web-") for n, name in enumerate(names)]
        return state(*made, config("list", first=f"web-{names[0]}"))

    assert differing(generated("x", "a"), generated("b", "c")) == []
    assert differing(generated("x", "a"), generated("b")) == ["configmaps default/web-<2> exists, unexpectedly"]


def test_an_owner_counts_by_name_and_by_whether_it_exists() -> None:
    def owned(uid: str) -> Objects:
        owner = {"kind": "ConfigMap", "name": "a", "uid": uid}
        return state(with_metadata(config("a"), uid=f"{len(uid)}"), with_metadata(config("b"), ownerReferences=[owner]))

    assert differing(owned("1"), owned("1")) == []
    (line,) = differing(owned("9"), owned("1"))
    assert line == "configmaps default/b .metadata.ownerReferences[0].exists: False, expected True"


def test_what_varies_without_perturbations_is_masked() -> None:
    states = [flattened(normalized(state(config("a", colour=colour, size="1")))) for colour in ("red", "blue")]
    masked = varying(states)

    assert masked == {"configmaps default/a .data.colour"}
    assert differences(flattened(normalized(state(config("a", colour="green", size="1")))), states[0], masked) == []
    assert differences(flattened(normalized(state(config("a", colour="green", size="2")))), states[0], masked) == [
        "configmaps default/a .data.size: '2', expected '1'"
    ]


def test_uids_in_names_and_values_count_by_the_object_that_has_them() -> None:
    def reported(uid: str, about: str = "a") -> Objects:
        reports = config(f"report-{uid}", about=f"uid={uid}", gone="99999999-0000-0000-0000-000000000000")
        return state(with_metadata(config(about), uid=uid), reports)

    one, two = ("11111111-0000-0000-0000-000000000001", "22222222-0000-0000-0000-000000000002")
    assert differing(reported(one), reported(two)) == []
    assert "configmaps default/report-<uid-of-configmaps/default/b> is missing" in differing(
        reported(one), reported(one, about="b")
    )
