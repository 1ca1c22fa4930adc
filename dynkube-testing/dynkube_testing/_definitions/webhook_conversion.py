"""Conversion of custom resources by the webhook of their CRD."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynkube.errors import APIError
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import json_name, quoted
from dynkube_testing._calls.webhook_calls import WebhookAnswer, WebhookAnswers, webhook_call
from dynkube_testing._verbs.objectmeta import annotation_causes, label_causes

_GROUP = "apiextensions.k8s.io"
_VERSIONS = ("v1", "v1beta1")
_TIMEOUT = 30  # seconds; that of a real server, which CRDs cannot change
_TYPES = {bool: "bool", float: "float64", int: "int64", list: "[]interface {}", str: "string", type(None): "<nil>"}


@dataclass(frozen=True, slots=True)
class WebhookConversion:
    """Converts objects from one version of a CRD to another.

    Attributes:
        group: The group of the CRD.
        kind: The kind of the objects.
        webhook: ``spec.conversion.webhook`` of the CRD.
        answers: Function that returns the answers of webhooks to the present request; ``None`` if none are called.
    """

    group: str
    kind: str
    webhook: Mapping[str, Any]
    answers: Callable[[], WebhookAnswers | None]

    def convert(self, obj: JSONObject, source: str, wanted: str) -> JSONObject:
        """Return ``obj``, which is in the version ``source``, in the version ``wanted``.

        Its metadata stays as it is, except for labels and annotations.

        Raises:
            AnswersNeeded: The webhook must be called.
            ServerError: The webhook cannot be called, or its response is invalid.
        """
        api_version = f"{self.group}/{source}"
        given = obj["metadata"].items()
        metadata = {name: value for name, value in given if name != "resourceVersion" and value is not None}
        sent = {**obj, "apiVersion": api_version, "kind": self.kind, "metadata": metadata}
        known = self.answers()
        if known is None:
            why = f"failed: webhooks are not called for this request; use the version {source}, in which it is stored"
            raise self._error(source, why)
        target = f"{self.group}/{wanted}"
        request = {"uid": "", "desiredAPIVersion": target, "objects": [sent]}
        version = next(each for each in self.webhook["conversionReviewVersions"] if each in _VERSIONS)
        review = {"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{version}", "request": request}
        (answer,) = known.all(webhook_call(self.webhook["clientConfig"], _TIMEOUT, review))
        converted = self._read(answer, source, version)
        if problem := _type_problem(converted, target, self.kind):
            raise self._error(source, f"returned invalid object at index 0: {problem}")
        if problem := _changed(sent, converted):
            raise self._error(source, f"returned invalid object: {problem}")
        restored = self._restored(source, metadata, converted.get("metadata"))
        return {**converted, "metadata": {**restored, **_revision(obj)}}

    def _error(self, source: str, why: str) -> APIError:
        return refuse.failed(f"conversion webhook for {self.group}/{source}, Kind={self.kind} {why}")

    def _read(self, answer: WebhookAnswer, source: str, version: str) -> JSONObject:
        """Return the object in a response."""
        problem = answer.failure or _review_problem(answer, version)
        if problem:
            raise self._error(source, f"failed: {problem}")
        review: Any = answer.body
        response = review["response"]
        result = response.get("result") or {}
        if (status := result.get("status") or "") != "Success":
            why = result.get("message") or f"response.result.status was '{status}', not 'Success'"
            raise self._error(source, f"failed: {why}")
        objects = response.get("convertedObjects") or []
        if len(objects) != 1:
            raise self._error(source, f"returned {len(objects)} objects, expected 1")
        if not isinstance(objects[0], dict):
            type_name = json_name(objects[0])
            raise refuse.failed(f"json: cannot unmarshal {type_name} into Go value of type map[string]interface {{}}")
        if not objects[0].get("kind"):
            raise refuse.failed("Object 'Kind' is missing in the converted object")
        return dict(objects[0])

    def _restored(self, source: str, metadata: JSONObject, given: object) -> JSONObject:
        """Return ``metadata`` with the labels and annotations of the converted object."""
        if not isinstance(given, dict):
            why = "missing metadata in converted object" if given is None else _of_type("metadata", given)
            raise self._error(source, f"returned invalid metadata: {why}")
        restored = dict(metadata)
        for name, causes_of in (("labels", label_causes), ("annotations", annotation_causes)):
            restored.pop(name, None)
            if (value := given.get(name)) is None:
                continue
            if problem := _map_problem(name, value):
                raise self._error(source, f"returned invalid metadata: {problem}")
            if value != (metadata.get(name) or {}) and (causes := causes_of(value)):
                # The path of annotations lacks an "s" in the real server's message.
                path = f"metadata.{name.replace('annotations', 'annotation')}"
                texts = [f"{path}: {cause.message}" for cause in causes]
                raise self._error(source, f"returned invalid metadata: {_aggregate(texts)}")
            restored[name] = value
        return restored


def _revision(obj: JSONObject) -> JSONObject:
    metadata = obj["metadata"]
    return {"resourceVersion": metadata["resourceVersion"]} if "resourceVersion" in metadata else {}


def _review_problem(answer: WebhookAnswer, version: str) -> str:
    """Return why a response is not a ConversionReview; ``""`` if it is one."""
    review = answer.body
    if not isinstance(review, dict):
        fields = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
        why = f"json: cannot unmarshal {json_name(review)} into Go value of type {fields}"
        return f"couldn't get version/kind; json parse error: {why}"
    given, kind = review.get("apiVersion") or "", review.get("kind") or ""
    expected = f"{_GROUP}/{version}"
    if (given or kind) and (given, kind) not in {(f"{_GROUP}/{each}", "ConversionReview") for each in _VERSIONS}:
        return f'no kind {quoted(kind)} is registered for version {quoted(given)} in scheme "pkg/runtime/scheme.go:111"'
    if version == "v1" and given != expected:
        shown = given if "/" in given else f"/{given}"
        return f"expected webhook response of {expected}, Kind=ConversionReview, got {shown}, Kind={kind}"
    response = review.get("response")
    if not isinstance(response, dict):
        return "no response provided"
    if version == "v1" and response.get("uid", "") != answer.uid:
        # As in a real server, the UID is not checked in v1beta1.
        return f"expected response.uid={quoted(answer.uid)}, got {quoted(str(response.get('uid', '')))}"
    return ""


def _type_problem(converted: JSONObject, api_version: str, kind: str) -> str:
    if (given := converted.get("apiVersion") or "") != api_version:
        return f"invalid groupVersion (expected {api_version}, received {given})"
    if (given := converted["kind"]) != kind:
        return f"invalid kind (expected {kind}, received {given})"
    return ""


def _changed(sent: JSONObject, converted: JSONObject) -> str:
    """Return which part of the metadata was changed that must not be; ``""`` if there is none."""
    before: JSONObject = sent["metadata"]
    after: JSONObject = given if isinstance(given := converted.get("metadata"), dict) else {}
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        was, now = before.get(name, ""), after.get(name, "")
        if was != now:
            return f"must have the same {shown}: {was} != {now}"
    return ""


def _map_problem(name: str, value: object) -> str:
    if not isinstance(value, dict):
        return _of_type(f"metadata.{name}", value)
    for key, content in value.items():
        if not isinstance(content, str):
            return f"metadata.{name}[{key}] must be a string, but is {_type_name(content)} in converted object"
    return ""


def _of_type(field: str, value: object) -> str:
    return f"invalid {field} of type {_type_name(value)} in converted object"


def _type_name(value: object) -> str:
    return _TYPES.get(type(value), "map[string]interface {}")


def _aggregate(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
