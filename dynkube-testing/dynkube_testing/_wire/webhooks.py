"""Calls of webhooks: over HTTPS, or of functions that a test gives instead.

The engine does no I/O. If it needs the answer of a webhook, it says so, and handles the call again with the answer.
"""

from __future__ import annotations

import inspect
import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeAlias, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

import httpx2
import msgspec
import trio

from dynkube.errors import APIError, InvalidInput
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject, Result, WatchStream
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._calls.webhook_calls import AnswersNeeded, WebhookAnswer, WebhookAnswers, WebhookCall
from dynkube_testing._engine import Engine
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.versions import Version
from dynkube_testing._verbs.large_writes import LARGE, in_thread
from dynkube_testing._wire.jsonerrors import parse_json

T = TypeVar("T")
#: A function that plays a webhook: from the review to the review with a response, or to the response alone.
WebhookFunction: TypeAlias = Callable[[JSONObject], JSONObject | Awaitable[JSONObject]]

_UNKNOWN_AUTHORITY = {18, 19, 20, 21}  # verification errors of OpenSSL: self-signed, or no issuer is known
# Of a response. A real server has no limit. The largest object in a patch takes 2 MiB, and 6 MiB if its characters are
# escaped.
MAX_RESPONSE = 8 * 1024 * 1024
_LATE_CONVERSION = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
_AT_ONCE = 16  # requests to webhooks for one request of a client
_HEADERS = {
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
    "User-Agent": "kube-apiserver-admission",
}
_REQUEST_TIMEOUT = 34  # seconds that a real server gives a request


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the calls of some webhooks go: URLs that begin with ``prefix`` to a function or another URL."""

    prefix: str
    to: WebhookFunction | str


class WebhookTargets:
    """Where webhooks are reached."""

    def __init__(self) -> None:
        self._targets: list[_Target] = []

    def add(self, url: str, to: WebhookFunction | str) -> None:
        """Let calls of ``url`` and of the paths below it go to a function or another URL; the latest one wins.

        Raises:
            InvalidInput: ``url`` or ``to`` is not an HTTP URL.
        """
        if isinstance(to, str):
            _absolute(to)
        self._targets.insert(0, _Target(_absolute(url), to))

    def find(self, url: str) -> WebhookFunction | str | None:
        """Return the function or URL to call instead of ``url``; ``None`` if there is none."""
        wanted = _absolute(url)
        for target in self._targets:
            if wanted == target.prefix or wanted.startswith(f"{target.prefix.rstrip('/')}/"):
                rest = wanted[len(target.prefix) :] if isinstance(target.to, str) else ""
                return f"{target.to.rstrip('/')}{rest}" if isinstance(target.to, str) else target.to
        return None


def _absolute(url: str) -> str:
    """Return a URL with its port, and without a slash at the end of its path.

    Raises:
        InvalidInput: It is not an HTTP URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput(f"the URL of a webhook is {url!r}: pass one like 'https://NAME.NAMESPACE.svc/validate'")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, f"{host}:{port}", parts.path.rstrip("/"), parts.query, ""))


@dataclass(frozen=True, slots=True)
class WebhookCaller:
    """Handles calls of an engine, and calls the webhooks that they need."""

    engine: Engine
    targets: WebhookTargets

    async def handle(self, call: Call, *, threads: bool) -> Result:
        """Handle a call; with ``threads`` large writes are computed in a thread.

        Raises:
            APIError: The error response to the call.
        """
        attempt = partial(self._attempt, threads=threads)
        result = await self._repeat(call, attempt)
        for kind, version in self.engine.cached_elsewhere(call, result):
            await self._convert(kind, [version])
        return result

    async def open_watch(self, call: Call) -> WatchStream:
        """Open a watch, with webhooks that convert the objects of its events; see :meth:`Engine.open_watch`.

        Raises:
            APIError: The error response sent instead of a stream.
        """

        async def attempt(call: Call) -> WatchStream:
            return self.engine.open_watch(call, self._convert)

        return await self._repeat(call, attempt)

    async def _convert(self, kind: Kind, versions: Sequence[Version]) -> None:
        """Let webhooks convert stored objects; those that they cannot convert stay as they are."""
        answers = self.engine.new_answers()
        with suppress(APIError):
            while True:
                try:
                    return self.engine.convert(kind, versions, answers)
                except AnswersNeeded as needed:
                    await self._ask(needed.calls, answers)

    async def admit_connection(self, call: Call, options: JSONObject) -> None:
        """Let admission plugins and webhooks check a connection; see :meth:`Engine.admit_connection`.

        Raises:
            APIError: The error response to the request.
        """

        async def attempt(call: Call) -> None:
            self.engine.admit_connection(call, options)

        await self._repeat(call, attempt)

    async def _repeat(self, call: Call, attempt: Callable[[Call], Awaitable[T]]) -> T:
        """Repeat ``attempt`` until it has the answers that it needs."""
        answers = self.engine.webhook_answers(call)
        if answers is None:
            return await attempt(call)
        with trio.move_on_after(_REQUEST_TIMEOUT):
            while True:
                repeated = replace(call, webhooks=answers, warnings=[])
                try:
                    return await attempt(repeated)
                except AnswersNeeded as needed:
                    await self._ask(needed.calls, answers)
                except APIError:
                    call.warnings.extend(repeated.warnings)
                    raise
        raise refuse.out_of_time()

    async def _attempt(self, call: Call, *, threads: bool) -> Result:
        return await self.engine.handle_in_thread_if_large(call) if threads else self.engine.handle(call)

    async def _ask(self, calls: tuple[WebhookCall, ...], answers: WebhookAnswers) -> None:
        """Send requests in parallel, and keep the answers."""
        limiter = trio.CapacityLimiter(_AT_ONCE)

        async def ask(call: WebhookCall) -> None:
            async with limiter:
                answers.known[call.key] = await self._answer(call, self.engine.uid(), clients)

        async with _Clients() as clients, trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(ask, call)

    async def _answer(self, call: WebhookCall, uid: str, clients: _Clients) -> WebhookAnswer:
        request: Any = call.review["request"]
        review: JSONObject = {**call.review, "request": {**request, "uid": uid}}
        target, url = self.targets.find(call.url), call.url
        if target is None and call.service is not None:
            return WebhookAnswer(uid, failure=_failed(call, self._unreachable(*call.service)))
        failure = _LATE_CONVERSION if call.review["kind"] == "ConversionReview" else "context deadline exceeded"
        with trio.move_on_after(call.timeout):
            try:
                if target is not None and not isinstance(target, str):
                    return WebhookAnswer(uid, _completed(review, await _play(target, review)))
                return await _post(clients.of(call.ca_bundle), call, target or url, uid, review)
            except httpx2.HTTPError as error:
                failure = _go_text(error, urlsplit(target if isinstance(target, str) else url))
            except Exception as error:  # noqa: BLE001 - the function of a test; it fails the request, as a webhook would
                failure = f"{type(error).__name__}: {error}"
        return WebhookAnswer(uid, failure=_failed(call, failure))

    def _unreachable(self, namespace: str, name: str) -> str:
        """Return why a service cannot be called: there is no network here."""
        services = self.engine.registry.find("v1", "Service")
        found = services is not None and self.engine.storage.get(services, namespace, name) is not None
        return f"no endpoints available for service {quoted(name)}" if found else f"service {quoted(name)} not found"


