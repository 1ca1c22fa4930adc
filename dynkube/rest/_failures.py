"""Classification of connection failures.

The messages have host, port and the underlying reason.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import trio

from dynkube._server_text import sanitized
from dynkube.errors import ConnectFailed, ConnectionLost, ProtocolError, TransportError
from dynkube.rest._redaction import Redactor

# Exceptions of transports. The built-in transport maps all of its errors to httpx2's classes; a custom one may not.
FAILURES: tuple[type[Exception], ...] = (
    httpx2.TransportError,
    httpx2.StreamError,
    OSError,
    trio.BrokenResourceError,
    trio.ClosedResourceError,
)
_UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.PoolTimeout, ConnectionRefusedError)
# Refused, or closed during the handshake: by a server that restarts, or a load balancer before it.
_DROPPED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_UNDERWAY = (httpx2.ReadError, httpx2.WriteError)  # of a connection that was established
_PLAIN_TEXT = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
_ENDED = ("incomplete", "closed connection", "connection ended", "disconnected", "terminated", "streamreset")
_NO_SECRETS = Redactor()
_MOST_REASON = 400  # maximum characters of a reason, as libraries quote the line that they could not parse
_HOSTNAME_MISMATCH = 62
_EXPIRED = 10


@dataclass(frozen=True, slots=True)
class Peer:
    """The server a client connects to, for messages.

    Attributes:
        address: ``host:port`` of the server.
        proxy: ``host:port`` of the proxy, or ``""``.
        source: where the address was configured, or ``""``.
    """

    address: str
    proxy: str = ""
    source: str = ""

    def __str__(self) -> str:
        through = f" through the proxy {self.proxy}" if self.proxy else ""
        return f"{self.address}{through}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A classified failure of the transport.

    Attributes:
        error: the exception to raise.
        lost: whether the connection was refused, or lost before a response, so that a retry may succeed.
        untrusted: whether verification of the server's certificate failed, so that the CA file may have been replaced.
    """

    error: TransportError
    lost: bool
    untrusted: bool


def understand(
    exc: BaseException,
    *,
    text: str,
    peer: Peer,
    received: int | None = None,
    handled: BaseException | None = None,
    redact: Redactor = _NO_SECRETS,
) -> Failure:
    """Classify a failure of the transport.

    Args:
        exc: the exception of the transport.
        text: the request line.
        peer: the server.
        received: bytes of the body received so far; ``None`` if the response had not begun.
        handled: the exception that the caller was handling when it sent or read (``sys.exception()``). It is the
            context of ``exc``, and says nothing about it: it may be that another server refused the connection.
        redact: removes the request's secrets from text that the server sent.
    """
    chain = list(_chain(exc, handled))
    tls = next((link for link in chain if isinstance(link, ssl.SSLError)), None)
    refused = any(isinstance(link, ConnectionRefusedError) for link in chain)
    broken = tls is not None and _broke_later(exc, tls, received)
    reason = sanitized(redact(f"TLS failed: {_tls_reason(tls)}" if tls and broken else _reason(chain)), _MOST_REASON)
    if isinstance(exc, _UNREACHED) or (tls is not None and not broken) or refused:
        where = f" (server from {peer.source})" if peer.source else ""
        return Failure(
            ConnectFailed(f"{text}: cannot connect to {peer}: {reason}{where}"),
            lost=any(isinstance(link, _DROPPED) for link in chain),
            untrusted=isinstance(tls, ssl.SSLCertVerificationError),
        )
    lost = _is_lost(exc)
    if received is not None:
        how = f"was truncated after {received} bytes" if lost else f"is not valid HTTP after {received} bytes"
        message = f"{text}: the response of {peer} {how}: {reason}"
    else:
        message = f"{text}: no response from {peer}: {reason}"
    error = ConnectionLost(message) if lost else ProtocolError(message)
    again = lost and received is None and not isinstance(exc, httpx2.TimeoutException)
    return Failure(error, lost=again, untrusted=False)


