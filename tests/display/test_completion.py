"""Completion in IPython: attributes, and keys at any depth, without requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from dynkube import Applied, Change, OwnerTree, Unstructured, UnstructuredList
from tests.display.kit import POD


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """IPython after ``%load_ext dynkube``, with objects in its namespace."""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "dynkube")
    pod = Unstructured(POD)
    shell.user_ns |= {"pod": pod, "pods": UnstructuredList([pod]), "applied": Applied(POD, Change.CREATED)}
    shell.user_ns |= {"tree": OwnerTree(pod, (OwnerTree(pod),)), "both": {"first": [pod]}}
    yield shell
    InteractiveShell.clear_instance()


def completed(shell: InteractiveShell, text: str) -> set[str]:
    """Return the last parts of the completions of ``text``."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return {re.split(r"[\"'.]", each.text.rstrip("\"']"))[-1] for each in found}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('pod["', {"apiVersion", "kind", "metadata", "spec", "status"}),
        ('pod["me', {"metadata"}),
        ("pod['metadata']['labels']['", {"app", "tier"}),
        ('pod["metadata"]["', set(POD["metadata"])),
        ('pod["status"]["', set(POD["status"])),
        ('pod["spec"]["containers"][0]["', {"name", "image"}),
        ('pods[0]["status"]["', set(POD["status"])),
        ('tree.children[0].object["spec"]["containers"][0]["', {"name", "image"}),
        ('both["first"][0]["metadata"]["', set(POD["metadata"])),
        ('applied["metadata"]["labels"]["', {"app", "tier"}),
    ],
)
def test_keys_are_completed_at_any_depth(shell: InteractiveShell, text: str, keys: set[str]) -> None:
    assert completed(shell, text) == keys


def test_without_the_extension_the_first_key_is_completed(shell: InteractiveShell) -> None:
    shell.run_line_magic("unload_ext", "dynkube")

    assert completed(shell, 'pod["me') == {"metadata"}
    assert completed(shell, 'pod["metadata"]["owner') == set()


@pytest.mark.parametrize("evaluation", ["limited", "unsafe"])
def test_unloading_restores_the_policy_of_the_completer(shell: InteractiveShell, evaluation: str) -> None:
    completer: Any = shell.Completer
    for _ in range(2):
        shell.run_line_magic("unload_ext", "dynkube")
        unloaded = completer.policy_overrides
        shell.run_line_magic("load_ext", "dynkube")
        shell.run_line_magic("reload_ext", "dynkube")

        assert unloaded == {}
        assert completed(shell, 'pod["metadata"]["owner') == {"ownerReferences"}

    shell.run_line_magic("unload_ext", "dynkube")
    completer.evaluation = evaluation  # IPython warns of overrides that this policy does not know
    assert completer.policy_overrides == {}


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_unloading_keeps_overrides_made_by_others(shell: InteractiveShell, when: str) -> None:
    completer: Any = shell.Completer
    if when == "before":
        shell.run_line_magic("unload_ext", "dynkube")
        completer.policy_overrides = {"allowed_getitem": {Fraction}, "allow_auto_import": True}
        shell.run_line_magic("load_ext", "dynkube")
    else:
        both = {**completer.policy_overrides, "allow_auto_import": True}
        completer.policy_overrides = {**both, "allowed_getitem": both["allowed_getitem"] | {Fraction}}

    shell.run_line_magic("unload_ext", "dynkube")

    left = completer.policy_overrides
    assert left.keys() == {"allowed_getitem", "allow_auto_import"}
    assert (Fraction in left["allowed_getitem"], Unstructured in left["allowed_getitem"]) == (True, False)


def test_attributes_are_completed(shell: InteractiveShell) -> None:
    found = completed(shell, "pod.")

    assert {"name", "namespace", "labels", "annotations", "to_dict", "jsonpath", "transform"} <= found
    assert not any(name.startswith("_") for name in found)


def test_completion_does_not_use_the_network(shell: InteractiveShell, monkeypatch: Any) -> None:
    def socket(*args: object, **options: object) -> None:
        raise AssertionError("completion went to the network")

    monkeypatch.setattr("socket.socket", socket)

    assert completed(shell, 'pod["spec"]["') == {"containers"}
