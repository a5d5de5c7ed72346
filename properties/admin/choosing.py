"""What a person chooses on the page of a property's conflicts: a side for each member (I4)."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import QueryDict

from crm_sync.admin.ui.cells import moment, page_of
from properties.admin.sync_tab import call_text, pretty
from properties.admin.words import worded
from properties.catalog import holds_unknown, label
from properties.domain import conflicts
from properties.domain.conflicts import Decision, Resolution
from properties.domain.unsayable import NOTE
from properties.forms.layout import tab_of
from properties.members import Member
from properties.models import Conflict, Property

SIDES = (Decision.OURS, Decision.THEIRS)
STANDS = {
    Decision.OURS: "Sent to the platform",
    Decision.THEIRS: "Taken over here",
    Decision.BOTH: "Taken over here and sent to the platform",
}


@dataclass(frozen=True)
class Choice:
    """One open conflict, and what was chosen for its members so far.

    Attributes:
        sides: what was chosen for each member; "" for nothing.
        is_changed: the values are others than those that the person saw.
    """

    conflict: Conflict
    members: list[Member]
    sides: list[str]
    is_changed: bool = False

    @property
    def answer(self) -> Resolution | None:
        """What the choice says; None while a member is left open."""
        if "" in self.sides:
            return None
        sides = zip(self.members, self.sides, strict=True)
        taken = {member.steps for member, side in sides if side == Decision.THEIRS}
        return conflicts.of_members(self.conflict, taken)

    @property
    def is_begun(self) -> bool:
        """Whether something was chosen, and not yet enough."""
        return any(self.sides) and "" in self.sides


def choices(found: list[Conflict], posted: QueryDict) -> list[Choice]:
    """Return what was chosen for each open conflict; nothing where it has changed since."""
    made = []
    for conflict in found:
        members = conflicts.members(conflict)
        seen = posted.get(f"seen-{conflict.pk}")
        is_changed = seen is not None and seen != digest(conflict)
        sides = [_side(posted, conflict, n) for n in range(len(members))]
        if is_changed:
            sides = [""] * len(members)
        made.append(Choice(conflict, members, sides, is_changed))
    return made


def digest(conflict: Conflict) -> str:
    """Return a digest of what a person decides about."""
    values = json.dumps([conflict.ours, conflict.theirs], sort_keys=True)
    return hashlib.sha256(values.encode()).hexdigest()[:16]


def closed_meanwhile(row: Property, found: list[Conflict], posted: QueryDict) -> Iterator[str]:
    """Say what became of the conflicts that the page showed and that are not open any more."""
    open_ones = {str(conflict.pk) for conflict in found}
    shown = {name.removeprefix("seen-") for name in posted if name.startswith("seen-")}
    keys = [key for key in shown - open_ones if key.isdecimal() and len(key) < 19]
    gone = Conflict.objects.filter(real_estate_property=row, pk__in=keys).order_by("path")
    for conflict in gone.select_related("decided_by"):
        if conflict.decision == Decision.AGREED:
            yield f"{label(conflict.path)}: both sides agree by now ({conflict.who})."
        elif conflict.decided_by:
            whose = conflict.get_decision_display().lower()
            yield f"{label(conflict.path)}: {conflict.decided_by} decided it meanwhile ({whose})."
        else:
            yield f"{label(conflict.path)}: nothing is to be decided any more."


def shown(choice: Choice, row: Property, now: datetime) -> dict[str, Any]:
    """Return one conflict for the page."""
    conflict, path = choice.conflict, choice.conflict.path
    tab = tab_of(path)
    return {
        "pk": conflict.pk,
        "seen": digest(conflict),
        "name": label(path),
        "path": path,
        "since": moment(conflict.created_at, now),
        "is_changed": choice.is_changed,
        "note": f"{NOTE}." if holds_unknown(path, conflict.theirs) else "",
        "form": f"{page_of(row)}#{tab}" if tab else "",
        "members": [
            _member(choice, number, member) for number, member in enumerate(choice.members)
        ],
    }


def result(row: Property, made: list[Choice]) -> dict[str, Any]:
    """Return what stands where, and what goes out, once the complete choices are decided."""
    answers = [choice.answer for choice in made]
    complete = [answer for answer in answers if answer]
    following = conflicts.next_call(row, complete)
    faulty = {fault.path: fault.message for fault in following.faults}
    return {
        "count": len(complete),
        "rows": [
            _standing(choice, answer, faulty)
            for choice, answer in zip(made, answers, strict=True)
            if answer or choice.is_begun
        ],
        "open": sum(answer is None for answer in answers),
        "call": call_text(following.call, row),
        "body": pretty(following.body) if following.body else "",
        "faults": [f"{label(path)}: {message}" for path, message in faulty.items()],
    }


def _side(posted: QueryDict, conflict: Conflict, number: int) -> str:
    side = posted.get(f"side-{conflict.pk}-{number}", "")
    return side if side in SIDES else ""


def _member(choice: Choice, number: int, member: Member) -> dict[str, Any]:
    values = {Decision.OURS: member.ours, Decision.THEIRS: member.theirs}
    return {
        "name": member.name,
        "field": f"side-{choice.conflict.pk}-{number}",
        "sides": [
            {
                "value": side.value,
                "title": side.label,
                "text": worded(member.path, values[side]),
                "chosen": choice.sides[number] == side,
            }
            for side in SIDES
        ],
        "before": worded(member.path, member.base),
    }


def _standing(choice: Choice, answer: Resolution | None, faulty: dict[str, str]) -> dict[str, Any]:
    """Say of one field what stands, and where."""
    path = choice.conflict.path
    if answer is None:
        left = choice.sides.count("")
        where, value = f"Stays open: {left} of {len(choice.sides)} not chosen yet", ""
    else:
        where, value = STANDS[answer.decision], worded(path, answer.value)
    if any(at == path or at.startswith((f"{path}.", f"{path}[")) for at in faulty):
        where = "Stays open"
    return {"name": label(path), "value": value, "where": where}
