"""The responses of admission webhooks: checks, warnings, rejections and patches."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import Any

import msgspec

from dynkube.errors import APIError, Status
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._calls.webhook_calls import WebhookAnswer

_VERSION = "admission.k8s.io/v1"
_KIND = f"{_VERSION}, Kind=AdmissionReview"


class CallFailed(Exception):
    """A webhook could not be called, or its response is invalid; the message is that of a real server."""

    def __init__(self, webhook: str, why: str) -> None:
        super().__init__(f"failed calling webhook {quoted(webhook)}: {why}")


class Rejected(Exception):
    """A webhook rejects the request; ``error`` is the response to the client."""

    def __init__(self, error: APIError) -> None:
        super().__init__(str(error))
        self.error = error


def read_response(webhook: str, answer: WebhookAnswer, *, mutating: bool, warnings: list[str]) -> list[JSONObject]:
    """Return the JSON patch in the answer of a webhook that allows the request; empty if there is none.

    Args:
        webhook: The name of the webhook.
        answer: Its answer.
        mutating: Whether it may return a patch.
        warnings: The warnings for the client, to which those of the webhook are added.

    Raises:
        CallFailed: The webhook could not be called, or its response is invalid.
        Rejected: The webhook rejects the request.
    """
    if answer.failure:
        raise CallFailed(webhook, f"failed to call webhook: {answer.failure}")
    response, problem = _checked(answer, mutating=mutating)
    if problem:
        raise CallFailed(webhook, f"received invalid webhook response: {problem}")
    warnings.extend(str(each) for each in response.get("warnings") or ())
    if response.get("allowed") is not True:
        raise Rejected(_rejection(webhook, response.get("status")))
    return _patch(webhook, response) if mutating and response.get("patch") else []


def _checked(answer: WebhookAnswer, *, mutating: bool) -> tuple[dict[str, Any], str]:
    """Return the response in an AdmissionReview, and why it is invalid, or ``""``."""
    review = answer.body if isinstance(answer.body, dict) else {}
    response, version = review.get("response"), review.get("apiVersion") or ""
    if not isinstance(response, dict):
        return {}, "webhook response was absent"
    patch, patch_type = response.get("patch"), response.get("patchType")
    if version == "admission.k8s.io/v1beta1":
        # As in a real server, UID and patch type are not checked in this version.
        return {**response, **({"patchType": "JSONPatch"} if patch else {})}, ""
    if response.get("uid", "") != answer.uid:
        return {}, f"expected response.uid={quoted(answer.uid)}, got {quoted(str(response.get('uid', '')))}"
    kind = review.get("kind") or ""
    if (version, kind) != (_VERSION, "AdmissionReview"):
        shown = version if "/" in version else f"/{version}"
        return {}, f"expected webhook response of {_KIND}, got {shown}, Kind={kind}"
    if not mutating and (patch or patch_type is not None):
        return {}, f"validating webhook may not return response.{'patch' if patch else 'patchType'}"
    if patch and patch_type is None:
        return {}, "webhook returned response.patch but not response.patchType"
    if patch_type is not None and not patch:
        return {}, "webhook returned response.patchType but not response.patch"
    if patch_type == "":
        return {}, 'webhook returned invalid response.patchType of ""'
    return response, ""


def _patch(webhook: str, response: dict[str, Any]) -> list[JSONObject]:
    if response["patchType"] != "JSONPatch":
        raise CallFailed(webhook, f"unsupported patch type {quoted(str(response['patchType']))}")
    try:
        return msgspec.json.decode(base64.b64decode(response["patch"], validate=True), type=list[dict[str, Any]])
    except (binascii.Error, TypeError, msgspec.DecodeError) as problem:
        raise CallFailed(webhook, f"received undecodable patch in webhook response: {problem}") from None


def _rejection(webhook: str, result: object) -> APIError:
    """Return the error response for a rejection with the ``status`` of a webhook."""
    given = result if isinstance(result, dict) else {}
    status = Status.from_mapping(given, code=400)
    denied = f'admission webhook "{webhook}" denied the request'
    why = status.message or status.reason
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    return APIError.from_status(replace(status, message=message))
