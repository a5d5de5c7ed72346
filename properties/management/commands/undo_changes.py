"""manage.py undo_changes: undo an import, or the changes of a person or of some hours, as one."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from crm_sync.management.base import FAILED, PARTLY, USAGE, SyncCommand, count
from crm_sync.models import Workspace
from crm_sync.platform.events import FIRST, LAST
from properties.catalog import label
from properties.domain import undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.domain.undo import Kept
from properties.domain.undo_steps import UndoPreview
from properties.models import Import, Undo
from properties.models.change import Cause, Origin

SHOWN = 20


class Command(SyncCommand):
    """Undoes the chosen changes of a workspace in this process; a repetition changes nothing."""

    help = "Undo an import, or what a person or anybody changed since a moment, as one."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("--import", type=count, dest="import_id", help="number of an import")
        parser.add_argument("--person", help="the username of the person who changed it")
        parser.add_argument("--since", help='from then on, as "2026-05-04 09:00"')
        parser.add_argument("--until", help="before then")
        parser.add_argument("--field", default="", help='one field, as "prices.rent"')
        parser.add_argument("--origin", default="", choices=["", *Origin.values])

    def handle(self, *_: Any, **options: Any) -> None:
        """Undo. Exit codes: 3 a part is kept, 1 nothing was undone and a part is kept."""
        workspace = self.workspace(options["slug"])
        selection = self._selection(workspace, options)
        if not selection.can_be_undone:
            self.fail("name what to undo: --import, --person or --since", USAGE)
        plan = undo_steps.preview(selection)
        if options["dry_run"]:
            self.emit(_planned(plan), _plan_lines(plan), as_json=options["json"])
            return
        job = undo_steps.request(
            workspace, selection, up_to=plan.up_to, actor=None, now=timezone.now()
        )
        job = undo_steps.finish(job)
        self.emit(_document(job), _lines(job), as_json=options["json"])
        if kept := job.count("kept"):
            done = job.count("fields") + job.count("removed")
            self.fail(f"{kept} kept as they are", PARTLY if done else FAILED)

    def _selection(self, workspace: Workspace, options: dict[str, Any]) -> ChangeSelection:
        cause, person = "", None
        if (key := options["import_id"]) is not None:
            if not Import.objects.filter(workspace=workspace, pk=key).exists():
                self.fail(f"{workspace.slug} has no import {key}", USAGE)
            cause = Cause.IMPORT.of(key)
        if (name := options["person"]) is not None:
            person = User.objects.filter(username=name).values_list("pk", flat=True).first()
            if person is None:
                self.fail(f"nobody has the username {name!r}", USAGE)
        return ChangeSelection(
            workspace=workspace.pk,
            person=person,
            cause=cause,
            origin=options["origin"],
            field=options["field"],
            since=self._moment(options["since"]),
            until=self._moment(options["until"]),
        )

    def _moment(self, text: str | None) -> datetime | None:
        if text is None:
            return None
        try:
            found = parse_datetime(text)
        except ValueError:
            found = None
        if found is None:
            self.fail(f'{text!r} is no moment: write it as "2026-05-04 09:00"', USAGE)
        moment = timezone.make_aware(found) if timezone.is_naive(found) else found
        if not FIRST <= moment <= LAST:
            self.fail(f"{text!r} is at the end of the calendar: leave it out", USAGE)
        return moment


def _planned(plan: UndoPreview) -> dict[str, Any]:
    return {
        "fields": plan.fields,
        "properties": plan.properties,
        "removed": plan.removed,
        "kept": plan.kept,
        "is_cut": plan.is_cut,
        "first": [
            {
                "reference": str(row),
                "restores": step.values,
                "removes": step.removes,
                "keeps": {part.path: part.reason for part in step.kept},
            }
            for row, step in plan.steps
        ],
    }


def _plan_lines(plan: UndoPreview) -> list[str]:
    lines = []
    for row, step in plan.steps:
        lines += [f"remove   {row}"] if step.removes else []
        lines += [f"restore  {row}: {label(path)}" for path in step.values]
        lines += [_kept(str(row), part.path, part.reason) for part in step.kept]
    more = f" in the first {undo_steps.PREVIEWED:,} properties" if plan.is_cut else ""
    return [*lines, f"would be undone{more}: {_counts(vars(plan))}"]


def _document(job: Undo) -> dict[str, Any]:
    return {
        "undo": job.pk,
        **{name: job.count(name) for name in ("fields", "properties", "removed", "kept")},
        "removed_first": job.removed,
        "kept_first": [
            {"reference": reference, "field": path, "reason": reason}
            for _, reference, path, reason, _ in job.kept
        ],
    }


def _lines(job: Undo) -> list[str]:
    lines = [f"removed  {reference}" for reference in job.removed[:SHOWN]]
    lines += [_kept(one[1], one[2], one[3]) for one in job.kept[:SHOWN]]
    return [*lines, f"undone: {_counts(job.counts)}"]


def _kept(reference: str, path: str, reason: str) -> str:
    name = label(path) if path else "the property"
    return f"kept     {reference}: {name} ({Kept(reason).label.lower()})"


def _counts(counts: dict[str, Any]) -> str:
    fields, rows, removed = (counts.get(name, 0) for name in ("fields", "properties", "removed"))
    text = f"{fields:,} fields of {rows:,} properties, {removed:,} properties removed"
    return f"{text}, {counts.get('kept', 0):,} kept"
