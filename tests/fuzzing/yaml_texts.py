"""Inputs for the YAML loader, which reads manifests, kubeconfigs and requests."""

from __future__ import annotations

import json
from typing import Final

from hypothesis import strategies as st

from dynkube.meta._yaml import loading as yaml
from tests.fuzzing.inputs import edited

_PARTS: Final = [
    "a: 1\n",
    "b: &x {k: v}\n",
    "c: *x\n",
    "d: {<<: *x, l: 2}\n",
    "<<: [*x, *x]\n",
    "e: &y [*x, *x, *x]\n",
    "f: [*y, *y, *y]\n",
    "g: |\n  text\n  more\n",
    "h: >-\n  folded\n",
    "? complex\n: value\n",
    "? [1, 2]\n: value\n",
    "i: !!binary aGk=\n",
    "j: !!python/object:os.system {}\n",
    "k: !!timestamp 2001-01-01\n",
    "l: 0x_1f\n",
    "m: 1_000.5e3\n",
    "n: &z [*z]\n",
    "---\n",
    "...\n",
    "%YAML 1.1\n---\n",
    "# comment\n",
    "- item\n",
    "  - nested\n",
    "o: 'single' \n",
    'p: "a\\u0000\\x41"\n',
]
documents: st.SearchStrategy[bytes] = edited(
    st.lists(st.sampled_from(_PARTS), max_size=12).map(lambda parts: "".join(parts).encode())
)
"""Bytes that are almost valid YAML."""


def load(text: bytes) -> None:
    """Check that each document can be encoded as JSON, or that loading raises ``MalformedYAML``."""
    for lenient in (False, True):
        try:
            found = list(yaml.load_all(text, lenient=lenient))
        except yaml.MalformedYAML as error:
            str(error)
            continue
        for document in found:
            json.dumps(document.data)
