"""The page that decides conflicts: a side for each member, of one property or of several (I4)."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext_lazy

from crm_sync.admin.ui.cells import moment, page_of
from crm_sync.sentence import said
from crm_sync.translated import Text, number, said_of
from properties.admin.property.sync_tab import call_text, pretty
from properties.admin.words import worded
from properties.catalog import holds_unknown, label
from properties.domain import conflicts
from properties.domain.conflicts import Decision, Resolution
from properties.domain.unsayable import NOTE
from properties.forms.form_tree import tab_of
from properties.members import Member
from properties.models import Conflict, Property

MOST = 500  # conflicts on one page
SIDES = (Decision.OURS, Decision.THEIRS)
SEEN = "seen-"  # and the key of a conflict: a digest of the values that the page showed
THEN: dict[Decision, Text] = {
    Decision.OURS: pgettext_lazy("decision", "Sent to the platform"),
    Decision.THEIRS: _("Taken over here"),
    Decision.BOTH: _("Taken over here and sent to the platform"),
}
ENDED: dict[Decision, Text] = {
    Decision.OURS: _("%(field)s: %(person)s has decided it (ours)."),
    Decision.THEIRS: _("%(field)s: %(person)s has decided it (theirs)."),
    Decision.BOTH: _("%(field)s: %(person)s has decided it (from both)."),
    Decision.AGREED: _("%(field)s: both sides agree by now (%(person)s)."),
}


@dataclass(frozen=True)
class Choice:
    """One open conflict, and the side that was chosen for each member so far ("" for none).

    Attributes:
        is_changed: the values have changed since the person saw them.
    """

    conflict: Conflict
    members: list[Member]
    sides: list[str]
    is_changed: bool

    @property
    def answer(self) -> Resolution | None:
        """The decision of this choice; None while a member is open."""
        if "" in self.sides:
            return None
        sides = zip(self.members, self.sides, strict=True)
        taken = {member.steps for member, side in sides if side == Decision.THEIRS}
        return conflicts.of_members(self.conflict, taken)


def open_conflicts(rows: QuerySet[Conflict]) -> list[Conflict]:
    """Return the open conflicts by property; at most one more than a page shows."""
    found = rows.filter(decision=Decision.OPEN).order_by("real_estate_property_id", "path")
    return list(found[: MOST + 1])


def shown_keys(posted: QueryDict) -> list[int]:
    """Return the keys of the conflicts that the posted page showed."""
    keys = [name.removeprefix(SEEN) for name in posted if name.startswith(SEEN)]
    return [int(key) for key in keys if key.isdecimal() and len(key) < 19][:MOST]


def choices(found: Iterable[Conflict], posted: QueryDict) -> list[Choice]:
    """Return the sides that were posted, or one side for all if that button was pressed.

    A conflict whose values have changed since has to be chosen again.
    """
    every = posted.get("decision", "")
    made = []
    for conflict in found:
        members = conflicts.members(conflict)
        is_changed = posted.get(f"{SEEN}{conflict.pk}") not in (None, digest(conflict))
        if every in SIDES:
            chosen = [every] * len(members)
        else:
            chosen = [posted.get(_input(conflict, n), "") for n in range(len(members))]
        sides = [side if side in SIDES and not is_changed else "" for side in chosen]
        made.append(Choice(conflict, members, sides, is_changed))
    return made


def digest(conflict: Conflict) -> str:
    """Return a digest of both values."""
    values = json.dumps([conflict.ours, conflict.theirs], sort_keys=True)
    return hashlib.sha256(values.encode()).hexdigest()[:16]


def ended(conflict: Conflict) -> str:
    """Return in words how a conflict of the page was decided in between."""
    is_agreed = conflict.decision == Decision.AGREED
    person = conflict.who if is_agreed else conflict.decided_by or gettext("somebody")
    named = {"field": label(conflict.path), "person": person}
    return ENDED[Decision(conflict.decision)] % named


def decide(request: HttpRequest, made: Iterable[Choice]) -> list[Resolution]:
    """Decide the complete choices, one commit for each property; return what was decided.

    Each conflict that stays open gets a message with the reason.
    """
    actor, now = cast("AbstractBaseUser", request.user), timezone.now()
    answers = [answer for choice in made if (answer := choice.answer)]
    done = set()
    for __, some in groupby(answers, key=lambda answer: answer.conflict.real_estate_property_id):
        decided = conflicts.decide(some, actor=actor, now=now)
        done |= {one.pk for one in decided.done}
        for conflict, error in decided.refused:
            text = gettext("%(field)s stays open: %(reason)s")
            why = "; ".join(said(one.sentence) for one in error.faults)
            messages.error(request, text % {"field": label(conflict.path), "reason": why})
        for conflict in decided.late:
            text = gettext(
                "%(field)s: somebody changed or decided it at this very moment. Nothing was done"
                " there."
            )
            messages.warning(request, text % {"field": label(conflict.path)})
    if done:
        text = ngettext(
            "%(count)s conflict is decided.", "%(count)s conflicts are decided.", len(done)
        )
        messages.success(request, text % {"count": number(len(done))})
    return [answer for answer in answers if answer.conflict.pk in done]


def cases(made: list[Choice], now: datetime) -> list[dict[str, Any]]:
    """Return the conflicts of each property for the page, and the result of the choices."""
    rows = Property.objects.in_bulk({one.conflict.real_estate_property_id for one in made})
    grouped = groupby(made, key=lambda one: one.conflict.real_estate_property_id)
    return [_case(rows[key], list(some), now) for key, some in grouped]


def _case(row: Property, made: list[Choice], now: datetime) -> dict[str, Any]:
    page = page_of(row)
    return {
        "property": row,
        "page": page,
        "fields": [_field(choice, page, now) for choice in made],
        "result": _result(row, made),
    }


def _field(choice: Choice, page: str, now: datetime) -> dict[str, Any]:
    conflict, path = choice.conflict, choice.conflict.path
    tab = tab_of(path)
    return {
        "seen": (f"{SEEN}{conflict.pk}", digest(conflict)),
        "name": label(path),
        "path": path,
        "since": moment(conflict.created_at, now),
        "is_changed": choice.is_changed,
        "note": NOTE if holds_unknown(path, conflict.theirs) else "",
        "form": f"{page}#{tab}" if tab else "",
        "members": [
            _member(member, _input(conflict, n), choice.sides[n])
            for n, member in enumerate(choice.members)
        ],
    }


def _input(conflict: Conflict, number: int) -> str:
    return f"side-{conflict.pk}-{number}"


def _member(member: Member, name: str, chosen: str) -> dict[str, Any]:
    texts = {Decision.OURS: member.ours, Decision.THEIRS: member.theirs}
    return {
        "name": member.name,
        "field": name,
        "sides": [
            {"value": side.value, "title": side.label, "chosen": chosen == side}
            | {"text": worded(member.path, texts[side])}
            for side in SIDES
        ],
        "before": worded(member.path, member.base),
    }


def _result(row: Property, made: list[Choice]) -> dict[str, Any]:
    """Return the values that result from the complete choices, and the next call."""
    following = conflicts.next_call(row, [answer for choice in made if (answer := choice.answer)])
    faulty = {fault.path: fault.message for fault in following.faults}
    return {
        "rows": list(_outcomes(made, faulty)),
        "call": call_text(following.call, row),
        "body": pretty(following.body) if following.body else "",
        "faults": [said_of(label(path), said(message)) for path, message in faulty.items()],
    }


def _outcomes(made: list[Choice], faulty: Iterable[str]) -> Iterator[dict[str, Text]]:
    """Yield the resulting value of each conflict with a choice, and which side gets it."""
    for choice in made:
        path, answer, total = choice.conflict.path, choice.answer, len(choice.sides)
        if answer:
            is_faulty = any(at == path or at.startswith((f"{path}.", f"{path}[")) for at in faulty)
            then = gettext("Stays open") if is_faulty else THEN[answer.decision]
            yield {"name": label(path), "value": worded(path, answer.value), "then": then}
        elif any(choice.sides):
            text = ngettext(
                "Stays open: %(count)s of %(total)s not chosen yet",
                "Stays open: %(count)s of %(total)s not chosen yet",
                choice.sides.count(""),
            )
            named = {"count": number(choice.sides.count("")), "total": number(total)}
            yield {"name": label(path), "value": "", "then": text % named}
