"""Scripted faults: which requests they are for, how often, and what they answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.testing._faults import FaultAnswer, Faults

PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")


@pytest.fixture
def faults() -> Faults:
    return Faults()


def take(
    faults: Faults, verb: str = "list", resource: GVR | None = PODS, path: str = "/api/v1/pods"
) -> FaultAnswer | None:
    return faults.take(verb=verb, resource=resource, path=path)


def test_without_faults_nothing_fails(faults: Faults) -> None:
    assert take(faults) is None


@pytest.mark.parametrize(
    ("matcher", "hits"),
    [
        ({}, ["pods", "deployments", "discovery"]),
        ({"verb": "list"}, ["pods"]),
        ({"verb": "watch", "resource": "deployments"}, ["deployments"]),
        ({"resource": "deployments.apps"}, ["deployments"]),
        ({"resource": "deployments.v1.apps"}, ["deployments"]),
        ({"resource": "deployments.v2.apps"}, []),
        ({"resource": PODS}, ["pods"]),
        ({"path_prefix": "/apis"}, ["deployments", "discovery"]),
        ({"verb": ""}, ["discovery"]),
    ],
)
def test_a_fault_is_for_what_it_names(faults: Faults, matcher: dict[str, Any], hits: list[str]) -> None:
    requests = {
        "pods": ("list", PODS, "/api/v1/pods"),
        "deployments": ("watch", DEPLOYMENTS, "/apis/apps/v1/deployments"),
        "discovery": ("", None, "/apis"),
    }
    faults.fail(status=503, **matcher)

    assert [name for name, request in requests.items() if take(faults, *request)] == hits


def test_a_fault_strikes_as_often_as_told(faults: Faults) -> None:
    fault = faults.fail(status=500, times=2)

    assert [take(faults) is not None for _ in range(3)] == [True, True, False]
    assert fault.hits == 2


def test_a_fault_can_be_removed(faults: Faults) -> None:
    fault = faults.fail(status=500)
    take(faults)
    fault.remove()
    fault.remove()

    assert take(faults) is None
    assert fault.hits == 1


def test_the_oldest_matching_fault_answers(faults: Faults) -> None:
    faults.fail(status=500, times=1)
    faults.fail(status=503)

    assert [answer.status for _ in range(2) if (answer := take(faults))] == [500, 503]


@pytest.mark.parametrize(
    ("status", "reason"), [(403, "Forbidden"), (410, "Expired"), (429, "TooManyRequests"), (503, "ServiceUnavailable")]
)
def test_a_fault_answers_with_the_status_that_fits(faults: Faults, status: int, reason: str) -> None:
    faults.fail(status=status, retry_after=3)

    answer = take(faults)

    assert answer is not None
    body = json.loads(answer.body)
    assert (body["kind"], body["code"], body["reason"]) == ("Status", status, reason)
    assert body["details"] == {"retryAfterSeconds": 3}
    assert answer.headers == (("Retry-After", "3"),)


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        ("<html>", b"<html>", "text/html; charset=utf-8"),
        (b"{", b"{", "application/json"),
        ({"a": 1}, b'{"a":1}', "application/json"),
    ],
)
def test_a_fault_can_answer_anything(faults: Faults, body: Any, sent: bytes, content_type: str) -> None:
    faults.fail(status=200, body=body, retry_after="Wed, 21 Oct 2026 07:28:00 GMT")

    answer = take(faults)

    assert answer is not None
    assert (answer.body, answer.content_type) == (sent, content_type)
    assert answer.headers == (("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"),)


@pytest.mark.parametrize("wrong", [{"status": 99}, {"status": 500, "times": 0}, {"status": 500, "resource": "a b"}])
def test_a_fault_that_makes_no_sense_is_refused(faults: Faults, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        faults.fail(**wrong)