class _Clients:
    """The HTTP clients of some requests to webhooks, one for each CA, which close with them."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._closing = AsyncExitStack()

    def of(self, ca_bundle: str) -> httpx2.AsyncClient:
        """Return the client for a CA, in PEM; ``""`` for those of the system."""
        if ca_bundle not in self._clients:
            context = ssl.create_default_context(cadata=ca_bundle or None)
            client = httpx2.AsyncClient(verify=context, timeout=None, trust_env=False)
            self._closing.push_async_callback(client.aclose)
            self._clients[ca_bundle] = client
        return self._clients[ca_bundle]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()


async def _post(client: httpx2.AsyncClient, call: WebhookCall, url: str, uid: str, review: JSONObject) -> WebhookAnswer:
    host, content = urlsplit(call.url).hostname or "", bytearray()
    async with client.stream(
        "POST",
        url,
        params={"timeout": f"{int(call.timeout)}s"},
        content=msgspec.json.encode(review),
        headers=_HEADERS,
        extensions={"sni_hostname": host} if call.service is not None else {},
    ) as response:
        with trio.CancelScope() as reading:  # cancellation ends the generators of httpx2, which "return" would not
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > MAX_RESPONSE:
                    reading.cancel()
    if len(content) > MAX_RESPONSE:
        return WebhookAnswer(uid, failure=_failed(call, f"the response has more than {MAX_RESPONSE} bytes"))
    if not 200 <= response.status_code <= 206:
        return WebhookAnswer(uid, failure=_status_text(response.status_code, content.decode("utf-8", "replace")))
    decoding = partial(parse_json, bytes(content))
    try:
        return WebhookAnswer(uid, await in_thread(decoding) if len(content) > LARGE else decoding())
    except ValueError as error:
        return WebhookAnswer(uid, failure=f"couldn't get version/kind; json parse error: {error}")


def _go_text(error: Exception, url: SplitResult) -> str:
    """Return what Go says of an error of the network."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            unknown = cause.verify_code in _UNKNOWN_AUTHORITY
            why = "x509: certificate signed by unknown authority" if unknown else cause.verify_message
            return f"tls: failed to verify certificate: {why}"
        if isinstance(cause, ConnectionRefusedError):
            return f"dial tcp {url.hostname}:{url.port or 443}: connect: connection refused"
        if isinstance(cause, socket.gaierror):
            return f"dial tcp: lookup {url.hostname}: no such host"
    return next((text for cause in causes if (text := str(cause))), type(error).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it comes from, and the members of groups in between."""
    yield error
    if cause := error.__cause__ or error.__context__:
        yield from _causes(cause)
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _causes(member)


def _failed(call: WebhookCall, why: str) -> str:
    separator = "&" if "?" in call.url else "?"
    return f'Post "{call.url}{separator}timeout={int(call.timeout)}s": {why}'


_STATUS_TEXTS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


def _status_text(code: int, text: str) -> str:
    """Return what client-go says of a response that is an error."""
    text = text.strip()
    if (known := _STATUS_TEXTS.get(code)) is not None:
        return known
    if code in {403, 406, 415}:
        return text
    if code >= 500:
        shown = text or "unknown"
        return f"an error on the server ({quoted(shown)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


async def _play(function: WebhookFunction, review: JSONObject) -> JSONObject:
    result = function(json.loads(json.dumps(review)))  # a copy, which the function may change
    answer = await result if inspect.isawaitable(result) else result
    await trio.lowlevel.checkpoint()
    return answer


def _completed(review: JSONObject, answer: object) -> object:
    """Return what a function has returned as a review: a response alone gets the UID of the request."""
    if not isinstance(answer, dict) or "response" in answer:
        return answer
    kept = {name: review[name] for name in ("apiVersion", "kind")}
    return {**kept, "response": {"uid": review["request"]["uid"], **answer}}
