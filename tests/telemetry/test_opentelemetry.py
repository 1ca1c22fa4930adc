"""Spans of requests, by OpenTelemetry's conventions for HTTP clients."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from random import Random

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import dynkube
from dynkube import LIVE, Client
from dynkube.errors import ConfigError, DeadlineExceeded, NotFound
from dynkube.telemetry import OpenTelemetryTracing
from dynkube_testing import APIServer
from tests.informers.kit import namespace, pod
from tests.telemetry.kit import SilentTransport

pytestmark = pytest.mark.scenario("F40")


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


@pytest.fixture
async def client(server: APIServer, provider: TracerProvider) -> AsyncIterator[Client]:
    settings = dynkube.InformerSettings(random=Random(7))
    tracing = OpenTelemetryTracing(provider)
    async with dynkube.connect(transport=server.transport(), settings=settings, observers=[tracing]) as client:
        yield client


def last(exporter: InMemorySpanExporter) -> ReadableSpan:
    return exporter.get_finished_spans()[-1]


async def test_a_request_is_a_client_span_with_http_and_kubernetes_attributes(
    server: APIServer, client: Client, exporter: InMemorySpanExporter
) -> None:
    server.create(namespace("shop"))
    server.create(pod("web", "shop"))
    await client.resource("pods.v1").get("web", namespace="shop")

    span = last(exporter)
    assert (span.name, span.kind) == ("GET /api/v1/namespaces/{namespace}/pods/{name}", SpanKind.CLIENT)
    assert span.attributes is not None
    received = span.attributes["http.response.body.size"]
    assert isinstance(received, int)
    assert received > 100
    assert {**span.attributes, "http.response.body.size": 0} == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "http.response.body.size": 0,
        "url.full": "http://embedded.invalid/api/v1/namespaces/shop/pods/web",
        "url.template": "/api/v1/namespaces/{namespace}/pods/{name}",
        "server.address": "embedded.invalid",
        "server.port": 80,
        "k8s.namespace.name": "shop",
        "k8s.request.verb": "get",
        "k8s.request.api_group": "",
        "k8s.request.api_version": "v1",
        "k8s.request.resource": "pods",
        "k8s.request.name": "web",
    }
    assert span.status.status_code is StatusCode.UNSET


async def test_the_trace_context_is_sent_to_the_server(
    server: APIServer, client: Client, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with provider.get_tracer("test").start_as_current_span("outer") as outer:
        await client.raw("GET", "/version")

    request, _ = exporter.get_finished_spans()
    assert request.parent is not None
    assert request.context is not None
    assert request.parent.span_id == outer.get_span_context().span_id
    sent = server.requests[-1].headers["traceparent"]
    assert sent.rpartition("-")[0] == f"00-{request.context.trace_id:032x}-{request.context.span_id:016x}"


async def test_an_error_response_is_an_error_and_each_retry_a_separate_span(
    server: APIServer, client: Client, exporter: InMemorySpanExporter
) -> None:
    server.fail(resource="pods", status=429, retry_after=3, times=1)
    with pytest.raises(NotFound):
        await client.resource("pods.v1").get("a")

    rejected, repeated = exporter.get_finished_spans()[-2:]
    assert rejected.attributes is not None
    assert repeated.attributes is not None
    assert (rejected.attributes["error.type"], rejected.status.status_code) == ("429", StatusCode.ERROR)
    assert repeated.attributes["http.request.resend_count"] == 1
    assert repeated.attributes["error.type"] == "404"
    assert [event.name for event in repeated.events] == ["exception"]


async def test_the_span_of_a_watch_ends_with_the_response_headers(
    server: APIServer, client: Client, exporter: InMemorySpanExporter
) -> None:
    async with client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)
        opened = [
            span for span in exporter.get_finished_spans() if (span.attributes or {})["k8s.request.verb"] == "watch"
        ]

    assert [span.name for span in opened] == ["GET /api/v1/pods"]
    assert len(opened) == sum(
        (span.attributes or {})["k8s.request.verb"] == "watch" for span in exporter.get_finished_spans()
    )


async def test_requests_of_an_informer_are_not_in_the_trace_in_which_it_was_entered(
    server: APIServer, client: Client, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with provider.get_tracer("test").start_as_current_span("outer"):
        async with client.informer("pods.v1") as pods:
            await pods.wait_state(LIVE)

    assert [span.parent for span in exporter.get_finished_spans()] == [None] * len(exporter.get_finished_spans())


async def test_the_span_of_a_request_without_a_response_has_its_error(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    async with dynkube.connect(transport=SilentTransport(), observers=[OpenTelemetryTracing(provider)]) as client:
        with pytest.raises(DeadlineExceeded):
            await client.raw("GET", "/version", timeout=5)

    span = last(exporter)
    assert (span.attributes or {})["error.type"] == "Cancelled"
    assert span.status.description == "cancelled by a deadline or by the caller"


async def test_no_span_contains_a_credential(
    server: APIServer, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    token = "top-secret"
    server.fail(status=401, body=f"no such user: {token}", content_type="text/plain")
    tracing = OpenTelemetryTracing(provider)
    connected = dynkube.connect(
        url="http://api.invalid", token=token, transport=server.transport(), observers=[tracing]
    )
    async with connected as client:
        with pytest.raises(dynkube.DynkubeError):
            await client.raw("GET", "/version")

    assert token not in "".join(span.to_json() for span in exporter.get_finished_spans())
    assert "401" in last(exporter).to_json()


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ConfigError, match=r"pip install 'dynkube\[opentelemetry\]'"):
        OpenTelemetryTracing()
