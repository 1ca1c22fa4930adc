"""Published CRDs with a random mistake never make the server fail."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dynkube.errors import BadRequest, Invalid
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._definitions.decoding import decode_definition
from dynkube_testing._definitions.expressions import Expressions
from dynkube_testing._definitions.validation import definition_causes
from tests.contract.objects import CRDS
from tests.testing.crds.test_any_crd import WRONG, changed, places
from tests.testing.engine.cluster import Cluster

DATA = Path(__file__).parents[4] / "shared" / "data"
FILES = sorted(DATA.glob("*/crds/*.yaml"))

pytestmark = pytest.mark.skipif(not FILES, reason="the published CRDs are not available")


def _crds(path: Path) -> list[JSONObject]:
    documents = yaml.load_all(path.read_text(), yaml.CSafeLoader)
    return [document for document in documents if document and document["kind"] == "CustomResourceDefinition"]


BODIES = [body for path in FILES for body in _crds(path)]
SMALL = [body for body in BODIES if len(str(body)) < 60_000]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_published_crd_with_a_mistake_is_stored_or_rejected(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(SMALL))
    mistaken = changed(body, data.draw(st.sampled_from(places(body))), data.draw(WRONG))
    cluster = Cluster()

    try:
        cluster.create(CRDS, mistaken)
    except (BadRequest, Invalid):
        return

    _check_again(cluster.get(CRDS, body["metadata"]["name"]))


def _check_again(stored: JSONObject) -> None:
    """Assert that a stored CRD, as it is read, is valid."""
    decoded, unknown = decode_definition(copy.deepcopy(stored))
    values: dict[str, Any] = {**decoded, "metadata": stored["metadata"]}

    assert unknown == []
    assert definition_causes(values, None, Expressions()) == []
