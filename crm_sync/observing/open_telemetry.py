"""Hands spans to the SDK of OpenTelemetry, which sends them in a thread (decision 37).

The SDK reads its own variables: OTEL_EXPORTER_OTLP_… (where to, headers, certificate, timeout),
OTEL_TRACES_SAMPLER, OTEL_BSP_… (the queue in memory), OTEL_SERVICE_NAME and so on.
"""

import atexit
import logging
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from crm_sync import __version__, tracing
from crm_sync.tracing import Span

log = logging.getLogger(__name__)

SERVICE = "crm-sync"
PATIENCE = 2.0  # seconds in which a process that ends may send what is left
REASON = 300  # characters
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def started(endpoint: str) -> "SdkRecorder":
    """Return a recorder that sends spans to the receiver of the environment.

    Args:
        endpoint: the same address, for the log.

    Raises:
        ValueError: a variable of the environment does not fit.
    """
    reason, where = FirstReason(), urlsplit(endpoint).netloc.rpartition("@")[2]
    exporter = OutageExporter(OTLPSpanExporter(), where, reason)
    recorder = SdkRecorder(BatchSpanProcessor(exporter))
    # What is wrong in the environment is logged by now. Else it logs each batch and span that is
    # lost.
    theirs = logging.getLogger("opentelemetry")
    theirs.addHandler(logging.NullHandler())
    theirs.propagate = False
    theirs.getChild("exporter").addHandler(reason)
    atexit.register(recorder.stop)
    return recorder


class GivenIds(IdGenerator):
    """Gives the SDK the ids that `tracing` has chosen, to the thread that set them."""

    def __init__(self) -> None:
        self.next = threading.local()

    def generate_span_id(self) -> int:
        """Return the id of the span."""
        return int(self.next.span, 16)

    def generate_trace_id(self) -> int:
        """Return the id of its trace."""
        return int(self.next.trace, 16)


class SdkRecorder:
    """Makes spans of the SDK from ours, with the same ids, and hands them to a processor."""

    def __init__(self, processor: SpanProcessor) -> None:
        resource = Resource.create({SERVICE_VERSION: __version__})
        if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: SERVICE}))
        self._ids = GivenIds()
        self._provider = TracerProvider(
            resource=resource, id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("crm_sync", __version__)

    def is_sampled(self, trace: str) -> bool:
        """Return whether the sampler takes a trace that begins here."""
        found = self._provider.sampler.should_sample(None, int(trace, 16), "")
        return found.decision is Decision.RECORD_AND_SAMPLE

    def record(self, span: Span) -> None:
        """Hand over a span that has ended."""
        trace, parent = tracing.trace_id(span.trace.id), span.trace.parent
        self._ids.next.trace, self._ids.next.span = trace, span.trace.span
        context = None
        if parent:
            before = SpanContext(int(trace, 16), int(parent, 16), True, _SAMPLED)
            context = set_span_in_context(NonRecordingSpan(before))
        made = self._tracer.start_span(
            span.name,
            context,
            SpanKind[span.kind],
            span.attributes | ({"error.type": span.error} if span.error else {}),
            start_time=span.began,
        )
        if span.error:
            made.set_status(Status(StatusCode.ERROR))
        made.end(span.ended)

    def stop(self) -> None:
        """Send what is left, for a short time: a receiver that hangs delays no end."""
        tracing.record_with(None)
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(PATIENCE)


class FirstReason(logging.Handler):
    """Keeps the first line that the SDK would log about a failure, and writes none."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, if it is the first one."""
        self.text = self.text or record.getMessage()[:REASON]


class OutageExporter(SpanExporter):
    """Logs once that spans cannot be sent, and once that they can again."""

    def __init__(self, exporter: SpanExporter, where: str, reason: FirstReason) -> None:
        self._exporter, self._where, self._reason = exporter, where, reason
        self._is_failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send some spans; those that fail are lost."""
        self._reason.text = ""
        result = self._exporter.export(spans)
        is_failing = result is not SpanExportResult.SUCCESS
        if is_failing and not self._is_failing:
            text = "%s takes no traces (%s); the work goes on, and traces are lost until it does"
            log.warning(text, self._where, self._reason.text)
        elif self._is_failing and not is_failing:
            log.warning("%s takes traces again", self._where)
        self._is_failing = is_failing
        return result

    def shutdown(self) -> None:
        """Break off what is being sent."""
        self._exporter.shutdown()
