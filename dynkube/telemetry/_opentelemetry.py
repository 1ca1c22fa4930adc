"""OpenTelemetry spans: one per attempt of a request, by the HTTP conventions, and one per reconcile.

``k8s.*`` attributes are added. The span of a watch covers its opening only, not the minutes for which it is open.
Traces continue in the API server, which accepts ``traceparent`` (KEP-647). Baggage is not sent, as it may have data
that is not meant for the cluster. An informer's requests are not attributed to the span that was current when the
informer was started, because several tasks may share the informer. If a span was current when the client was opened
(``async with``), it is their parent; otherwise they are root spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

from dynkube.errors import APIError, ConfigError
from dynkube.telemetry._observer import Observer
from dynkube.telemetry._records import ReconcileInfo, ReconcileOutcome, RequestInfo, RequestOutcome

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

_PORTS = {"http": 80, "https": 443}


class OpenTelemetryTracing(Observer):
    """Creates a span for each attempt of a client's requests, and for each reconcile of its controllers.

    Pass it to the client: ``dynkube.connect(observers=[OpenTelemetryTracing()])``.

    Args:
        tracer_provider: the provider of the tracer; ``None`` for the global one.

    Raises:
        ConfigError: the package ``opentelemetry-api`` is missing.
    """

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import context, trace
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise ConfigError(
                "OpenTelemetryTracing requires the package opentelemetry-api: pip install 'dynkube[opentelemetry]'"
            ) from error
        self._context = context
        self._trace = trace
        self._propagator = TraceContextTextMapPropagator()
        self._tracer = trace.get_tracer("dynkube", tracer_provider=tracer_provider)
        self._spans: dict[RequestInfo, Span] = {}
        self._reconciles: dict[ReconcileInfo, tuple[Span, Token[Context]]] = {}

    def request_started(self, request: RequestInfo) -> Mapping[str, str]:
        """Start a child of the current span, and return its ``traceparent``."""
        span = self._tracer.start_span(
            f"{request.method} {request.template}",
            kind=self._trace.SpanKind.CLIENT,
            attributes=_request_attributes(request),
        )
        self._spans[request] = span
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, context=self._trace.set_span_in_context(span))
        return carrier

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """End the span, with the error if there was one."""
        span = self._spans.pop(request)
        if span.is_recording():
            span.set_attributes(_answered(outcome))
            if outcome.error is not None:
                self._failed(span, outcome.error)
        span.end()

    def reconcile_started(self, reconcile: ReconcileInfo) -> None:
        """Start a span, and make it the current one of the task, so that requests are its children."""
        span = self._tracer.start_span(
            f"reconcile {reconcile.controller}",
            context=self._context.Context(),  # a trace of its own: a controller runs for days
            attributes={
                "dynkube.controller": reconcile.controller,
                "dynkube.resource": reconcile.resource,
                "k8s.namespace.name": reconcile.namespace,
                "k8s.request.name": reconcile.name,
                "dynkube.attempt": reconcile.attempt,
                **({"dynkube.cluster": reconcile.cluster} if reconcile.cluster else {}),
            },
        )
        token = self._context.attach(self._trace.set_span_in_context(span))
        self._reconciles[reconcile] = span, token

    def reconcile_finished(self, reconcile: ReconcileInfo, outcome: ReconcileOutcome) -> None:
        """End the span, with the error if there was one."""
        span, token = self._reconciles.pop(reconcile)
        self._context.detach(token)
        span.set_attribute("dynkube.result", outcome.result)
        if outcome.error is not None:
            self._failed(span, outcome.error)
        span.end()

    def _failed(self, span: Span, error: BaseException) -> None:
        cancelled = isinstance(error, trio.Cancelled)
        description = "cancelled by a deadline or by the caller" if cancelled else str(error)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, description))
        if not cancelled:
            span.record_exception(error)


def _request_attributes(request: RequestInfo) -> dict[str, str | int]:
    """Return the attributes known before sending; they are available to the sampler."""
    parts = urlsplit(request.url)
    attributes: dict[str, str | int] = {
        "http.request.method": request.method,
        "url.full": request.url,
        "url.template": request.template,
        "server.address": parts.hostname or "",
        "server.port": parts.port or _PORTS.get(parts.scheme, 0),
        "k8s.request.verb": request.verb,
    }
    if request.gvr is not None:
        attributes["k8s.request.api_group"] = request.gvr.group
        attributes["k8s.request.api_version"] = request.gvr.version
        attributes["k8s.request.resource"] = request.gvr.resource
    given: dict[str, str | int] = {
        "k8s.request.subresource": request.subresource,
        "k8s.request.name": request.name,
        "k8s.namespace.name": request.namespace,
        "http.request.body.size": request.body_bytes,
        "http.request.resend_count": request.attempt - 1,
    }
    return attributes | {name: value for name, value in given.items() if value}


def _answered(outcome: RequestOutcome) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {}
    if outcome.code is not None:
        attributes["http.response.status_code"] = outcome.code
        attributes["http.response.body.size"] = outcome.received
    if outcome.error is not None:
        refused = isinstance(outcome.error, APIError)
        attributes["error.type"] = str(outcome.code) if refused else type(outcome.error).__qualname__
    return attributes
