"""Spans as a test reads them: out of memory, or as a receiver of OTLP gets them."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crm_sync import tracing
from crm_sync.observing.open_telemetry import SdkRecorder
from tests.crm_sync.sockets import Server, serving


@dataclass(frozen=True)
class Seen:
    """One span; its ids are hex digits, and the parent of a root is ""."""

    trace: str
    id: str
    parent: str
    kind: str
    name: str
    attributes: dict[str, Any]
    has_failed: bool
    resource: dict[str, Any]

    @property
    def said(self) -> str:
        """All that it says, as text."""
        return f"{self.name} {self.attributes} {self.resource}"


@contextmanager
def recorded() -> Iterator[Callable[[], list[Seen]]]:
    """Record the spans of this process; the yielded function returns those that have ended."""
    exporter = InMemorySpanExporter()
    tracing.record_with(SdkRecorder(SimpleSpanProcessor(exporter)))
    try:
        yield lambda: [_of_memory(one) for one in exporter.get_finished_spans()]
    finally:
        tracing.record_with(None)
        tracing.end()


def _of_memory(one: ReadableSpan) -> Seen:
    assert one.context is not None
    return Seen(
        trace=f"{one.context.trace_id:032x}",
        id=f"{one.context.span_id:016x}",
        parent=f"{one.parent.span_id:016x}" if one.parent else "",
        kind=one.kind.name,
        name=one.name,
        attributes=dict(one.attributes or {}),
        has_failed=not one.status.is_ok,
        resource=dict(one.resource.attributes),
    )


class Collector:
    """A receiver of OTLP over HTTP.

    Attributes:
        status: what it answers.
        hangs: it answers nothing until this is set.
    """

    def __init__(self) -> None:
        self.status, self.hangs = "200 OK", threading.Event()
        self.hangs.set()
        self.server: Server

    def talk(self, connection: socket.socket) -> None:
        self.hangs.wait(60)
        connection.sendall(f"HTTP/1.1 {self.status}\r\nContent-Length: 0\r\n\r\n".encode())

    @property
    def spans(self) -> list[Seen]:
        """All spans that came."""
        found = []
        for request in self.server.requests.copy():
            head, _, body = request.partition(b"\r\n\r\n")
            assert head.startswith(b"POST /v1/traces ")
            for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                resource = _values(part.resource.attributes)
                for scope in part.scope_spans:
                    found += [_of_wire(span, resource) for span in scope.spans]
        return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    with serving(collector.talk) as server:
        collector.server = server
        try:
            yield collector
        finally:
            collector.hangs.set()


def _of_wire(span: Span, resource: dict[str, Any]) -> Seen:
    return Seen(
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        name=span.name,
        attributes=_values(span.attributes),
        has_failed=span.status.code == Status.STATUS_CODE_ERROR,
        resource=resource,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
