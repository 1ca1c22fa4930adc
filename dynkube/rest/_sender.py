"""The retry loop of a request: until a response head arrives, or no retries are left."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import quote, urlencode

import httpx2
import trio

from dynkube._logs import get_logger
from dynkube.config import ClientConfig, Credential
from dynkube.config._credentials import credential_timeout_of
from dynkube.errors import APIError, DynkubeError, InvalidInput, ProtocolError, TransportError
from dynkube.rest._answers import (
    MOST_STATUS,
    SWITCHING_PROTOCOLS,
    check_head,
    error_from,
    hint_about,
    is_json,
    most_of_error,
)
from dynkube.rest._attempts import Attempt, Attempts, Counters, Subject
from dynkube.rest._failures import FAILURES, Failure, Peer, harmless_cause, understand
from dynkube.rest._headers import compose
from dynkube.rest._messages import Limits, Request
from dynkube.rest._pools import PoolKeeper, Pools
from dynkube.rest._redaction import Redactor
from dynkube.rest._retry import Retries, parse_retry_after
from dynkube.rest._stream import Exchange
from dynkube.rest._throttle import TokenBucket

_logger = get_logger("dynkube.rest")
_SHOWN = 2  # credentials that are redacted: the current one, and the previous one
_MOST_AT_ONCE = 256 << 10  # bytes of a Status parsed on the event loop, within some ten milliseconds


@dataclass(slots=True, kw_only=True)
class Call:
    """A request in flight.

    Attributes:
        request: the request.
        text: the request line for messages.
        retries: its retry policy and counters.
        deadline: on trio's clock; no retry is delayed beyond it.
        streaming: whether to use the pool for streams.
        scope: the cancel scope that enforces the deadline.
        bound: maximum bytes of the response; ``None`` for a watch, which has no limit.
        default: whether the deadline is the client's default rather than the caller's.
        watch: whether the request is a watch, which may last for hours and is never throttled.
        upgrade: whether the request asks for another protocol on its connection; the response is 101 then.
        attempts: how often the request was sent.
        throttled: seconds for which the request was delayed; ``None`` if throttling does not apply.
        doing: what is being waited for, for messages.
        last_failure: the error of the previous try.
    """

    request: Request
    text: str
    retries: Retries
    deadline: float
    streaming: bool
    scope: trio.CancelScope
    bound: int | None
    default: bool
    watch: bool
    upgrade: bool = False
    attempts: int = 0
    throttled: float | None = None
    doing: str = ""
    last_failure: DynkubeError | None = None

    @property
    def subject(self) -> Subject:
        """The Kubernetes attributes of the request."""
        return Subject.of(self.request)


class Sender:
    """The retry loop: throttling, credential, connection, response head, and retries.

    Args:
        config: address, TLS and credentials of the server.
        pools: source of connections.
        limits: retries, timeouts and throttling.
        peer: the server, for messages.
        proxy_url: the proxy, whose password is redacted from messages.
        user_agent: the default ``User-Agent``.
        now: the wall clock.
        on_warning: called with each warning of the server.
        attempts: counts attempts, and calls observers.
        compression: whether to accept compressed responses, except of watches, in which they would delay events.
    """

    def __init__(
        self,
        config: ClientConfig,
        pools: PoolKeeper,
        limits: Limits,
        *,
        peer: Peer,
        proxy_url: str | None = None,
        user_agent: str,
        now: Callable[[], datetime],
        on_warning: Callable[[str], None],
        attempts: Attempts,
        compression: bool = False,
    ) -> None:
        self._compression = compression
        self._config = config
        self._pools = pools
        self._peer = peer
        self._proxy_url = proxy_url
        self._shown: deque[Credential] = deque(maxlen=_SHOWN)
        self._redact: Redactor  # set with the first credential
        self._user_agent = user_agent
        self._now = now
        self._on_warning = on_warning
        self._warning_failed = False
        self._attempts = attempts
        self._counters: Counters = attempts.counters
        self._throttle = None if limits.qps is None else TokenBucket(limits.qps, limits.burst)
        self._extensions: dict[str, object] = {
            "timeout": {"connect": limits.connect_timeout, "read": None, "write": None, "pool": None}
        }
        if config.tls.server_name:
            self._extensions["sni_hostname"] = config.tls.server_name

    async def open(self, call: Call) -> Exchange:
        """Send the request until there is a response below 400.

        Returns:
            The response with its body unread; the caller closes it.

        Raises:
            APIError: an error response, and a retry would not help or not be in time.
            TransportError: there is no usable response.
            CredentialError: no credential is available.
        """
        newer: Credential | None = None
        refreshed = False
        while True:
            await self._wait_for_turn(call)
            credential = newer
            if credential is None:
                call.doing = f"waiting for a credential from {self._config.credentials}"
                with self._patient(call):
                    credential = await self._config.credentials.current()
            newer = None
            exchange = await self._send(call, credential)
            if exchange is None:
                continue
            if not 400 <= exchange.status < MOST_STATUS:
                return await self._checked(exchange, call)
            error = await self._read_error(exchange, call, credential)
            if exchange.status == 401 and not refreshed:
                refreshed = True
                newer = await self._refresh(call, credential, error)
            else:
                await self._pause(call, error, call.retries.after_answer(exchange.status, self._retry_after(exchange)))

    async def _send(self, call: Call, credential: Credential) -> Exchange | None:
        """Send once; return the response head, or ``None`` to try again."""
        url = self._url(call.request)
        call.doing = f"connecting to {self._peer}"
        pools = await self._pools.acquire(credential.certificate)
        call.doing = f"waiting for {self._peer} to respond"
        call.attempts += 1
        redact = self._redactor(credential)
        attempt = self._attempts.begin(
            call.request, call.subject, url=url, number=call.attempts, throttled=call.throttled
        )
        cause: Exception | None = None
        handled = sys.exception()
        try:
            message = self._compose(call, url, credential, attempt)
            response = await _transport(pools, call).handle_async_request(message)
        except FAILURES as exc:
            failure = await self._failed(exc, call, pools, attempt, redact, handled)
            cause = harmless_cause(exc, redact)
        except BaseException as exc:
            attempt.end(error=exc)
            with trio.CancelScope(shield=True):
                await pools.release()
            raise
        else:
            exchange = Exchange(
                response,
                pools,
                attempt,
                self._counters,
                text=call.text,
                peer=self._peer,
                bound=call.bound,
                redact=redact,
                compressible=self._accepts_gzip(call),
            )
            return self._begun(exchange, call)
        # Raised outside the except block, so that the transport's exception does not become its context: it may quote
        # the credential.
        delay = call.retries.after_lost_connection() if failure.lost else None
        if not _in_time(call, delay):
            raise failure.error from cause
        await self._pause(call, failure.error, delay)
        return None

    def _redactor(self, credential: Credential) -> Redactor:
        """Return the redactor for responses to a request with ``credential``.

        It also redacts the previous credential, which a response may contain, too.
        """
        if credential not in self._shown:
            self._shown.append(credential)
            self._redact = Redactor(self._shown, self._proxy_url)
        return self._redact

    def _begun(self, exchange: Exchange, call: Call) -> Exchange:
        """Log and count a response head, and report its warnings."""
        _logger.debug("%s: %d", call.text, exchange.status)
        if (call.watch or call.upgrade) and exchange.status < 400:
            # observers are notified of the opening of a watch or a WebSocket, not of its whole lifetime
            exchange.attempt.end(code=exchange.status)
        for warning in exchange.warnings:
            self._counters.warnings += 1
            self._warn(warning)
        return exchange

    def _url(self, request: Request) -> str:
        url = self._config.server + request.path
        try:
            return f"{url}?{urlencode(request.params, doseq=True, quote_via=quote)}" if request.params else url
        except UnicodeEncodeError as exc:
            raise InvalidInput(
                f"{request}: the query parameter {exc.object!r} is not valid Unicode: it contains a lone surrogate"
            ) from None

    def _accepts_gzip(self, call: Call) -> bool:
        return self._compression and not (call.watch or call.upgrade) and call.request.method != "HEAD"

    def _compose(self, call: Call, url: str, credential: Credential, attempt: Attempt) -> httpx2.Request:
        request = call.request
        headers = compose(
            request,
            credential,
            self._config.impersonate,
            user_agent=self._user_agent,
            further=attempt.headers,
            gzip=self._accepts_gzip(call),
        )
        extensions = dict(self._extensions)
        try:
            return httpx2.Request(request.method, url, headers=headers, content=request.body, extensions=extensions)
        except httpx2.InvalidURL as exc:  # path and server were validated, so the URL is too long
            raise InvalidInput(f"{request}: path and params form no valid URL: {exc}; shorten the selectors") from exc

    async def _wait_for_turn(self, call: Call) -> None:
        if self._throttle is None or call.watch:
            return
        delay = call.throttled = self._throttle.reserve(trio.current_time())
        if not delay:
            return
        self._counters.throttled += 1
        self._counters.throttled_seconds += delay
        call.doing = f"waiting for the rate limit (Limits.qps), {delay:.3g} s"
        try:
            await trio.sleep(delay)
        except trio.Cancelled:
            self._throttle.give_back()
            raise

    async def _failed(
        self,
        exc: Exception,
        call: Call,
        pools: Pools,
        attempt: Attempt,
        redact: Redactor,
        handled: BaseException | None,
    ) -> Failure:
        """Classify a failure and release the pools.

        Raises:
            ClosedError: the request failed because the client was closed.
        """
        closed = pools.closed
        failure = understand(exc, text=call.text, peer=self._peer, handled=handled, redact=redact)
        attempt.end(error=failure.error)  # not exc itself, which may quote the request, including the token
        if failure.untrusted:  # the CA file may have been replaced
            await self._pools.forget(pools)
        await pools.release()
        if closed:
            text = f"{call.text}: the client was closed while waiting for the response"
            raise self._pools.closed_error(text, harmless_cause(exc, redact))
        return failure

    async def _checked(self, exchange: Exchange, call: Call) -> Exchange:
        try:
            if not (call.upgrade and exchange.status == SWITCHING_PROTOCOLS):
                check_head(exchange.status, exchange.headers, call.request, text=call.text)
        except BaseException:
            await exchange.aclose()
            raise
        return exchange

    async def _read_error(self, exchange: Exchange, call: Call, credential: Credential) -> APIError | ProtocolError:
        """Read the body of an error response, as far as it arrives.

        Closes the exchange.
        """
        call.doing = f"reading the {exchange.status} response of {self._peer}"
        try:
            body = await _error_body(exchange)
            reading = partial(
                error_from,
                exchange.status,
                exchange.headers,
                body,
                request=call.text,
                retry_after=self._retry_after(exchange),
                hint=hint_about(credential, self._config.source),
                redact=exchange.redact,
            )
            if is_json(exchange.headers) and len(body) > _MOST_AT_ONCE:
                # Not abandoned on cancellation: decoding ends within a second, and a deadline that expires meanwhile
                # must not hide the response, which has arrived.
                error = await trio.to_thread.run_sync(reading)
            else:
                error = reading()
            exchange.attempt.end(code=exchange.status, received=exchange.received, error=error)
        finally:
            await exchange.aclose()
        return error

    async def _refresh(self, call: Call, rejected: Credential, error: APIError | ProtocolError) -> Credential:
        call.doing = "waiting for a new credential, since the server rejected the current one"
        call.last_failure = error
        self._counters.refreshes += 1
        with self._patient(call):
            newer = await self._config.credentials.refresh(rejected)
        if newer is rejected:
            raise error
        self._counters.retries += 1
        return newer

    @contextmanager
    def _patient(self, call: Call) -> Iterator[None]:
        """Extend the deadline of a request while a credential plugin runs.

        Only for plugins that have a timeout of their own. Of these, a non-interactive plugin extends the client's
        default deadline, but not a deadline set by the caller. An interactive plugin extends both, as its prompt would
        otherwise disappear after half a minute.
        """
        patience = credential_timeout_of(self._config.credentials)
        extra = patience.seconds if patience.interactive or call.default else 0.0
        began = trio.current_time()
        call.scope.deadline = call.deadline + extra
        try:
            yield
        finally:
            call.deadline += min(extra, trio.current_time() - began)
            call.scope.deadline = call.deadline

    async def _pause(self, call: Call, error: DynkubeError, delay: float | None) -> None:
        """Sleep for ``delay``; raise ``error`` if there is none, or not enough time."""
        if delay is None or not _in_time(call, delay):
            raise error
        _logger.debug("%s; retrying in %.3g s", error, delay)
        call.last_failure = error
        call.doing = f"waiting {delay:.3g} s to retry"
        self._counters.retries += 1
        await trio.sleep(delay)

    def _retry_after(self, exchange: Exchange) -> float | None:
        return parse_retry_after(exchange.headers.get("retry-after"), now=self._now())

    def _warn(self, warning: str) -> None:
        try:
            self._on_warning(warning)
        except Exception as exc:  # a callback of the user
            level = logging.DEBUG if self._warning_failed else logging.ERROR
            self._warning_failed = True
            _logger.log(level, "on_warning raised for %r; the request continues", warning, exc_info=exc)


def _transport(pools: Pools, call: Call) -> httpx2.AsyncBaseTransport:
    if call.upgrade:
        return pools.upgradable
    return pools.long if call.streaming else pools.short


async def _error_body(exchange: Exchange) -> bytes:
    """Read the body of an error response, as far as it arrives."""
    body, most = bytearray(), most_of_error(exchange.headers)
    try:
        while len(body) < most and (chunk := await exchange.read()):
            body += chunk
    except TransportError:
        pass  # the HTTP status has arrived, which matters more than an incomplete body
    return bytes(body[:most])


def _in_time(call: Call, delay: float | None) -> bool:
    return delay is not None and trio.current_time() + delay < call.deadline
