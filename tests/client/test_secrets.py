"""Values of Secrets, including those in invalid manifests, are hidden in differences and in error responses."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from dynkube import Diff, Unstructured, compare
from dynkube.client import ResourceClient
from dynkube.errors import APIError, Invalid, Status, StatusCause
from dynkube.fields._diff.compute import drift_between, drift_of_deleted
from dynkube.fields._redaction import without_values
from dynkube_testing import APIServer
from tests.client.wire import ScriptedServer, connect, error_response


def secret(**sections: Any) -> Unstructured:
    return Unstructured({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **sections})


def shown(diff: Diff) -> str:
    return f"{diff}{diff.table()}{diff!r}{diff._repr_html_()}{diff.before}{diff.after}{diff.changes}"


@pytest.mark.parametrize("section", ["data", "stringData"])
@pytest.mark.parametrize("wrong", ["hunter2", ["hunter2"], [{"password": "hunter2"}]])
@pytest.mark.parametrize("right", [{"password": "hunter3"}, None, "hunter3"])
def test_values_are_hidden(section: str, wrong: Any, right: Any) -> None:
    wanted, live = secret(**{section: wrong}), secret(**({section: right} if right else {}))

    for diff in (
        drift_between(wanted, live, manager="me", subresource=None),
        drift_between(live, wanted, manager="me", subresource=None),
        drift_of_deleted(wanted),
    ):
        assert "hunter" not in shown(diff)


def test_hidden_values_that_differ_are_distinguished() -> None:
    diff = drift_between(secret(data="one"), secret(data="two"), manager="me", subresource=None)

    assert [(str(each.path), each.before, each.after) for each in diff.changes] == [
        (".data", "*** (before)", "*** (after)")
    ]


APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def holder(where: str, value: str) -> dict[str, Any]:
    """An object that contains a Secret, both with the annotation of kubectl apply."""
    inner: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "data": {"p": value}, "stringData": {"q": value}}
    inner["metadata"] = {"name": "s", "annotations": {APPLIED: json.dumps(inner)}}
    listed = {name: part for name, part in inner.items() if name not in ("apiVersion", "kind")}
    spec: dict[str, Any] = {
        "template": {"template": inner},
        "object": {"object": {**inner, "apiVersion": "example.com/v2"}},
        "list": {"manifests": [{"name": "a", "manifest": inner}]},
        "deep": {"a": [[{"b": inner}]]},
    }
    lists: dict[str, list[Any]] = {"List": [inner], "SecretList": [listed]}
    obj: dict[str, Any] = {"items": lists[where]} if where in lists else {"spec": spec[where]}
    annotations = {APPLIED: json.dumps(obj, indent=1)}
    kind = where if where.endswith("List") else "Thing"
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "t", "annotations": annotations}, **obj}


@pytest.mark.parametrize("where", ["List", "SecretList", "template", "object", "list", "deep"])
def test_values_of_nested_secrets_are_hidden(where: str) -> None:
    first, second = (Unstructured(holder(where, value)) for value in ("aHVudGVyMg==", "aHVudGVyMw=="))

    differ = compare(first, second)
    same = compare(first, {**holder(where, "aHVudGVyMg=="), "spec2": 1})
    gone = compare(first, None)

    assert not [diff for diff in (differ, same, gone) if "aHVudGVy" in shown(diff)]
    assert {(each.before, each.after) for each in differ.changes} == {("*** (before)", "*** (after)")}
    assert [str(each.path) for each in same.changes] == [".spec2"]
    assert "aHVudGVy" not in first._repr_html_() + str(first)


def test_in_lists_of_different_lengths_only_the_differing_values_are_marked() -> None:
    before, after = holder("List", "b25l"), holder("List", "b25l")
    after["items"] = [{**after["items"][0], "data": {"p": "dHdv"}}, after["items"][0]]

    diff = compare(before, after)

    assert "b25l" not in shown(diff)
    assert "    p: '*** (after)'" in str(diff)
    assert "*** (before)" not in shown(diff)  # that value is in the other item


def test_other_objects_are_shown_unchanged() -> None:
    reference = {"kind": "Secret", "name": "s", "key": "data"}
    one = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "1"}, "ref": reference}

    diff = compare(one, {**one, "data": {"a": "2"}, "ref": {**reference, "name": "t"}})

    assert [(each.before, each.after) for each in diff.changes] == [("1", "2"), ("s", "t")]


TYPED = "failed to create typed patch object: .data.p: expected string, got &value.valueUnstructured"


@pytest.mark.parametrize(
    ("value", "message", "redacted"),
    [
        (5432, f"{TYPED}{{Value:5432}}", f"{TYPED}{{Value:***}}"),
        ({"a": "x"}, f'{TYPED}{{Value:map[string]interface {{}}{{"a":"x"}}}}', f"{TYPED}{{Value:***}}"),
        (["hunter2", "hunter22"], "bad passwords: hunter22, hunter2", "bad passwords: ***, ***"),
        ("a", "what is a short value", "what is a short value"),
    ],
)
def test_an_error_response_that_quotes_values_is_redacted(value: Any, message: str, redacted: str) -> None:
    causes = (StatusCause(field=".data.p", message=message),)
    error = Invalid(Status(code=422, reason="Invalid", message=message, causes=causes), request="PATCH /x")

    shown = without_values(error, secret(data={"p": value}))

    assert isinstance(shown, Invalid)
    assert (shown.status.message, shown.causes[0].message, shown.request) == (redacted, redacted, "PATCH /x")


def test_an_error_response_that_quotes_a_nested_secret_is_redacted() -> None:
    error = Invalid(Status(code=422, message="'hunter22' is weak"))
    obj = {"kind": "Thing", "apiVersion": "v1", "template": {"kind": "Secret", "stringData": {"p": "hunter22"}}}

    assert without_values(error, Unstructured(obj)).status.message == "'***' is weak"


@pytest.mark.parametrize("section", ["data", "stringData"])
def test_multiline_values_are_redacted_in_quoted_form_too(section: str) -> None:
    key = 'begin "é"\nend\n'
    value = base64.b64encode(key.encode()).decode() if section == "data" else key
    quoted = f"refused: {json.dumps(key)}, {json.dumps(key, ensure_ascii=False)}, {key}"

    shown = without_values(Invalid(Status(code=422, message=quoted)), secret(**{section: {"key": value}}))

    assert shown.status.message == 'refused: "***", "***", ***'


def test_error_responses_for_other_objects_are_unchanged() -> None:
    error = Invalid(Status(code=422, message="hunter22 is bad"))

    assert (
        without_values(error, Unstructured({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "hunter22"}}))
        is error
    )


async def test_error_responses_of_apply_are_redacted() -> None:
    wrong = secret(data={"p": {"a": "hunter2"}})  # not on the line that the traceback shows

    async with APIServer() as server:
        client = connect(server.transport(), namespace="default")
        with pytest.raises(APIError, match=r"\.data\.p: expected string, .*\*\*\*") as caught:
            await client.resource("secrets").apply(wrong)

    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("patch_type", "patch"),
    [
        ("merge", {"data": {"q": "!"}}),
        ("json", [{"op": "add", "path": "/data/q", "value": "!"}]),
        ("strategic", {"data": {"q": "!"}}),
    ],
)
async def test_error_responses_that_quote_the_patched_secret_are_redacted(patch_type: Any, patch: Any) -> None:
    async with APIServer() as server:
        secrets = connect(server.transport(), namespace="default").resource("secrets")
        await secrets.create(secret(data={"p": "aHVudGVyMjI="}))
        with pytest.raises(APIError, match="illegal base64 data") as caught:
            await secrets.patch("s", patch, patch_type=patch_type)

    assert "aHVudGVy" not in f"{caught.value}{caught.value.status}"


Call: TypeAlias = Callable[[ResourceClient], Awaitable[Any]]


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.create(secret(stringData={"p": "hunter22"})),
        lambda r: r.update(secret(stringData={"p": "hunter22"})),
        lambda r: r.patch("s", {"stringData": {"p": "hunter22"}}),
        lambda r: r.patch("s", '{"stringData": {"p": "hunter22"}}', patch_type="strategic"),
        lambda r: r.patch("s", [{"op": "add", "path": "/stringData/p", "value": "hunter22"}], patch_type="json"),
        lambda r: r.patch("s", b"stringData: {p: {a: hunter22}}", patch_type="apply"),
    ],
)
async def test_error_responses_of_other_writes_are_redacted(call: Call) -> None:
    wire = ScriptedServer(error_response(422, "Invalid", '"hunter22" is too weak'))

    with pytest.raises(Invalid, match=r'"\*\*\*" is too weak') as caught:
        await call(connect(wire).resource("secrets"))

    assert "hunter22" not in "".join(traceback.format_exception(caught.value))
