"""docs/notebooks.md: its blocks run one after the other and print the output shown below them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dynkube
from dynkube.errors import InvalidInput, NoMatch
from dynkube_testing import serve_in_thread
from tests.public_api.documents import python_blocks

pytestmark = pytest.mark.real_time

TEXT = (Path(__file__).parents[2] / "docs/notebooks.md").read_text(encoding="utf-8")
# A block, and the output shown below it, if any.
BLOCKS = re.findall(r"^```python\n(.*?)^```\n(?:\n((?:(?:    [^\n]*)?\n)+))?", TEXT, re.DOTALL | re.MULTILINE)
VARYING = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z|[0-9a-f]{8}(?:-[0-9a-f]+){4}|resourceVersion: \"\d+\"")
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The common namespace of the blocks, with the cluster that the page describes."""
    connect = dynkube.sync.connect
    with serve_in_thread() as cluster:
        with connect(url=cluster.url) as client:
            client["ns"].create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            client["deploy"].create(WEB)
        monkeypatch.setattr("dynkube.sync.connect", lambda **options: connect(url=cluster.url, **options))
        scope: dict[str, Any] = {}
        yield scope
        scope["k"].close()


def test_each_block_prints_the_output_shown_below_it(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for code, shown in BLOCKS:
        exec(compile(code, "docs/notebooks.md", "exec"), names)

        printed = VARYING.sub("*", capsys.readouterr().out)
        if shown.strip():
            assert printed.strip() == VARYING.sub("*", textwrap.dedent(shown)).strip()

    assert [len(BLOCKS), sum(bool(shown.strip()) for _, shown in BLOCKS)] == [15, 11]
    assert names["configs"].get("notes", namespace="shop").name == "notes"


def test_the_first_steps_of_the_readme_run_without_await(names: dict[str, Any]) -> None:
    exec(python_blocks("README.md")[1], names | {"dynkube": dynkube}, names)

    assert [web.name for web in names["k"].get("deploy", namespace="shop")] == ["web"]
    assert names["routes"].wait_state(dynkube.ABSENT, timeout=10).reason == "CRDNotFound"


def test_the_errors_of_the_table_are_raised(names: dict[str, Any]) -> None:
    exec(BLOCKS[0][0], names)
    k = names["k"]

    with pytest.raises(NoMatch) as nosuch:
        k["deploymint"].list()
    with pytest.raises(InvalidInput) as together:
        k.get("pod/web")
    with pytest.raises(InvalidInput) as verb:
        k.auth_can_i("apply", "deploy")
    with pytest.raises(NoMatch) as lazy:
        k.informer("httproutes")

    assert f"`NoMatch: {nosuch.value}`" in TEXT
    assert f"`InvalidInput: {together.value}`" in TEXT
    assert f"`InvalidInput: {verb.value}`" in TEXT
    (shown,) = re.findall(r"`NoMatch: (.*; to follow .*)`", TEXT)
    assert re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), str(lazy.value))
