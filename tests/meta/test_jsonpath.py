"""Selection by a single JSONPath, in the default (lenient) mode."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.errors import InvalidObject
from dynkube.meta import JSONPath
from dynkube.meta._frozen import freeze

POD = json.loads(Path(__file__).with_name("pod.json").read_text())


@pytest.mark.parametrize(
    "text",
    [
        *("{.metadata.name}", "{ .metadata.name }", " {.metadata.name} ", "{metadata.name}", "{$['metadata'].name}"),
        *(".metadata.name", "metadata.name", "$.metadata.name", "@.metadata.name"),
        *("['metadata']['name']", '["metadata"].name'),
    ],
)
def test_braces_dollar_and_dot_are_optional(text: str) -> None:
    path = JSONPath.compile(text)

    assert path.find(POD) == ["web"]
    assert path.simple_path == ("metadata", "name")
    assert str(path) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{.spec.nothing}", [None]),
        ("{.spec.nope}", []),
        ("{.metadata.name.x}", []),
        ("{.spec.containers.name}", []),
        ("{.spec.containers[*].name}", ["c1", "c2", "c3"]),
        ("{.spec.containers[-1].name}", ["c3"]),
        ("{.spec.containers[*]['name','image']}", ["c1", "c2", "c3", "i1", "i2", "i3"]),
        ("{..containerPort}", [80, 443]),
        (r"{.metadata.labels.a\.b/c}", ["dotted"]),
        # Errors in kubectl: no result, or that of RFC 9535.
        ("{.spec.containers[9].name}", []),
        ("{.spec.containers[1:9].name}", ["c2", "c3"]),
        ("{.spec.nothing[*]}", []),
        ("{.metadata.name[0]}", []),
        ("{.spec.map.a[*]}", ['x<y&z>\u2028"\n']),
        ("{.spec.containers[?(@.n==3.0)].name}", ["c2"]),
        ("{.spec.containers[?(@.s==3)].name}", []),
        ("{.spec.containers[?(@.ports[*].containerPort==443)].name}", ["c1"]),
        ("{.spec.containers[?(443==@.ports[*].containerPort)].name}", ["c1"]),
        # Extensions of dynkube.
        ("{.metadata.labels['a.b/c']}", ["dotted"]),
        ("{.metadata.labels['weird key']}", ["blank"]),
        ('{.metadata.labels["it\'s"]}', ["quoted"]),
        ("{.spec.containers[ 0 ].name}", ["c1"]),
        ('{.spec.containers[?(@.n==3 || @.name=="c1")].name}', ["c1", "c2"]),
        ("{.spec.containers[?(@.n>=3&&@.n<5)].name}", ["c2"]),
        ('{.spec.containers[?((@.n==3 || @.n==5) && @.name!="c2")].name}', ["c3"]),
        ("{.spec.containers[?(!@.n)].name}", ["c1"]),
        ("{.spec.containers[?(@.null==null)].name}", ["c3"]),
        ('{.spec.containers[?(@.image=~"i[23]")].name}', ["c2", "c3"]),
        ('{.spec.containers[?(@.image=~"3$")].name}', ["c3"]),
        ('{.spec.containers[?(@.n=~"3")].name}', []),
        ("{.spec.containers[?(@.ports[?(@.name=='http')])].name}", ["c1"]),
    ],
)
def test_a_path_selects_values(text: str, expected: list[object]) -> None:
    path = JSONPath.compile(text)

    assert path.find(POD) == expected
    assert path.find(freeze(POD)) == expected
    assert path.find_json(json.dumps(POD).encode()) == expected


def test_a_comparison_with_a_missing_field_never_holds() -> None:
    items = {"items": [{"a": 1}, {"b": 1}, {"a": 2, "b": 2}]}

    assert JSONPath.compile("{.items[?(@.a!=1)]}").find(items) == [{"a": 2, "b": 2}]
    assert JSONPath.compile("{.items[?(@.x==@.y)]}").find(items) == []


def test_dollar_selects_the_whole_document() -> None:
    path = JSONPath.compile("{$}")

    assert path.find([1]) == [[1]]
    assert path.simple_path == ()
    assert path.find_json(b"[1]") == [[1]]


def test_first_returns_the_default_only_if_nothing_is_found() -> None:
    assert JSONPath.compile("{.spec.containers[*].name}").first(POD) == "c1"
    assert JSONPath.compile("{.spec.nothing}").first(POD, "default") is None
    assert JSONPath.compile("{.spec.nope}").first(POD, "default") == "default"
    assert JSONPath.compile("{.spec.nope}").first(POD) is None


@pytest.mark.parametrize("text", ["{.a[0]}", "{.a.*}", "{..a}", "{['a','b']}", "{.a[?(@.b)]}"])
def test_only_plain_members_are_a_simple_path(text: str) -> None:
    assert JSONPath.compile(text).simple_path is None


def test_compiled_paths_are_values_and_are_cached() -> None:
    path = JSONPath.compile("{.a[0]}")

    assert JSONPath.compile("{.a[0]}") is path
    assert JSONPath.compile("{.a[0]}", strict=True) != path
    assert len({path, JSONPath.compile("{.b[0]}")}) == 2


def test_values_are_not_copied() -> None:
    assert JSONPath.compile("{.spec.containers[0]}").first(POD) is POD["spec"]["containers"][0]


class Other(Mapping[str, Any]):
    """A mapping that is not a dict, in which jsonpath-ng would silently find nothing."""

    def __getitem__(self, key: str) -> Any:
        return POD[key]

    def __iter__(self) -> Iterator[str]:
        return iter(POD)

    def __len__(self) -> int:
        return len(POD)


@pytest.mark.parametrize("text", ["{.metadata.name}", "{..name}"])
def test_a_mapping_that_is_not_a_dict_is_rejected(text: str) -> None:
    with pytest.raises(TypeError, match=r"not an Other: use obj\.jsonpath"):
        JSONPath.compile(text).find(Other())


@pytest.mark.parametrize("text", ["{.a}", "{.a[0]}"])
@pytest.mark.parametrize("raw", [b"", b"{", b'{"a": }', b'{"a": "\xff"}', b'{"a": 1} x'])
def test_bytes_that_are_not_json_are_rejected(text: str, raw: bytes) -> None:
    with pytest.raises(InvalidObject, match="the document is not JSON"):
        JSONPath.compile(text).find_json(raw)


names = st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), min_size=1, max_size=8)


@given(names, st.sampled_from("'\""))
def test_any_name_can_be_quoted(name: str, quote: str) -> None:
    escaped = name.replace("\\", "\\\\").replace(quote, f"\\{quote}")

    assert JSONPath.compile(f"{{.x[{quote}{escaped}{quote}][0]}}").find({"x": {name: [1]}}) == [1]
    assert JSONPath.compile(f"{{.x[{quote}{escaped}{quote}]}}").find({"x": {name: 1}}) == [1]


@given(names)
def test_any_name_can_be_escaped(name: str) -> None:
    escaped = "".join(f"\\{character}" for character in name)

    assert JSONPath.compile(f"{{.x.{escaped}[0]}}").find({"x": {name: [1]}}) == [1]
    assert JSONPath.compile(f"{{.l[?(@.{escaped}==1)].this-one}}").find(
        {"l": [{name: 1, "this-one": 5}, {"this-one": 6}]}
    ) == [5]


@given(names, st.integers(-(2**63), 2**63 - 1), st.integers(0, 12))
@example("a", 576460752303423480, 1)  # more digits than a float has
def test_any_literal_can_be_compared(text: str, digits: int, places: int) -> None:
    written = f"{Decimal(digits).scaleb(-places):f}"
    number = float(written) if "." in written else int(written)
    quoted = json.dumps(text, ensure_ascii=False)
    items = {"l": [{"t": text, "f": number}, {"t": text + "x", "f": number + abs(number) + 1}]}

    assert JSONPath.compile(f"{{.l[?(@.t=={quoted})].t}}").find(items) == [text]
    assert JSONPath.compile(f"{{.l[?(@.f=={written})].t}}").find(items) == [text]
