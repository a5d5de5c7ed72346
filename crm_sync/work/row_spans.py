"""The work of a turn on its rows, in the log and as spans, one for each row (decision 37)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from crm_sync import tracing
from crm_sync.tracing import Span, SpanKind
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowOutcome, Stop

GIVEN_BACK = "given back"  # the outcome of a row on which nothing more can be done now


@contextmanager
def work_on(
    queue: str, workspace_id: int, claims: Sequence[Claim[Any]]
) -> Iterator[Callable[[Sequence[str]], None]]:
    """Let a `with` block be the work on some rows; yield what notes the outcome of each.

    A single row is the current work of the thread. The rows of a batch have different causes.
    """
    row, is_alone = claims[0].row, len(claims) == 1
    spans: list[Span] = []
    stop: Stop | None = None
    with tracing.kept(), ExitStack() as stack:
        tracing.work_on(_name(row) if is_alone else "", row.attempts + 1)
        if tracing.is_recording():
            spans = [_opened(queue, workspace_id, claim.row) for claim in claims]
        for span in spans:
            if is_alone:
                stack.enter_context(tracing.inside(span))
            else:
                stack.callback(tracing.close, span)
        try:
            yield lambda outcomes: _note(spans, outcomes)
        except Stop as error:  # no failure
            stop = error
            _note(spans, [GIVEN_BACK] * len(spans))
    if stop is not None:
        raise stop


def _opened(queue: str, workspace_id: int, row: Any) -> Span:
    """Return a span after the one that the row names, else after that of the ring."""
    has_cause = hasattr(row, "traceparent")
    with tracing.after(row.traceparent if has_cause else None):
        span = tracing.opened(queue, SpanKind.CONSUMER)
    span.attributes |= {
        "crm_sync.workspace": workspace_id,
        "crm_sync.row": _name(row),
        "crm_sync.attempt": row.attempts + 1,
    }
    if has_cause:  # what this work causes comes after it
        row.traceparent = span.trace.traceparent
    return span


def _name(row: Any) -> str:
    return f"{row._meta.label_lower}:{row.pk}"


def _note(spans: Sequence[Span], outcomes: Sequence[str]) -> None:
    for span, outcome in zip(spans, outcomes, strict=False):
        span.attributes["crm_sync.outcome"] = str(outcome)
        span.error = str(outcome) if outcome == RowOutcome.FAILED else ""
