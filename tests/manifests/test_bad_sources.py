"""Errors in a source are reported with file, line and column, and affect only their document."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import InvalidInput
from dynkube.manifests import ManifestSource, leaves
from dynkube.manifests._manifest import refuse_contradictions
from dynkube.manifests._sources import read, read_stdin
from tests.manifests.kit import config

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n"
TO_ITSELF: list[Any] = []
TO_ITSELF.append(TO_ITSELF)


def results(source: ManifestSource) -> list[str]:
    """Return the name of each manifest, or its position and error."""
    manifests = refuse_contradictions(read(leaves(source), lambda: b""), "default")
    return [
        f"{manifest.place}: {manifest.error}" if manifest.error is not None else manifest.checked.name
        for manifest in manifests
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: [1, 2\n", r"<text>:\d:1: malformed YAML: did not find expected ',' or '\]'"),
        ("a: b: c\n", "<text>:1:5: malformed YAML: mapping values are not allowed in this context"),
        ("a: 1\n\tb: 2\n", "<text>:2:1: malformed YAML: found a tab character that violates"),
        ("a: 1\na: 2\n", '<text>:2:1: malformed YAML: key "a" already set in map'),
        ("a: *unknown\n", "<text>:1:4: malformed YAML: found undefined alias"),
        ("a: !!python/object:os.system x\n", "<text>:1:4: malformed YAML: could not determine a constructor"),
        ("a: \x00\n", "<text>:1: malformed YAML: "),
        ("- 1\n- 2\n", "<text>:1: it is a list, not a Kubernetes object"),
        ("just words\n", "<text>:1: it is a str, not a Kubernetes object"),
        ("kind: ConfigMap\nmetadata: {name: a}\n", "<text>:1: it has no apiVersion: add it"),
        ("apiVersion: v1\nmetadata: {name: a}\n", "<text>:1: it has no kind: add it"),
        ("apiVersion: v1\nkind: ConfigMap\n", "<text>:1: it has no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", "<text>:1: it has metadata.generateName"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 7}\n", "<text>:1: .*: metadata.name is a number, expected"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {a: 1}}\n",
            r"<text>:1: .*labels\[...\] is a number",
        ),
    ],
)
def test_an_error_has_its_position_and_the_next_document_is_read(text: str, mistake: str) -> None:
    first, second = results(f"{text}---\n{GOOD}")

    assert re.match(mistake, first), first
    assert second == "good"


def test_line_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(f"{GOOD}---\n# a comment\na: 1\nb: c: d\n---\n{GOOD.replace('good', 'other')}")

    assert results(path) == [
        "good",
        f"{path}:7:5: malformed YAML: mapping values are not allowed in this context",
        "other",
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('{"kind": "Pod"\n "x": [}', ":2:2: malformed JSON: Expecting ',' delimiter"),
        ('{"kind":\t"Pod"]', ":1:15: malformed JSON: Expecting ',' delimiter"),
        ('{"a": 1, "a": 2}', ':1: malformed JSON: key "a" is duplicated'),
    ],
)
def test_a_json_file_must_be_valid_json(text: str, mistake: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)

    assert results(path) == [f"{path}{mistake}"]


@pytest.mark.parametrize("level", ["&l{} [{}]", "&l{} {{<<: [{}]}}"], ids=["aliases", "merge keys"])
def test_excessive_aliasing_is_rejected_before_it_is_expanded(level: str) -> None:
    levels = "".join(f"l{n}: {level.format(n, ', '.join([f'*l{n - 1}'] * 9))}\n" for n in range(1, 12))

    mistake, good = results(f"l0: &l0 {{a: 1}}\n{levels}---\n{GOOD}")

    assert re.match(r"<text>:\d+:\d+: malformed YAML: document contains excessive aliasing: \d+ values", mistake)
    assert good == "good"


def test_an_alias_that_contains_itself_is_rejected() -> None:
    assert results("a: &a\n  b: *a\n") == ["<text>:2:6: malformed YAML: anchor 'a' value contains itself"]


def test_aliases_within_the_limits_are_expanded() -> None:
    text = f"{GOOD}data: &data {{a: x, b: y}}\nbinaryData:\n  <<: *data\n  b: z\n"

    (manifest,) = read(leaves(text), lambda: b"")

    assert manifest.checked["binaryData"] == {"a": "x", "b": "z"}


@pytest.mark.parametrize("source", [TO_ITSELF, [TO_ITSELF, GOOD]])
def test_sources_that_contain_themselves_are_rejected(source: ManifestSource) -> None:
    with pytest.raises(InvalidInput, match="source contains itself or is nested too deeply: pass a flat list"):
        leaves(source)


def test_deeply_nested_lists_are_rejected() -> None:
    text = "{kind: List, apiVersion: v1, items: [" * 400 + "]}" * 400

    (mistake,) = results(f"# YAML\n{text}")

    assert "it is a List nested in 10 others: put its items into one List" in mistake


def test_a_dict_that_contains_itself_or_is_too_deep_is_rejected() -> None:
    itself, deep = config("a"), config("b")
    itself["data"]["a"] = itself
    for _ in range(2_000):
        deep = {"apiVersion": deep}

    assert results([itself, deep]) == [
        "<object 1>: it contains itself",
        "<object 2>: it is nested more than 1,000 levels deep",
    ]


def test_a_dict_that_repeats_its_parts_is_rejected_before_it_is_encoded() -> None:
    parts: object = ["x"]
    for _ in range(40):
        parts = [parts, parts]

    (mistake,) = results(config("a") | {"data": parts})

    assert mistake.startswith("<object 1>: it repeats shared parts too often: ")


def test_invalid_utf_8_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"a: 1\nb: \xe9\n")

    assert results(path) == [f"{path}:2: it is not UTF-8 text: invalid continuation byte at byte 8"]


def test_missing_paths_and_folders_without_manifests_are_errors(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert results([tmp_path / "no.yaml", tmp_path / "empty", config("good")]) == [
        f"{tmp_path}/no.yaml: it cannot be read: no such file or directory",
        f"{tmp_path}/empty: it has no .yaml, .yml or .json file",
        "good",
    ]


def test_the_error_for_an_unreadable_subfolder_has_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    scan = os.scandir

    def fail(path: str) -> object:
        if path == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", fail)

    assert results(tmp_path) == [f"{closed}: it cannot be read: Permission denied"]


@pytest.mark.parametrize("source", ["a\0b", Path("a\0b")])
def test_a_path_with_a_nul_character_is_rejected_at_once(source: ManifestSource) -> None:
    with pytest.raises(InvalidInput, match="contains a NUL character"):
        leaves(source)


def test_a_url_is_rejected_at_once() -> None:
    with pytest.raises(InvalidInput, match="is a URL: download it"):
        leaves("https://example.com/install.yaml")


def test_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "__stdin__", None)

    (manifest,) = read(leaves("-"), read_stdin)

    assert f"{manifest.place}: {manifest.error}" == "<stdin>: it cannot be read: it is closed"


def test_several_strings_are_numbered() -> None:
    texts = [f"{GOOD}data: {{x: '{number}'}}\n" for number in (1, 2)]

    assert results(texts) == [
        "<text>:1: the same object is defined at <text 2>:1 with other content: keep one of them",
        "<text 2>:1: the same object is defined at <text>:1 with other content: keep one of them",
    ]


def test_an_object_that_cannot_be_json_is_an_error() -> None:
    (mistake,) = results({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": object()}})

    assert mistake.startswith("<object 1>: it cannot be written as JSON")


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_nan_and_infinity_are_errors_and_do_not_become_null(number: str) -> None:
    (mistake,) = results(
        {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "x": [None, {"y": float(number)}]}
    )

    assert mistake.startswith(
        f"<object 1>: it cannot be written as JSON: .x[1].y is {number}, which JSON cannot represent"
    )


def test_each_of_several_contradictory_manifests_names_the_others() -> None:
    objects = [config("a", x="1"), config("a", namespace="default", x="2"), config("a", namespace="b")]

    first, second, third = results(objects)

    assert first == "<object 1>: the same object is defined at <object 2> with other content: keep one of them"
    assert second.startswith("<object 2>: the same object is defined at <object 1>")
    assert third == "a"


def test_another_version_of_a_kind_is_the_same_object() -> None:
    old: dict[str, object] = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
    }

    assert all("is defined at" in mistake for mistake in results([old, old | {"apiVersion": "autoscaling/v2"}]))


def test_identical_manifests_of_one_object_are_not_an_error() -> None:
    manifests = refuse_contradictions(read(leaves([config("a"), config("a")]), lambda: b""), "default")

    assert [manifest.error for manifest in manifests] == [None, None]
    assert [str(manifest.same_as or "") for manifest in manifests] == ["", "<object 1>"]


def test_named_pipes_and_devices_are_errors(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")

    assert results([tmp_path, "/dev/zero", config("good")]) == [
        f"{tmp_path}/fifo.yaml: it cannot be read: it is a named pipe (FIFO): copy its content to a file",
        "/dev/zero: it cannot be read: it is a device: copy its content to a file",
        "good",
    ]


def test_a_file_that_is_too_large_is_an_error_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)

    assert results(path) == [
        f"{path}: it cannot be read: it has 1,099,511,627,776 bytes, the limit is 104,857,600 bytes"
    ]


def test_endless_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "read", lambda descriptor, size: bytes(size))

    (manifest,) = read(leaves("-"), read_stdin)

    assert str(manifest.error) == "it cannot be read: it is too large, the limit is 104,857,600 bytes"


def test_many_directives_without_a_document_are_parsed_in_linear_time() -> None:
    assert len(results("%a\n" * 30_000)) == 1


def test_a_duplicate_among_many_keys_is_found_in_linear_time() -> None:
    keys = ", ".join(f'"k{number}": 1' for number in range(30_000))

    assert results(f'{{{keys}, "k29999": 1}}')[0].endswith('"k29999" already set in map')
