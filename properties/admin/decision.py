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
from properties import conflicts
from properties.admin.sync_tab import call_text, pretty
from properties.admin.words import worded
from properties.catalog import label
from properties.conflicts import Decision
from properties.models import Conflict, Property

MOST = 500  # conflicts that are decided in one request
FIRST = 20  # properties whose calls a page shows
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


def decide(request: HttpRequest, chosen: list[Conflict], decision: Decision) -> list[Conflict]:
    """Decide them property by property with a message each; return those that were decided."""
    actor, now = cast("AbstractBaseUser", request.user), timezone.now()
    done: list[Conflict] = []
    count = 0
    for _, found in groupby(chosen, key=_property_id):
        some = list(found)
        number, refused = conflicts.decide(some, decision, actor=actor, now=now)
        count += number
        open_still = {conflict.pk for conflict, _ in refused}
        done += [conflict for conflict in some if conflict.pk not in open_still]
        for conflict, error in refused:
            messages.error(request, f"{label(conflict.path)} stays open: {error}")
    if count:
        messages.success(request, f"Decided, {decision.label.lower()}: {count}.")
    return done


def _property_id(conflict: Conflict) -> int:
    return conflict.real_estate_property_id


def _case(row: Property, found: list[Conflict], answers: list[Decision]) -> dict[str, Any]:
    return {
        "reference": str(row),
        "title": str(row.desired.get("title") or ""),
        "page": page_of(row),
        "fields": [_field(conflict) for conflict in found],
        "calls": [_call(row, found, answer) for answer in answers],
    }


def _field(conflict: Conflict) -> dict[str, Any]:
    path = conflict.path
    return {
        "pk": conflict.pk,
        "name": label(path),
        "path": path,
        "ours": worded(path, conflict.ours),
        "theirs": worded(path, conflict.theirs),
        "before": worded(path, conflict.base),
        "since": moment(conflict.created_at, timezone.now()),
    }


def _call(row: Property, found: list[Conflict], answer: Decision) -> dict[str, Any]:
    """Return what goes out after one of the two answers."""
    following: Any = conflicts.next_call(row, found, answer)
    return {
        "title": TITLES[answer],
        "text": call_text(following.call, row),
        "body": pretty(following.body) if following.body else "",
        "faults": [f"{label(fault.path)}: {fault.message}" for fault in following.faults],
    }
