"""The Accept header decides the form of an answer."""

from __future__ import annotations

import pytest

from dynkube.errors import NotAcceptable
from dynkube.testing._wire.negotiate import DISCOVERY_V2, Form, accepts_aggregated_discovery, negotiate

_V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, Form.JSON),
        ("*/*", Form.JSON),
        ("application/*", Form.JSON),
        ("application/json", Form.JSON),
        ("application/json; charset=utf-8", Form.JSON),
        ("application/yaml", Form.YAML),
        ("application/json;q=0.5, application/yaml", Form.YAML),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form.JSON),
        ("application/vnd.kubernetes.protobuf,application/json", Form.JSON),
        ("text/html, */*;q=0.1", Form.JSON),
    ],
)
def test_the_best_form_that_can_be_produced_is_chosen(accept: str | None, form: Form) -> None:
    assert negotiate(accept) is form


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf", "application/json;q=0"])
def test_nothing_that_can_be_produced_is_a_406_naming_what_can(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted: application/json, "):
        negotiate(accept)


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        (f"{DISCOVERY_V2},{_V2BETA1},application/json", True),
        (f"{_V2BETA1},{DISCOVERY_V2},application/json", True),
        (f"application/json,{DISCOVERY_V2}", False),
        (f"{_V2BETA1},application/json", False),
        ("application/json", False),
        ("*/*", False),
        (None, False),
    ],
)
def test_aggregated_discovery_is_for_those_who_ask_for_it_first(accept: str | None, aggregated: bool) -> None:
    assert accepts_aggregated_discovery(accept) is aggregated
