"""Removal of a request's secrets from the text of its response, after decoding."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from dynkube.config import Credential
from dynkube.errors import Status, StatusCause

HIDDEN: Final = "<hidden>"
_SHORTEST: Final = 4  # characters: shorter secrets occur in ordinary words


class Redactor:
    """Replaces the secrets of one request in strings.

    Args:
        credentials: the credentials of the request and of earlier requests. Secrets are their header values, and the
            password in a ``Basic`` header.
        proxy_url: the proxy URL, with user and password; ``None`` for no proxy.
    """

    __slots__ = ("_pattern",)

    def __init__(self, credentials: Iterable[Credential] = (), proxy_url: str | None = None) -> None:
        secrets = {secret for credential in credentials for secret in _of_credential(credential)}
        secrets.update(_of_proxy(proxy_url))
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        """Return ``text`` without the secrets.

        They are found verbatim and in JSON, URL and Python notation.
        """
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def finds(self, text: str) -> bool:
        """Whether ``text`` contains a secret."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def error(self, exc: Exception) -> None:
        """Redact the message of a dynkube exception in place.

        In place, as a new exception would have the original one as its context.
        """
        exc.args = tuple(self(part) if isinstance(part, str) else part for part in exc.args)

    def address(self, url: str) -> str:
        """Redact a URL from a server, even if parts of a secret are percent-encoded."""
        return HIDDEN if self.finds(unquote(url)) and not self.finds(url) else self(url)

    def status(self, status: Status) -> Status:
        """Redact all strings of a Status."""
        if self._pattern is None:
            return status
        causes = tuple(
            StatusCause(self(cause.field), self(cause.reason), self(cause.message)) for cause in status.causes
        )
        return replace(
            status,
            reason=self(status.reason),
            message=self(status.message),
            kind=self(status.kind),
            group=self(status.group),
            name=self(status.name),
            uid=self(status.uid),
            causes=causes,
        )


def _of_credential(credential: Credential) -> Iterator[str]:
    for value in credential.headers.values():
        if words := value.split():
            yield words[-1]
            if words[0].lower() == "basic":
                yield from _of_basic(words[-1])


def _of_basic(encoded: str) -> Iterator[str]:
    try:
        _, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return
    yield password


def _of_proxy(url: str | None) -> Iterator[str]:
    parts = urlsplit(url or "")
    if parts.password is None and parts.username is None:
        return
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    yield base64.b64encode(f"{user}:{password}".encode()).decode()
    yield password
    yield parts.password or ""


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield repr(secret.encode())[2:-1]