def harmless_cause(exc: Exception, redact: Redactor) -> Exception | None:
    """Return ``exc`` for use as the ``__cause__`` of an error.

    Returns ``None`` if its message quotes the request, and so may contain the token.
    """
    if isinstance(exc, httpx2.LocalProtocolError) or any(map(redact.finds, map(str, _chain(exc)))):
        return None
    return exc


def _broke_later(exc: BaseException, tls: ssl.SSLError, received: int | None) -> bool:
    """Whether TLS failed on an established connection, so that the request may have been carried out.

    With TLS 1.3 the server rejects a client certificate after the handshake, but before it reads a request.
    """
    return received is not None or (isinstance(exc, _UNDERWAY) and not _is_rejection(tls))


def _is_lost(exc: BaseException) -> bool:
    """Whether ``exc`` means that the connection was lost, and not that the server sent invalid HTTP."""
    if isinstance(exc, httpx2.RemoteProtocolError):  # h11, h2 and ChunkDecoder distinguish them by message only
        return any(text in str(exc).lower() for text in _ENDED)
    return isinstance(exc, httpx2.NetworkError | httpx2.TimeoutException | OSError | trio.BrokenResourceError)


def _chain(exc: BaseException, handled: BaseException | None = None) -> Iterator[BaseException]:
    """Yield the exception, its causes and contexts up to ``handled``, and members of groups; each once."""
    seen: set[int] = {id(handled)}
    queue: list[BaseException | None] = [exc]
    while queue:
        link = queue.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            queue.extend(link.exceptions)
        # httpcore2's pool raises "from None", which hides the reason and, with trio, leaves an empty message.
        queue.append(link.__cause__ or link.__context__)


def _reason(chain: list[BaseException]) -> str:
    """Return the most specific messages of a chain of exceptions.

    The messages of the outermost exceptions are often empty with trio.
    """
    described = dict.fromkeys(text for text in map(_message, chain) if text)
    if described:
        return "; ".join(described)
    texts = [text for link in chain if (text := str(link).strip())]
    return texts[0] if texts else _name(chain[-1])


def _message(link: BaseException) -> str:
    match link:
        case ssl.SSLCertVerificationError():
            return _untrusted(link)
        case ssl.SSLError():
            return _tls(link)
        case socket.gaierror():
            return f"the host name cannot be resolved ({link.strerror})"
        case ConnectionResetError() | BrokenPipeError():
            return "the connection was reset"
        case OSError(errno=int() as number) if number in errno.errorcode:
            return os.strerror(number)  # the message of trio's exception repeats the address
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "connecting timed out"
        case httpx2.ReadTimeout() | httpx2.WriteTimeout():
            return "the connection timed out"
        case httpx2.LocalProtocolError():
            return "the request is not valid HTTP"  # its message quotes headers, including the token
        case _:
            return ""


def _untrusted(error: ssl.SSLCertVerificationError) -> str:
    hint = "check the certificate authority (certificate-authority-data, verify=)"
    if error.verify_code == _HOSTNAME_MISMATCH or "mismatch" in error.verify_message.lower():
        hint = "use a name in the certificate, or set tls-server-name"
    elif error.verify_code == _EXPIRED:
        hint = "renew it on the server, or check the clock of this machine"
    return f"the server's TLS certificate cannot be verified: {error.verify_message.rstrip('.')}; {hint}"


def _tls(error: ssl.SSLError) -> str:
    reason = _tls_reason(error)
    if reason in _PLAIN_TEXT:
        return f"the port does not use TLS ({reason}); should the address begin with http://?"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "the TLS connection was closed unexpectedly"
    if _is_rejection(error):
        return f"the server rejected the client certificate ({reason})"
    return f"TLS failed: {reason}"


def _is_rejection(error: ssl.SSLError) -> bool:
    """Whether the server has rejected the client certificate."""
    reason = _tls_reason(error)
    return "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason)


def _tls_reason(error: ssl.SSLError) -> str:
    return error.reason or str(error)


def _name(exc: BaseException) -> str:
    return type(exc).__name__
