"""What an error response proves about the object, the namespace or the resource that was requested."""

from __future__ import annotations

import pytest

from dynkube.errors import APIError, ConnectFailed, Status
from dynkube.errors._evidence import (
    Evidence,
    NegativeAnswers,
    evidence_of,
    extended,
    later_than,
    proves_deletion,
)

POD = "GET /api/v1/namespaces/shop/pods/web"
GADGET = "DELETE /apis/lab.example.com/v1/namespaces/shop/gadgets/a"
PAGE = "404 page not found\n"


def response(
    request: str, code: int, reason: str = "", message: str = "", *, kind: str = "", name: str = ""
) -> APIError:
    return APIError.from_status(Status(code, reason, message, kind, name=name), request=request)


OBJECT_ABSENT = {
    "the registry names the object": response(POD, 404, "NotFound", kind="pods", name="web"),
    "of a custom resource": response(GADGET, 404, "NotFound", kind="gadgets", name="a"),
    "with the name of a kind, as some aggregated APIs": response(GADGET, 404, "NotFound", kind="Gadget", name="a"),
    "a log of a pod": response(f"{POD}/log", 404, "NotFound", kind="pods", name="web"),
    "the scale of a Deployment": response(
        "GET /apis/apps/v1/namespaces/shop/deployments/web/scale", 404, "NotFound", kind="deployments/scale", name="web"
    ),
}
RESOURCE_UNKNOWN = {
    "Go's page": response(GADGET, 404, message=PAGE),
    "a Status without a name": response(GADGET, 404, "NotFound", "the server could not find the requested resource"),
    "a list": response("GET /apis/lab.example.com/v1/gadgets (watch)", 404, message=PAGE),
}
NOTHING = {
    "a page of a load balancer": response(POD, 404, message="default backend - 404"),
    "another object": response(POD, 404, "NotFound", kind="pods", name="db"),
    "another resource": response(POD, 404, "NotFound", kind="secrets", name="web"),
    "a subresource that a CRD may not have": response(f"{GADGET}/scale", 404, "NotFound", kind="gadgets", name="a"),
    "another namespace": response("POST /api/v1/namespaces/shop/pods", 404, "NotFound", kind="namespaces", name="x"),
    "a page of a proxy": response(POD, 403, message="<html>blocked</html>"),
    "admission": response("POST /api/v1/namespaces/shop/pods", 403, "Forbidden", kind="resourcequotas", name="q"),
    "a failure": response(POD, 503, "ServiceUnavailable"),
    "no response": ConnectFailed("refused"),
    "no error of ours": KeyError("web"),
}


@pytest.mark.parametrize("error", OBJECT_ABSENT.values(), ids=OBJECT_ABSENT)
def test_an_object_is_absent_if_a_status_names_it(error: Exception) -> None:
    assert evidence_of(error) is Evidence.OBJECT_ABSENT
    assert proves_deletion(error)


@pytest.mark.parametrize("error", RESOURCE_UNKNOWN.values(), ids=RESOURCE_UNKNOWN)
def test_a_404_without_a_name_is_about_the_resource(error: Exception) -> None:
    assert evidence_of(error) is Evidence.RESOURCE_UNKNOWN
    assert not proves_deletion(error)


@pytest.mark.parametrize("error", NOTHING.values(), ids=NOTHING)
def test_all_else_proves_nothing(error: Exception) -> None:
    assert evidence_of(error) is Evidence.NOTHING


def test_a_write_shows_that_its_namespace_is_absent() -> None:
    error = response("POST /api/v1/namespaces/shop/pods", 404, "NotFound", kind="namespaces", name="shop")
    assert evidence_of(error) is Evidence.NAMESPACE_ABSENT
    assert proves_deletion(error)


@pytest.mark.parametrize("status", [(403, "Forbidden", "", "pods"), (401, "Unauthorized", "", "")])
def test_the_authorizer_names_the_resource(status: tuple[int, str, str, str]) -> None:
    code, reason, message, kind = status
    assert evidence_of(response(POD, code, reason, message, kind=kind)) is Evidence.NOT_AUTHORIZED


def test_the_authorizer_names_the_object_that_a_field_selector_selects() -> None:
    listed, created = "GET /api/v1/namespaces/shop/pods", "POST /api/v1/namespaces/shop/pods"
    refusal = {"kind": "pods", "name": "web"}
    assert evidence_of(response(listed, 403, "Forbidden", **refusal)) is Evidence.NOT_AUTHORIZED
    assert evidence_of(response(f"{listed} (watch)", 403, "Forbidden", **refusal)) is Evidence.NOT_AUTHORIZED
    assert evidence_of(response(created, 403, "Forbidden", **refusal)) is Evidence.NOTHING  # by admission


def test_answers_in_a_row_span_from_the_first_to_the_last_request() -> None:
    row = extended(extended(extended(None, 5.0, "b"), 3.0, "a"), 9.0, "c")
    assert row == NegativeAnswers(3.0, 9.0, "c")
    assert row.span == 6.0


@pytest.mark.parametrize(
    ("time", "left"), [(2.0, NegativeAnswers(3.0, 9.0, "c")), (5.0, NegativeAnswers(9.0, 9.0, "c")), (9.0, None)]
)
def test_answers_before_a_positive_one_do_not_count(time: float, left: NegativeAnswers | None) -> None:
    assert later_than(NegativeAnswers(3.0, 9.0, "c"), time) == left
