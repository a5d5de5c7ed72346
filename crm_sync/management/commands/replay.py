"""manage.py replay: replay received events, or preview what that would change (I22)."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet
from django.utils import timezone

from crm_sync.inbox.replay import Preview, preview, replay
from crm_sync.inbox.store import STUCK
from crm_sync.management.base import PARTLY, USAGE, SyncCommand, count
from crm_sync.models import ReceivedEvent

AT_ONCE = 200  # received events in one transaction
CHOICES = ("state", "order", "since", "event")


class Command(SyncCommand):
    """Exit codes: 0 given to the worker, 2 wrong choice, 3 some would fail or have no bytes."""

    help = "Play received events again; what is in effect already stays as it is."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the choices. An event must match all that are given."""
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("--state", choices=ReceivedEvent.State.values, help="what became of it")
        parser.add_argument("--order", metavar="ID", help="the events of this order")
        parser.add_argument(
            "--since",
            metavar="TIME",
            help="received since then, ISO 8601; without an offset it is UTC",
        )
        # `--delivery` was its name in 0.1.0.
        parser.add_argument(
            "--event",
            "--delivery",
            metavar="NUMBER",
            type=count,
            nargs="+",
            help="only these received events, by the number on their page",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Show what a replay would do, or give the received events to the worker."""
        keys = list(self._chosen(options))
        if options["dry_run"]:
            self._preview(keys, as_json=options["json"])
        else:
            self._replay(keys, as_json=options["json"])

    def _chosen(self, options: dict[str, Any]) -> QuerySet[ReceivedEvent, int]:
        workspace = self.workspace(options["slug"])
        if not any(options[name] for name in CHOICES):
            self.fail("say which: --state, --order, --since or --event", USAGE)
        chosen = ReceivedEvent.objects.filter(workspace=workspace)
        if options["state"]:
            chosen = chosen.filter(state=options["state"])
        if options["order"]:
            chosen = chosen.filter(order_platform_id=options["order"])
        if options["since"]:
            since = self.moment("--since", options["since"])
            chosen = chosen.filter(received_at__gte=since.astimezone(UTC))
        if options["event"]:
            numbers = set(options["event"])
            named = ReceivedEvent.objects.filter(workspace=workspace, pk__in=numbers)
            if unknown := sorted(numbers.difference(named.values_list("pk", flat=True))):
                numbered = ", ".join(map(str, unknown))
                self.fail(f"no received event of {workspace} has the number {numbered}", USAGE)
            chosen = chosen.filter(pk__in=numbers)
        return chosen.order_by("received_at", "pk").values_list("pk", flat=True)

    def _preview(self, keys: list[int], *, as_json: bool) -> None:
        now = timezone.now()
        found = [one for rows in self._slices(keys) for one in preview(rows, now=now)]
        counts: dict[str, int] = {}
        for one in found:
            counts[one.state or "LEFT_OUT"] = counts.get(one.state or "LEFT_OUT", 0) + 1
        document = {
            "chosen": len(found),
            "outcomes": counts,
            "received_events": list(map(_document, found)),
        }
        lines = [line for one in found for line in _lines(one)]
        total = ", ".join(f"{count} {_word(state)}" for state, count in sorted(counts.items()))
        self.emit(document, [*lines, total or "nothing is chosen"], as_json=as_json)
        bad = sum(one.state in ("", *STUCK) for one in found)
        if bad:
            self.fail(
                f"{bad} of {len(found)} would not be understood, fail, or be left out", PARTLY
            )

    def _replay(self, keys: list[int], *, as_json: bool) -> None:
        now = timezone.now()
        done = [replay(rows, now=now) for rows in self._slices(keys)]
        counts = {
            "played": sum(len(one.played) for one in done),
            "waiting": sum(one.waiting for one in done),
            "cleared": sum(one.cleared for one in done),
        }
        lines = [f"given to the worker: {counts['played']}"]
        if counts["waiting"]:
            lines.append(f"left out, they wait for it already: {counts['waiting']}")
        self.emit(counts, lines, as_json=as_json)
        if counts["cleared"]:
            self.fail(f"{counts['cleared']} of {len(keys)} have lost their bytes", PARTLY)

    def _slices(self, keys: list[int]) -> Iterator[list[ReceivedEvent]]:
        starts = range(0, len(keys), AT_ONCE)
        for start in self.track(starts, "received events"):
            yield list(ReceivedEvent.objects.filter(pk__in=keys[start : start + AT_ONCE]))


def _document(one: Preview) -> dict[str, Any]:
    changes = {name: {"before": before, "after": after} for name, before, after in one.changes}
    return {
        "delivery": one.received_event.pk,
        "event": one.received_event.kind,
        "state": one.received_event.state,
        "outcome": one.state,
        "text": one.text,
        "changes": changes,
    }


def _lines(one: Preview) -> list[str]:
    name = f"{one.received_event.pk} {one.received_event.kind or 'callback'}"
    changes = [
        f"    {what}: {before or '—'} → {after or '—'}" for what, before, after in one.changes
    ]
    return [f"{name}: {_word(one.state)}: {one.text}", *changes]


def _word(state: str) -> str:
    """Return the name of a state as the pages show it."""
    known = ReceivedEvent.State
    return known(state).label.lower() if state in known.values else "left out"
