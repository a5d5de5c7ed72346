"""`/metrics` for Prometheus: queues and their delays, live processes, and work for people.

All figures are read from the database at each request, so all web processes return the same. Each
query uses an index.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import Error
from django.db.models import Count, F, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from crm_sync import hooks
from crm_sync.models import (
    CallCount,
    Gap,
    Heartbeat,
    Hold,
    ReceivedEvent,
    Subscription,
    WebhookMonitor,
    Workspace,
)
from crm_sync.models.platform_call import TOTAL
from crm_sync.work import heartbeat

State = ReceivedEvent.State
RECENT = timedelta(minutes=5)
FOR_A_PERSON = (State.QUARANTINED, State.FAILED)

Samples = Iterable[tuple[tuple[str, ...], float]]


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with all figures to calls with `Authorization: Bearer METRICS_TOKEN`.

    Without that setting, answer 404; without the database, 503.
    """
    token = settings.METRICS_TOKEN
    if not token:
        raise Http404
    given = request.headers.get("Authorization", "").encode("latin-1", "replace")  # as it came
    if not constant_time_compare(given, f"Bearer {token}"):
        return HttpResponse("unauthorized\n", status=401, content_type="text/plain")
    found = CollectorRegistry()
    found.register(_Figures(timezone.now()))
    try:
        text = generate_latest(found)
    except Error:
        return HttpResponse("no database\n", status=503, content_type="text/plain")
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


class _Figures(Collector):
    """The figures in the database at one time."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def describe(self) -> Iterable[Metric]:
        """Return nothing: otherwise all figures would be read twice."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield each figure with its samples."""
        slugs = dict(Workspace.objects.values_list("pk", "slug"))
        yield from _queues(self._now, slugs)
        yield _gauge("processes_alive", "Alive within 30 seconds", ["kind"], _alive(self._now))
        yield _gauge(
            "process_silence_seconds",
            "Since any process of a kind, or a tick through the broker, was last seen",
            ["kind"],
            _silence(self._now),
        )
        yield from _calls()
        for name, text, labels, read in FIGURES:
            yield _gauge(name, text, labels, read(self._now))


def _queues(now: datetime, slugs: dict[int, str]) -> Iterator[Metric]:
    """Yield the number and age of due rows without a lease, by queue and workspace."""
    due, oldest = [], []
    for queue in hooks.plugged().queues:
        for pk, (count, first) in queue.backlog(now).items():
            labels = (queue.name, slugs.get(pk, ""))
            due.append((labels, float(count)))
            oldest.append((labels, max(0.0, (now - first).total_seconds())))
    by = ["queue", "workspace"]
    yield _gauge("rows_due", "Rows that wait for a worker", by, due)
    yield _gauge("oldest_due_seconds", "How long the first of them has waited", by, oldest)


def _calls() -> Iterator[Metric]:
    """Yield the number of all calls to the platform by result, and their total time."""
    calls = CounterMetricFamily(
        "crm_sync_platform_calls", "Calls to the platform", labels=["workspace", "result"]
    )
    seconds = CounterMetricFamily(
        "crm_sync_platform_call_seconds", "Their time", labels=["workspace", "result"]
    )
    rows = CallCount.objects.filter(hour=TOTAL)
    for slug, result, count, milliseconds in rows.values_list(
        "workspace__slug", "result", "count", "milliseconds"
    ):
        calls.add_metric([slug, result], count)
        seconds.add_metric([slug, result], milliseconds / 1000)
    yield calls
    yield seconds


def _alive(now: datetime) -> Samples:
    rows = Heartbeat.objects.filter(seen_at__gte=now - heartbeat.MISSING_AFTER, stopped_at=None)
    counts = dict(rows.order_by().values_list("kind").annotate(Count("pk")))
    return [((str(kind),), float(counts.get(kind, 0))) for kind in heartbeat.EXPECTED]


def _silence(now: datetime) -> Samples:
    return [
        ((str(one.kind),), one.silence.total_seconds())
        for one in heartbeat.presences(now, (*heartbeat.EXPECTED, Heartbeat.Kind.TICK))
        if one.silence is not None
    ]


def _received(now: datetime) -> Samples:
    # All states are listed, so that the index on (state, received_at) finds the recent rows.
    rows = ReceivedEvent.objects.filter(state__in=State.values, received_at__gte=now - RECENT)
    return _by_slug(rows.values_list("workspace__slug").annotate(Count("pk")).order_by())


def _for_a_person(now: datetime) -> Samples:
    rows = ReceivedEvent.objects.filter(state__in=FOR_A_PERSON).order_by()
    return _by_slug(rows.values_list("workspace__slug", "state").annotate(Count("pk")))


def _paused(now: datetime) -> Samples:
    rows = Workspace.objects.filter(paused_until__gt=now)
    return [
        ((slug,), (until - now).total_seconds())
        for slug, until in rows.values_list("slug", "paused_until")
        if until is not None
    ]


def _held(now: datetime) -> Samples:
    rows = Hold.objects.active(now).values_list("workspace__slug", "kind", "cause", "since")
    return [
        ((slug, kind, cause.lower()), max(0.0, (now - since).total_seconds()))
        for slug, kind, cause, since in rows
    ]


def _refused(now: datetime) -> Samples:
    return _by_slug(Workspace.objects.values_list("slug", "refused_callbacks"))


def _drifted(now: datetime) -> Samples:
    is_wrong = Q(drift_since__isnull=False) | Q(failed__gt=0)
    rows = WebhookMonitor.objects.filter(is_wrong).annotate(slug=F("workspace__slug"))
    return [((slug,), 1.0) for slug in rows.values_list("slug", flat=True)]


def _gaps(now: datetime) -> Samples:
    rows = Gap.objects.filter(acknowledged_at=None).order_by()
    return _by_slug(rows.values_list("workspace__slug").annotate(Count("pk")))


def _not_told(now: datetime) -> Samples:
    rows = Subscription.objects.filter(failing_since__isnull=False)
    return [
        ((slug, str(pk)), max(0.0, (now - since).total_seconds()))
        for slug, pk, since in rows.values_list("workspace__slug", "pk", "failing_since")
        if since is not None
    ]


def _by_slug(rows: Iterable[tuple[object, ...]]) -> Samples:
    """Return rows as samples. The last column of a row is the figure."""
    return [(tuple(map(str, names)), float(str(value))) for *names, value in rows]


FIGURES: tuple[tuple[str, str, list[str], Callable[[datetime], Samples]], ...] = (
    ("received_events_5m", "Callbacks stored in the last five minutes", ["workspace"], _received),
    (
        "received_events_for_a_person",
        "Not understood, or not applied",
        ["workspace", "state"],
        _for_a_person,
    ),
    ("paused_seconds", "Until the workspace calls the platform again", ["workspace"], _paused),
    (
        "held_seconds",
        "For how long a person has held a kind of work",
        ["workspace", "kind", "cause"],
        _held,
    ),
    ("refused_callbacks", "Callbacks with a wrong secret or no body", ["workspace"], _refused),
    (
        "webhook_wrong",
        "1: not as set, or out of the platform's reach",
        ["workspace"],
        _drifted,
    ),
    (
        "subscription_failing_seconds",
        "For how long another system has taken no message",
        ["workspace", "subscription"],
        _not_told,
    ),
    ("gaps", "Intervals that may hide events, not looked at", ["workspace"], _gaps),
)


def _gauge(name: str, text: str, labels: list[str], samples: Samples) -> Metric:
    found = GaugeMetricFamily(f"crm_sync_{name}", text, labels=labels)
    for values, figure in samples:
        found.add_metric(values, figure)
    return found
