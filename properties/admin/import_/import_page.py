"""The page of an import: its progress, its result, and what a person must do."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.http import QueryDict
from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.account_names import name_of
from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, link, local_time, page_at
from crm_sync.sentence import Sentence, said
from crm_sync.text import capitalized
from crm_sync.translated import Text, number, said_of
from properties.admin.import_.import_changes import changed_part, in_words
from properties.admin.import_.import_columns import columns_part
from properties.admin.property.all_changes import address_of, undo_page
from properties.admin.property.match_page import match_address
from properties.catalog import choice_name
from properties.domain.change_selection import ChangeSelection
from properties.domain.headline import headline
from properties.imports.report import NAMES, OUTCOMES, Summary, accepted, count, handled
from properties.models import Change, Import, Property, Undo
from properties.models.change import Cause
from properties.models.import_ import ImportState as State

TONES = {
    State.PREVIEWING: "info",
    State.PREVIEWED: "warning",
    State.RUNNING: "info",
    State.DONE: "good",
    State.UNCHANGED: "good",
    State.PARTLY: "warning",
    State.FAILED: "danger",
}
SHOWN = 200  # refusals on the page; the list to download has all that are kept
LATE = timedelta(seconds=15)  # three ticks: after a longer wait, no worker is running
OUTCOME_TONES = {"new": "good", "changed": "info", "unchanged": "muted", "refused": "danger"}


def badge_of(row: Import) -> SafeString:
    """Show the state."""
    if row.cancel_asked and row.state in Import.UNDER_WAY:
        return badge(_("Being cancelled"), "warning")
    return badge(State(row.state).label, TONES.get(State(row.state), "muted"))


def progress(row: Import, now: datetime) -> dict[str, Any]:
    """Return the progress, which the page requests every second.

    Returns:
        "done" of "total" records, None as long as they are counted; "text" for a person.
    """
    return {"done": row.done, "total": row.total, "text": _progress_text(row, now)}


def _progress_text(row: Import, now: datetime) -> str:
    if row.problem:
        return gettext("Tried again soon: %(problem)s") % {"problem": said(row.problem)}
    if row.cancel_asked:
        return gettext("Stops soon.")
    waits = row.due_at is not None and row.due_at < now - LATE
    if waits and (row.lease_until is None or row.lease_until < now):
        text = ngettext(
            "Waits for a worker, after %(count)s record.",
            "Waits for a worker, after %(count)s records.",
            row.done,
        )
        return text % {"count": number(row.done)}
    if row.total is None:
        text = ngettext(
            "Reading the file: %(count)s record", "Reading the file: %(count)s records", row.done
        )
        return text % {"count": number(row.done)}
    if row.state == State.PREVIEWING:
        text = ngettext(
            "Looked at %(done)s of %(total)s record",
            "Looked at %(done)s of %(total)s records",
            row.total,
        )
    else:
        text = ngettext(
            "Imported %(done)s of %(total)s record",
            "Imported %(done)s of %(total)s records",
            row.total,
        )
    return text % {"done": number(row.done), "total": number(row.total)}


def import_page(
    row: Any, *, may_act: bool, may_map: bool, said: QueryDict, now: datetime, page: str = ""
) -> dict[str, Any]:
    """Return the values that the template needs besides Django's own.

    Args:
        row: annotated with `workspace_slug`, `sender_name`, `uploader` and `releaser`.
        said: columns that were posted and refused.
        page: which of the pages of changed records.
    """
    summary, is_open = row.summary, row.state in Import.OPEN
    names = _names(row.workspace_id, summary)
    cause = Cause.IMPORT.of(row.pk)
    has_changes = not is_open and Change.objects.filter(cause=cause).exists()
    undo = address_of(ChangeSelection(cause=cause), page="changes_undo")
    undone = _undone(row)
    is_back = bool(undone) and not undone[0].count("kept")
    return {
        "title": row.name,
        "badge": badge_of(row),
        "says": _says(row),
        "problem": row.problem if row.state not in Import.UNDER_WAY else "",
        "problem_tone": "danger" if row.state == State.FAILED else "warning",
        "progress": progress(row, now) if row.state in Import.UNDER_WAY else None,
        "can_release": may_act and row.state == State.PREVIEWED and accepted(row.preview) > 0,
        "take_back": undo if may_act and has_changes and not is_back else "",
        "taken_back": [(_undo_sentence(job), undo_page(job.pk), _undo_name(job)) for job in undone],
        "is_unknown": not is_open and _written(row) > 0 and not has_changes,
        "can_cancel": may_act and is_open and not row.cancel_asked,
        "counts_title": gettext("What was done")
        if row.released_at
        else gettext("What would be done"),
        "counts": _counts(summary) if handled(summary) else [],
        "parts": _parts(summary, names),
        "doubles": count(summary, "doubles"),
        "match": match_address(row.workspace_id),
        "columns": columns_part(row, may_map=may_map, said=said),
        "warnings": [Sentence.of(one) for one in summary.get("warnings", [])],
        "changed": changed_part(summary, page, names),
        "facts": [(name, value) for name, value in _facts(row, now) if value not in ("", EMPTY)],
    }


def _undone(row: Import) -> list[Undo]:
    """Return each undo of the whole import, the newest first."""
    whole = ChangeSelection(cause=Cause.IMPORT.of(row.pk)).within(row.workspace_id)
    jobs = Undo.objects.filter(workspace=row.workspace_id, chosen=whole.to_json())
    return list(jobs.select_related("requested_by").order_by("-pk"))


def _undo_name(job: Undo) -> str:
    return gettext("undo %(number)s") % {"number": job.pk}


def _undo_sentence(job: Undo) -> str:
    if job.ended_at and job.requested_by:
        text = gettext("Taken back by %(who)s, %(at)s: %(done)s.")
    elif job.ended_at:
        text = gettext("Taken back, %(at)s: %(done)s.")
    elif job.requested_by:
        text = gettext("Being taken back by %(who)s, %(at)s: %(done)s.")
    else:
        text = gettext("Being taken back, %(at)s: %(done)s.")
    fields, removed, kept = (job.count(name) for name in ("fields", "removed", "kept"))
    done = [
        ngettext("%(count)s field restored", "%(count)s fields restored", fields)
        % {"count": number(fields)},
        ngettext("%(count)s property removed", "%(count)s properties removed", removed)
        % {"count": number(removed)}
        if removed
        else "",
        ngettext("%(count)s kept", "%(count)s kept", kept) % {"count": number(kept)},
    ]
    return text % {
        "who": name_of(job.requested_by) if job.requested_by else "",
        "at": local_time(job.requested_at),
        "done": ", ".join(filter(None, done)),
    }


def _written(row: Import) -> int:
    return count(row.report, "new") + count(row.report, "changed")


def _facts(row: Any, now: datetime) -> list[tuple[str, object]]:
    return [
        (gettext("Workspace"), row.workspace_slug),
        (gettext("Sender"), row.sender_name or ""),
        (
            gettext("Fetched from"),
            link(page_at("properties.source", row.source_id), gettext("its source"))
            if row.source_id
            else "",
        ),
        (gettext("Size"), filesizeformat(row.size)),
        (gettext("Uploaded by"), row.uploader or ""),
        (gettext("Uploaded"), exact_moment(row.uploaded_at, now)),
        (gettext("Released by"), row.releaser or ""),
        (gettext("Released"), exact_moment(row.released_at, now)),
        (gettext("Ended"), exact_moment(row.ended_at, now)),
        (gettext("Even if much is missing"), gettext("Yes") if row.force else ""),
    ]


SAYS: dict[State, Text] = {
    State.PREVIEWING: _("A worker looks at the file. Nothing is imported before you say so."),
    State.PREVIEWED: _("This is what the import would do. Nothing was imported yet."),
    State.RUNNING: _("A worker imports the file. This page follows by itself, and may be closed."),
    State.DONE: _("All records were imported."),
    State.UNCHANGED: _("It is as the last one of its sender: there was nothing to do."),
    State.PARTLY: _("Some records could not be taken; all others were imported."),
    State.FAILED: _("Nothing was imported."),
    State.CANCELLED: _("Nothing was imported."),
}


def _says(row: Import) -> Text:
    """Return a sentence about what happened and what comes next."""
    taken = accepted(row.report)
    if row.state == State.PREVIEWED and not accepted(row.preview):
        if row.preview.get("heading"):
            return gettext("No record of it can be taken yet: say below which column is which.")
        return gettext("No record of it can be taken. Nothing was imported.")
    if row.state not in (State.CANCELLED, State.FAILED) or not taken:
        aside = count(row.report, "aside") or count(row.report, "warned")
        if row.state == State.DONE and aside:
            return gettext("All records were imported. Not all of their values: see below.")
        return SAYS[State(row.state)]
    total, written = row.total or 0, _written(row)
    if row.state == State.CANCELLED:
        ended = ngettext(
            "It was cancelled after %(done)s of %(total)s record.",
            "It was cancelled after %(done)s of %(total)s records.",
            total,
        )
    else:
        ended = ngettext(
            "It ended after %(done)s of %(total)s record.",
            "It ended after %(done)s of %(total)s records.",
            total,
        )
    stays = ngettext(
        "What was imported until then stays: %(count)s record new or changed.",
        "What was imported until then stays: %(count)s records new or changed.",
        written,
    )
    ended %= {"done": number(handled(row.report)), "total": number(total)}
    return f"{ended} {stays % {'count': number(written)}}"


def _counts(summary: Summary) -> list[dict[str, Any]]:
    return [
        {
            "name": capitalized(str(NAMES[name])),
            "value": count(summary, name),
            "tone": OUTCOME_TONES[name] if count(summary, name) else "muted",
        }
        for name in OUTCOMES
    ]


def _parts(summary: Summary, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the lists: title, rows of (name, quiet beside it, text), and how many were cut."""

    def named(reference: str) -> tuple[str, str]:
        name = names.get(reference, "")
        return (name, reference) if name else (reference, "")

    exempt = set(summary.get("exempt", []))
    lists: list[tuple[str, str, list[tuple[str, str, str]]]] = [
        (
            "refused",
            capitalized(str(NAMES["refused"])),
            [
                (
                    Sentence.of(position).said(),
                    reference or gettext("no reference"),
                    "; ".join(map(in_words, reasons)),
                )
                for position, reference, reasons in summary.get("refused", [])[:SHOWN]
            ],
        ),
        (
            "doubles",
            gettext(
                "The platform may have these: they are created only after you have matched them"
            ),
            [
                (*named(ref), gettext("like %(reference)s there") % {"reference": other})
                for ref, other in summary.get("doubles", [])
            ],
        ),
        (
            "new",
            capitalized(str(NAMES["new"])),
            [(*named(ref), "") for ref in summary.get("new", [])],
        ),
        (
            "missing",
            _missing_title(summary),
            [
                (*named(ref), gettext("A reference: it stays as it is") if ref in exempt else "")
                for ref in summary.get("missing", [])
            ],
        ),
        (
            "aside",
            gettext("Set aside: kept with the property, and not sent"),
            [
                (*named(ref), "; ".join(map(_value, values)))
                for ref, values in summary.get("aside", [])
            ],
        ),
        (
            "warned",
            gettext("Warnings: a bad value is set aside, an odd one is imported"),
            [
                (*named(ref), "; ".join(map(in_words, texts)))
                for ref, texts in summary.get("warned", [])
            ],
        ),
    ]
    return [
        {"title": title, "name": name, "rows": rows, "more": count(summary, name) - len(rows)}
        for name, title, rows in lists
        if rows
    ]


def _value(value: Any) -> str:
    """Return a value that was set aside; an earlier version kept its name alone."""
    if isinstance(value, str):
        return value
    name, text = value
    return said_of(name, text) if text else Sentence.of(name).said()


def _names(workspace_id: int, summary: Summary) -> dict[str, str]:
    """Return reference to address or title of the properties that the page lists."""
    lists = ("aside", "warned", "differences", "doubles")
    found = {one[0] for name in lists for one in summary.get(name, [])}
    found |= {*summary.get("new", []), *summary.get("missing", [])}
    rows = Property.objects.filter(workspace=workspace_id, object_reference_id__in=found)
    there = {
        reference: headline(address, title)
        for reference, address, title in rows.values_list(
            "object_reference_id", "desired__address", "title"
        )
    }
    stored: dict[str, str] = summary.get("headlines", {})
    return stored | {str(ref): name for ref, name in there.items() if name}


def _missing_title(summary: Summary) -> str:
    state = summary.get("missing_state", "")
    if not state:
        return gettext("Not in the feed any more: they stay as they are")
    text = gettext("Not in the feed any more: their availability state becomes %(state)s")
    return text % {"state": choice_name(state)}
