"""Any text gives the result of PyYAML's safe loader (if that is JSON) or MalformedYAML, and no other error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta._yaml.loading import MalformedYAML, load_all, repeated_keys

# Scalars that PyYAML and kubectl interpret equally.
_SCALARS = st.sampled_from(["a", "bc", "'on'", '"x y"', "1", "-20", "1.5", "true", "null", "''", "!!str 7", "<"])
# The beginning of all documents; "t" is defined in some of them, once, twice, or too late.
_BEFORE = "[&p {a: 1, b: [x]}, &q [b, {c: 2}], &r c, &s {<<: *p, b: 2}, &u [*p, *s], "
_ALIASES = st.sampled_from(["*p", "*q", "*r", "*s", "*t", "*u"])


def _sequence(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def _mapping(pairs: list[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{key} : {value}' for key, value in pairs)}}}"


def _nodes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    keys = st.sampled_from(["a", "b", "c", "1", "<<", "<<", "*r"])
    pairs = st.lists(st.tuples(keys, inner), max_size=4)
    plain = st.one_of(st.lists(inner, max_size=4).map(_sequence), pairs.map(_mapping))
    return st.one_of(plain, plain.map("&t {}".format))


_LEAVES = st.one_of(_SCALARS, _ALIASES, _SCALARS.map("&t {}".format))
_DOCUMENTS = st.recursive(_LEAVES, _nodes, max_leaves=25).map(lambda text: f"{_BEFORE}{text}]")
_ANY_TEXT = st.text(st.sampled_from("ab1-?:,[]{}#&*!|>'\"%@` \t\n~<=.\\\x00\x85\ufeff\u2028é"), max_size=80)


def read(text: str | bytes, *, lenient: bool = True) -> list[Any]:
    """Return the loaded documents; only MalformedYAML is raised."""
    repeated_keys(text)
    return [document.data for document in load_all(text, lenient=lenient)]


_MERGE = "tag:yaml.org,2002:merge"


class Reference(yaml.SafeLoader):
    """PyYAML's safe loader, with keys as in JSON, and anchors that may be redefined as in YAML.

    Merge keys are resolved here: as in go-yaml they overwrite the keys before them, and PyYAML 6.0.4 forgets a key of a
    merged mapping that overrides one which it merges itself.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if not self.check_event(yaml.AliasEvent):
            self.anchors.pop(self.peek_event().anchor, None)  # type: ignore[no-untyped-call]
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        flat: list[tuple[yaml.Node, yaml.Node]] = []
        for key, value in node.value:
            if key.tag != _MERGE:
                flat.append((key, value))
                continue
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for source in reversed(sources):  # earlier ones take precedence
                if not isinstance(source, yaml.MappingNode):
                    raise yaml.constructor.ConstructorError(None, None, "no mapping to merge")
                self.flatten_mapping(source)
                flat.extend(source.value)
        node.value = flat

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        pairs = [
            (self.construct_object(key, deep=True), self.construct_object(value, deep)) for key, value in node.value
        ]
        return {_json_key(key): value for key, value in pairs}


def _json_key(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int | float):
        return str(key)
    raise yaml.constructor.ConstructorError(None, None, "no key of JSON")


@given(_DOCUMENTS)
def test_anchors_and_aliases_are_those_of_pyyaml_and_merges_those_of_go_yaml(text: str) -> None:
    try:
        found = read(text)
    except MalformedYAML:
        return

    assert found == [yaml.load(text, Loader=Reference)]


@given(_DOCUMENTS)
def test_documents_that_pyyaml_loads_are_rejected_only_for_known_reasons(text: str) -> None:
    try:
        yaml.load(text, Loader=Reference)
    except (yaml.YAMLError, RecursionError, ValueError):
        return

    with suppress(MalformedYAML):
        read(text)
        return
    with pytest.raises(MalformedYAML, match=r"contains itself|excessive aliasing|merge key"):
        read(text)


@given(_ANY_TEXT)
def test_any_text_is_loaded_or_malformed(text: str) -> None:
    for form in (text, text.encode(), text.encode("utf-16")):
        with suppress(MalformedYAML):
            read(form)
        with suppress(MalformedYAML):
            read(form, lenient=False)


@given(st.binary(max_size=60))
def test_any_bytes_are_loaded_or_malformed(text: bytes) -> None:
    with suppress(MalformedYAML):
        read(text)
