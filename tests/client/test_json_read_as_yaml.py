"""Applied JSON is written so that YAML readers, which API servers use for it, read the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dynkube.fields._diff.yaml_json import readable_as_yaml
from tests.client.wire import ScriptedServer, connect, ok

odd = st.sampled_from(list('\x7f\x80\x85\x9f\u2028\u2029\ufeff\ufffe\uffff😀\\ud"/\n\x00ü'))
documents = st.dictionaries(st.text(odd, max_size=4), st.text(odd, max_size=6), max_size=3)


@given(documents, st.booleans())
def test_yaml_and_json_readers_read_the_same(document: dict[str, Any], escaped: bool) -> None:
    written = json.dumps(document, ensure_ascii=escaped).encode()

    sent = readable_as_yaml(written)

    assert msgspec.json.decode(sent) == document
    assert yaml.safe_load(sent) == document


def test_json_that_both_read_alike_is_sent_unchanged() -> None:
    written = '{"a": "ü \\u00e9 \\n", "b" : [1.0, 😀]}'.encode()

    assert readable_as_yaml(written) is written


@pytest.mark.parametrize("character", ["\x7f", "\x85", "\x9f", "\u2028", "\ufeff", "\uffff", "😀"])
async def test_an_apply_is_sent_in_that_form(character: str) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": character}}
    server = ScriptedServer(ok(obj), ok(obj))

    await connect(server).resource("configmaps").apply(json.dumps(obj), field_manager="me")

    sent = server.requests[-1].content
    assert yaml.safe_load(sent) == obj
