"""YAML that expands to far more than its text is rejected before expansion; usual documents are far below the limit."""

from __future__ import annotations

import tracemalloc

import pytest

from dynkube.meta._input_limits import MAX_TEXT_BYTES
from dynkube.meta._yaml.loading import MalformedYAML, load_all, load_document, repeated_keys


def aliases(number: int, times: int = 10) -> str:
    """Return lists, each of which contains the previous one ``times`` times."""
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * times)}]\n" for n in range(1, number)]
    return f"a0: &a0 [k]\n{''.join(lines)}"


def merges(number: int, times: int = 10, more: str = "") -> str:
    """Return mappings, each of which merges the previous one ``times`` times."""
    lines = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * times)}]{more}}}\n" for n in range(1, number)]
    return f"a0: &a0 {{k: v}}\n{''.join(lines)}"


KEYS = ", ".join(f"k{n}: 1" for n in range(1_000))
BOMBS = {
    "aliases": aliases(9),
    "merge keys": merges(9),
    "both": merges(9, 4, ", b: [*a0, *a0]") + aliases(9).replace("a", "b"),
    "merges of what is written there": f"a: &a {{{KEYS}}}\nb: {'{<<: ' * 900}*a{'}' * 900}\n",
    "many merges of many keys": f"a: &a {{{KEYS}}}\nb: [{'{<<: *a}, ' * 5_000}]\n",
    "aliases as keys": "a: &a k\nb: [" + "{*a : *a}, " * 100 + "]\n" + aliases(9),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_documents_beyond_the_limits_of_go_yaml_are_rejected_before_expansion(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedYAML, match=r"line \d+, column \d+: document contains excessive aliasing: "):
            load_document(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 50_000_000 + 10 * len(text)
    assert repeated_keys(text) == []


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "a: &a {b: *a}", "&a {<<: *a}", "a: &a {b: {<<: *a}}", "a: &a [[[*a]]]"]
)
def test_a_value_that_contains_itself_gets_the_message_of_go(text: str) -> None:
    with pytest.raises(MalformedYAML, match="anchor 'a' value contains itself"):
        load_document(text)


def test_aliases_of_long_strings_are_rejected() -> None:
    text = f"a: &a {'x' * 1_000_000}\nb: [*a, *a, *a, *a]\n"

    with pytest.raises(MalformedYAML, match=r"line 2, column 17: .* aliases expand to more than 3,145,728 bytes"):
        load_document(text)


def test_the_depth_includes_the_values_of_aliases() -> None:
    text = f"a: &a {'[' * 600}{']' * 600}\nb: {'[' * 600}*a{']' * 600}\n"

    with pytest.raises(MalformedYAML, match="line 2, column 604: nested more than 1000 levels deep"):
        load_document(text)


@pytest.mark.parametrize(
    ("text", "much"),
    [
        ("[" + "a," * 1_000_001 + "]", "1,000,000 keys and values"),
        ("[" * 900 + "a," * 36_000 + "]" * 900, "32,000,000 levels of nesting"),
    ],
)
def test_a_document_with_too_many_values_or_levels_is_rejected(text: str, much: str) -> None:
    with pytest.raises(
        MalformedYAML, match=f"document exceeds the limit for its size: {much}.*; split it into several"
    ):
        load_document(text)


def test_input_that_is_too_large_is_rejected_before_it_is_parsed() -> None:
    with pytest.raises(
        MalformedYAML, match=r"input is too large: 104,857,601 bytes, the limit is 104,857,600; split it"
    ):
        load_document(bytes(MAX_TEXT_BYTES + 1))


def test_moderately_used_anchors_are_loaded_and_shared() -> None:
    labels = "labels: &labels {app: web, tier: front}\n"
    pods = "".join(f"- name: p{n}\n  labels: {{<<: *labels, pod: '{n}'}}\n  selector: *labels\n" for n in range(500))

    found = load_document(f"{labels}pods:\n{pods}")

    assert isinstance(found, dict)
    assert found["pods"][499] == {
        "name": "p499",
        "labels": {"app": "web", "tier": "front", "pod": "499"},
        "selector": {"app": "web", "tier": "front"},
    }
    assert found["pods"][0]["selector"] is found["labels"]


def test_limits_apply_to_each_document() -> None:
    once = aliases(3)

    assert len(list(load_all("---\n".join([once] * 50)))) == 50


def test_a_merge_never_changes_the_merged_mapping() -> None:
    text = "a: &a {q: 1}\nb: &b {<<: *a, r: 2}\nc: {q: 3, <<: [*b, {r: 4, s: 5}]}"

    assert load_document(text) == {"a": {"q": 1}, "b": {"q": 1, "r": 2}, "c": {"q": 1, "r": 2, "s": 5}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {<<: 1}", "a merge key .* requires a mapping or a list of mappings"),
        ("a: {<<: [{}, 1]}", "a merge key .* requires a mapping or a list of mappings"),
        ("a: !!set {b}", "could not determine a constructor for the tag 'tag:yaml.org,2002:set'"),
        ("a: !secret b", "could not determine a constructor for a local tag: quote strings that begin with !"),
        ("a: *secret", "found undefined alias: quote strings that begin with"),
        ("a: !!bool maybe", "cannot decode a scalar as a !!bool"),
    ],
)
def test_an_error_quotes_no_value(text: str, message: str) -> None:
    with pytest.raises(MalformedYAML, match=message) as caught:
        load_document(text)

    assert "secret" not in str(caught.value)
    assert "maybe" not in str(caught.value)


def test_keys_that_are_the_same_in_json_are_repeated_keys() -> None:
    with pytest.raises(MalformedYAML, match=r'line 2, column 1: key "true" already set in map'):
        load_document("on: 1\ntrue: 2")
    assert load_document("on: 1\ntrue: 2\n1: 3", lenient=True) == {"true": 2, "1": 3}
    assert repeated_keys("on: 1\ntrue: 2") == [(2, 'key "true" already set in map')]
