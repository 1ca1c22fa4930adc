"""All targets by name: strategies for inputs, and the functions that check an input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from tests.fuzzing import requests, wire, yaml_texts


@dataclass(frozen=True)
class Target:
    """Code that reads bytes from outside.

    Attributes:
        inputs: generates inputs.
        check: processes one input; an exception is a finding.
        examples: the number of inputs that the test suite tries, in about a quarter of a minute.
    """

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    examples: int


TARGETS: Final[dict[str, Target]] = {
    "connections": Target(wire.connections, wire.read_response, 1_000),
    "responses": Target(wire.fake_responses, wire.run_client, 300),
    "yaml": Target(yaml_texts.documents, yaml_texts.load, 3_000),
    "patches": Target(requests.patches, requests.patch, 300),
    "schemas": Target(requests.crd_schemas, requests.check_schema, 300),
}
