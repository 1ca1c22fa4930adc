"""All targets by name: what is drawn, and what is done with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from tests.fuzzing import requests, wire, yaml_texts


@dataclass(frozen=True)
class Target:
    """One way in.

    Attributes:
        inputs: what may come in.
        check: handles one input; what it raises is a finding.
        examples: how many the tests try, which takes about a quarter of a minute.
    """

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    examples: int


TARGETS: Final[dict[str, Target]] = {
    "connections": Target(wire.connections, wire.read_response, 1_000),
    "answers": Target(wire.answers, wire.read_answers, 300),
    "yaml": Target(yaml_texts.documents, yaml_texts.load, 3_000),
    "patches": Target(requests.patches, requests.patch, 300),
    "schemas": Target(requests.definitions, requests.define, 300),
}
