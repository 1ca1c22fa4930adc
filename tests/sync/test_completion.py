"""What IPython completes of a blocking client: names of resources, and the verbs on them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import dynkube.sync
from tests.sync.kit import config_map

pytestmark = pytest.mark.real_time


@pytest.fixture
def shell(k: dynkube.sync.Client) -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "dynkube")
    shell.user_ns |= {"k": k}
    yield shell
    InteractiveShell.clear_instance()


def completed(shell: InteractiveShell, text: str) -> set[str]:
    """What the completions would have ``text`` end with."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return {re.split(r"[\"']", each.text.rstrip("\"']"))[-1] for each in found}


def test_resources_are_completed_by_their_names(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k.get("cm")

    assert completed(shell, 'k["deplo') == {"deployments"}
    assert {"pods", "events", "events.events.k8s.io"} <= completed(shell, 'k["')


def test_verbs_are_completed_behind_a_resource_and_ask_nobody(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k.get("cm")
    requests = k.statistics().requests
    shell.Completer.use_jedi = False  # which knows it from the types, and is not there for everybody

    assert completed(shell, 'k["nosuch"].delete_c') == {".delete_collection"}
    assert k.statistics().requests == requests


def test_fields_of_what_a_table_holds_are_completed(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k["cm"].create(config_map("one", a="1", b="2"))
    shell.user_ns["found"] = k.get("cm", field_selector="metadata.name=one")

    assert completed(shell, 'found[0]["data"]["') == {"a", "b"}
