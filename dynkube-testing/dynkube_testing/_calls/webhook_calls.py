"""Requests to webhooks that a request needs, and their answers so far.

Writes and reads are plain functions and do no I/O. One that needs the answer of a webhook raises
:class:`AnswersNeeded`. Its caller sends the requests, adds the answers to those of the call, and handles the call
again. A request whose answer is known is not sent again; if the object has changed meanwhile, the request is another
one.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookCall:
    """One request to a webhook.

    Attributes:
        url: Where it is sent; for a service ``https://NAME.NAMESPACE.svc:PORT/PATH``.
        service: Namespace and name of the service; ``None`` if the webhook has a URL.
        ca_bundle: The certificates of the CA, in PEM; ``""`` for those of the system.
        timeout: Seconds after which the request fails.
        review: The body, an AdmissionReview or ConversionReview, without the UID in its ``request``.
    """

    url: str
    service: tuple[str, str] | None = None
    ca_bundle: str = ""
    timeout: float
    review: Mapping[str, object]

    @property
    def key(self) -> tuple[str, bytes]:
        """What must be the same for an answer to be used."""
        return self.url, msgspec.json.encode(self.review)


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The answer to a request.

    Attributes:
        uid: The UID that was sent in the request.
        body: The decoded body of the response.
        failure: Why there is none, as in the message of a real server; ``""`` if there is one.
    """

    uid: str
    body: object = None
    failure: str = ""


def webhook_call(client: Mapping[str, Any], timeout: float, review: Mapping[str, object]) -> WebhookCall:
    """Return the request with ``review`` to the webhook of a ``clientConfig``."""
    service = client.get("service")
    url, reference = str(client.get("url") or ""), None
    if isinstance(service, dict):
        namespace, name, path = service["namespace"], service["name"], service.get("path") or "/"
        url = f"https://{name}.{namespace}.svc:{service.get('port') or 443}{path}"
        reference = (namespace, name)
    bundle = base64.b64decode(client.get("caBundle") or "").decode(errors="replace")
    return WebhookCall(url=url, service=reference, ca_bundle=bundle, timeout=timeout, review=review)


class AnswersNeeded(Exception):
    """A request needs the answers to ``calls``; nothing has been stored."""

    def __init__(self, *calls: WebhookCall) -> None:
        super().__init__(f"{len(calls)} webhooks must be called")
        self.calls = calls


@dataclass(slots=True)
class WebhookAnswers:
    """The answers to one request of a client, and what must stay the same while it is handled repeatedly.

    Attributes:
        time: The time at which it was received.
        seed: The seed of the random numbers that it uses.
        known: The answers by request.
    """

    time: datetime
    seed: int
    known: dict[tuple[str, bytes], WebhookAnswer] = field(default_factory=dict)

    def all(self, *calls: WebhookCall) -> list[WebhookAnswer]:
        """Return the answers to ``calls``.

        Raises:
            AnswersNeeded: Some are not known yet.
        """
        if missing := [call for call in calls if call.key not in self.known]:
            raise AnswersNeeded(*missing)
        return [self.known[call.key] for call in calls]
