"""Deciding conflicts: the three values, and the exact call of either answer before it goes out."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import moment
from properties import conflicts
from properties.admin.sync_tab import call_text, pretty
from properties.admin.words import worded
from properties.catalog import label
from properties.conflicts import Decision
from properties.models import Conflict, Property

MOST = 500  # conflicts that are decided in one request
FIRST = 20  # properties whose calls a page shows
TITLES = {Decision.OURS: "If ours are kept", Decision.THEIRS: "If theirs are taken"}


@dataclass(frozen=True)
class Field:
    """One open conflict in words."""

    pk: int
    name: str
    path: str
    ours: str
    theirs: str
    before: str
    since: SafeString | str


@dataclass(frozen=True)
class Call:
    """What goes out after one of the two answers."""

    title: str
    text: str
    body: str
    faults: list[str]


@dataclass(frozen=True)
class Case:
    """The open conflicts of one property, and the calls that would follow."""

    reference: str
    title: str
    page: str
    fields: list[Field]
    calls: list[Call]


def cases(chosen: list[Conflict], answers: Iterable[Decision]) -> list[Case]:
    """Return the first properties of the conflicts, which must be sorted by property."""
    rows = [(key, list(found)) for key, found in groupby(chosen, key=_property_id)][:FIRST]
    properties = Property.objects.in_bulk([key for key, _ in rows])
    return [_case(properties[key], found, list(answers)) for key, found in rows]


def digest(chosen: list[Conflict]) -> str:
    """Name exactly what a page shows: values, and the revision of each property (its body)."""
    revisions = Property.objects.filter(pk__in={c.real_estate_property_id for c in chosen})
    told = [
        sorted(revisions.values_list("pk", "revision")),
        sorted([c.pk, json.dumps([c.ours, c.theirs], sort_keys=True)] for c in chosen),
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def decide(request: HttpRequest, chosen: list[Conflict], decision: Decision) -> list[Conflict]:
    """Decide them property by property, and tell; returns those that were decided."""
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


def _case(row: Property, found: list[Conflict], answers: list[Decision]) -> Case:
    return Case(
        reference=str(row),
        title=str(row.desired.get("title") or ""),
        page=reverse("admin:properties_property_change", args=[row.pk]),
        fields=[_field(conflict) for conflict in found],
        calls=[_call(row, found, answer) for answer in answers],
    )


def _field(conflict: Conflict) -> Field:
    values = {name: worded(conflict.path, getattr(conflict, name)) for name in ("ours", "theirs")}
    return Field(
        pk=conflict.pk,
        name=label(conflict.path),
        path=conflict.path,
        before=worded(conflict.path, conflict.base),
        since=moment(conflict.created_at, timezone.now()),
        **values,
    )


def _call(row: Property, found: list[Conflict], answer: Decision) -> Call:
    following: Any = conflicts.next_call(row, found, answer)
    return Call(
        title=TITLES[answer],
        text=call_text(following.call, row),
        body=pretty(following.body) if following.body else "",
        faults=[f"{label(fault.path)}: {fault.message}" for fault in following.faults],
    )
