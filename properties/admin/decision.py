"""Deciding conflicts: the three values, and the exact call of either answer before it goes out."""

import hashlib
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from django.utils import timezone

from crm_sync.admin.ui.cells import moment, page_of
from properties.admin.sync_tab import call_text, pretty
from properties.admin.words import worded, worded_change
from properties.catalog import label
from properties.domain import conflicts
from properties.domain.conflicts import Decision, Resolution
from properties.models import Conflict, Property

MOST = 500  # conflicts that are decided in one request
FIRST = 20  # properties whose calls a page shows
LATE = "somebody changed or decided it at this very moment. Nothing was done there: look again."
TITLES = {Decision.OURS: "If ours are kept", Decision.THEIRS: "If theirs are taken"}


def cases(chosen: list[Conflict], answers: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return what the page shows of each of the first properties: its conflicts and the calls.

    The conflicts must be sorted by property.
    """
    rows = [(key, list(found)) for key, found in groupby(chosen, key=_property_id)][:FIRST]
    properties = Property.objects.in_bulk([key for key, _ in rows])
    return [_case(properties[key], found, list(answers)) for key, found in rows]


def digest(chosen: list[Conflict]) -> str:
    """Return a digest of what a page shows: values, and each property's revision (its body)."""
    revisions = Property.objects.filter(pk__in={c.real_estate_property_id for c in chosen})
    shown = [
        sorted(revisions.values_list("pk", "revision")),
        sorted([c.pk, json.dumps([c.ours, c.theirs], sort_keys=True)] for c in chosen),
    ]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def decide(request: HttpRequest, answers: Iterable[Resolution]) -> list[Conflict]:
    """Decide them property by property and say what became of each; return what was decided.

    The answers must be sorted by property.
    """
    actor, now = cast("AbstractBaseUser", request.user), timezone.now()
    done: list[Conflict] = []
    for _, some in groupby(answers, key=lambda answer: _property_id(answer.conflict)):
        decided = conflicts.decide(some, actor=actor, now=now)
        done += decided.done
        for conflict, error in decided.refused:
            messages.error(request, f"{label(conflict.path)} stays open: {error}")
        for conflict in decided.late:
            messages.warning(request, f"{label(conflict.path)}: {LATE}")
    if done:
        messages.success(request, f"Decided: {len(done)}.")
    return done


def button(answer: Decision, count: int) -> str:
    """Return the text of the button that answers so many conflicts alike."""
    verb = "Keep ours" if answer == Decision.OURS else "Take theirs"
    return verb if count == 1 else f"{verb} for all {count}"


def _property_id(conflict: Conflict) -> int:
    return conflict.real_estate_property_id


def _case(row: Property, found: list[Conflict], answers: list[Decision]) -> dict[str, Any]:
    return {
        "reference": str(row),
        "title": str(row.desired.get("title") or ""),
        "page": page_of(row),
        "fields": [_field(conflict) for conflict in found],
        "calls": calls(row, found, answers),
    }


def calls(
    row: Property, found: list[Conflict], answers: Iterable[Decision]
) -> list[dict[str, Any]]:
    """Return what goes out if all conflicts of a property are answered alike."""
    return [_call(row, found, answer) for answer in answers] if found else []


def _field(conflict: Conflict) -> dict[str, Any]:
    path = conflict.path
    ours, theirs = worded_change(path, conflict.ours, conflict.theirs)
    return {
        "name": label(path),
        "path": path,
        "ours": ours,
        "theirs": theirs,
        "before": worded(path, conflict.base),
        "since": moment(conflict.created_at, timezone.now()),
    }


def _call(row: Property, found: list[Conflict], answer: Decision) -> dict[str, Any]:
    """Return what goes out after one of the two answers."""
    answers = [conflicts.of_side(conflict, answer) for conflict in found]
    following: Any = conflicts.next_call(row, answers)
    return {
        "answer": answer.value,
        "title": TITLES[answer],
        "button": button(answer, len(found)),
        "text": call_text(following.call, row),
        "body": pretty(following.body) if following.body else "",
        "faults": [f"{label(fault.path)}: {fault.message}" for fault in following.faults],
    }
