"""Paths as strings: forms written by users, by this package and by API servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube import FieldPath
from dynkube.errors import InvalidInput
from dynkube.fields import Field, ItemKey, ItemValue, Step
from tests.fields.strategies import paths


@given(paths)
def test_a_path_can_be_parsed_from_its_string(path: FieldPath) -> None:
    assert FieldPath.parse(str(path)) == path
    assert eval(repr(path)) == path


@pytest.mark.parametrize(
    "text",
    [
        ".",
        ".spec.replicas",
        '.spec.containers[name="web"].image',
        '.spec.ports[containerPort=80,protocol="TCP"]',
        '.metadata.labels["app.kubernetes.io/name"]',
        '.metadata.finalizers[="example.com/protect"]',
        ".spec.args[0]",
        ".spec.x-kubernetes-map-type.$ref",
        '.spec.weird[""]["a b"]["\\"\\\\"]["ü"]',
        ".spec.sets[=1][=1.5][=true][=null]",
        '.spec.sets[=[1,"a"]][={"a":{"b":null}}]',
        '.spec.items["a.b"="c"]',
        '.spec.items[-=null][-1="a"]',
    ],
)
def test_canonical_paths_are_printed_as_written(text: str) -> None:
    assert str(FieldPath.parse(text)) == text


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("spec.replicas", ".spec.replicas"),
        ("['spec'].replicas", ".spec.replicas"),
        (".spec.containers[name=web]", '.spec.containers[name="web"]'),
        (".spec.containers[ name = 'web' , id = 7 ]", '.spec.containers[id=7,name="web"]'),
        (".spec.ports[protocol=TCP,containerPort=80]", '.spec.ports[containerPort=80,protocol="TCP"]'),
        (".spec.items[id=1e+06]", ".spec.items[id=1000000]"),
        (".spec.items[id=1.0][0 ]", ".spec.items[id=1][0]"),
        (".spec.items[on=true,off=null]", ".spec.items[off=null,on=true]"),
        (".spec.items[at=2024-01-02T03:04:05Z]", '.spec.items[at="2024-01-02T03:04:05Z"]'),
        (".spec.items[n=NaN]", '.spec.items[n="NaN"]'),
        (r'.spec.items[="\a\x00\u00fc\U0001f600\ud83d\ude00\/"]', '.spec.items[="\x07\\u0000ü😀😀/"]'),
        (".data.my key", '.data["my key"]'),
    ],
)
def test_a_path_may_be_written_in_other_ways(written: str, printed: str) -> None:
    path = FieldPath.parse(written)

    assert path == FieldPath.parse(printed)
    assert FieldPath.parse(str(path)) == path


@pytest.mark.parametrize(
    ("printed", "steps"),
    [
        (
            '.spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].name',
            [
                *(Field(name) for name in ("spec", "template", "spec", "containers")),
                ItemKey({"name": "web"}),
                Field("ports"),
                ItemKey({"containerPort": 80, "protocol": "TCP"}),
                Field("name"),
            ],
        ),
        ('.metadata.finalizers[="a\\"b"]', [Field("metadata"), Field("finalizers"), ItemValue('a"b')]),
    ],
)
def test_paths_printed_by_servers_can_be_parsed(printed: str, steps: list[Step]) -> None:
    assert FieldPath.parse(printed) == FieldPath(steps)


def test_an_ambiguous_path_of_a_server_is_resolved_among_known_paths() -> None:
    printed = ".metadata.labels.app.kubernetes.io/name"
    meant = FieldPath.parse('.metadata.labels["app.kubernetes.io/name"]')

    assert meant.as_server() == printed
    assert FieldPath.parse(printed, among=[FieldPath.parse(".metadata"), meant]) == meant
    assert len(FieldPath.parse(printed)) == 5


@pytest.mark.parametrize(
    ("text", "problem", "at"),
    [
        ("", "the path is empty", 0),
        (".spec.", "expected a field name", 6),
        (".spec..a", "expected a field name", 6),
        (".spec[0]a", "expected '.' or '['", 8),
        (".a[name=web", "expected ']'", 11),
        (".a[]", "expected a key, an index or a quoted name", 3),
        (".a[name]", r'quote a field name: ["name"]', 3),
        (".a[-1]", "negative indexes are not supported", 3),
        (".spec.containers[*].image", "wildcards are not supported: use the path of the list, '.spec.containers'", 17),
        (".a[?(@.name=='web')]", "filters are not supported: write [KEY=VALUE]", 3),
        (f".a[{'9' * 5000}]", "write [KEY=VALUE]", 3),  # more digits than Python converts
        (".a[name=]", "expected a value", 8),
        (".a[name=web,]", "expected a key, an index or a quoted name", 12),
        (".a[name=web,name=db]", "duplicate key 'name'", 12),
        (".a['x','y']", "write [KEY=VALUE]", 3),
        ('.a["web', "unterminated quote", 3),
        ('.a["\\q"]', "unknown escape \\q", 3),
        ('.a["\\ud800"]', "\\ud800 is not a valid character", 3),
        ('.a["\\UFFFFFFFF"]', "\\UFFFFFFFF is not a valid character", 3),
        (".a[={1}]", "the value is not valid JSON", 4),
        (".a[=[NaN]]", "the value is not valid JSON", 4),
        (".a]", "expected '.' or '['", 2),
    ],
)
def test_the_error_for_an_invalid_path_has_the_position(text: str, problem: str, at: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        FieldPath.parse(text)

    message, shown, mark = str(caught.value).split("\n")
    assert problem in message
    assert shown.strip() == text
    assert mark.index("^") - 2 == at


@pytest.mark.parametrize(
    ("text", "notation", "here"),
    [
        ("/spec/replicas", "a JSON pointer", ".spec.replicas"),
        ("/metadata/labels/app.kubernetes.io~1name", "a JSON pointer", '.metadata.labels["app.kubernetes.io/name"]'),
        ("/spec/containers/0/image", "a JSON pointer", ".spec.containers[0].image"),
        ("/metadata/annotations/a~01", "a JSON pointer", '.metadata.annotations["a~1"]'),
        ("spec/replicas", "a JSON pointer", ".spec.replicas"),
        ("/", "a JSON pointer", "."),
        ("$.spec.replicas", "JSONPath", ".spec.replicas"),
        ("$", "JSONPath", "."),
        ("$['spec']", "JSONPath", "['spec']"),
        ("{.spec.replicas}", "JSONPath", ".spec.replicas"),
    ],
)
def test_the_error_for_another_notation_has_the_right_one(text: str, notation: str, here: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        FieldPath.parse(text)

    assert str(caught.value) == f"path {text!r} is {notation}: write {here!r}"
    FieldPath.parse(here)


def test_unquoted_names_with_slashes_can_be_parsed() -> None:
    assert FieldPath.parse(".metadata.labels.a/b") == FieldPath() / "metadata" / "labels" / "a/b"


@given(st.text(alphabet=".[]=,'\"\\ abk0e{}-ü\ud800\n/$*?~", max_size=20))
def test_any_string_is_a_path_or_rejected(text: str) -> None:
    try:
        path = FieldPath.parse(text)
    except InvalidInput:
        return

    assert FieldPath.parse(str(path)) == path
