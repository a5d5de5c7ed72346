"""The values for the templates of a property's page: its form, and the parts that change."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from crm_sync import hooks
from crm_sync.admin.ui.cells import moment
from crm_sync.admin.ui.delays import row_delay
from crm_sync.hooks import PropertyAction, Section
from crm_sync.translated import said_of
from properties.admin.property.feed_tab import from_feed_sections
from properties.admin.property.overview_tab import overview_tab
from properties.admin.property.page_tabs import page_tabs
from properties.admin.property.property_head import property_head
from properties.admin.property.sync_tab import sync_tab
from properties.admin.words import problem_in_words, worded
from properties.catalog import Field, Kind, NameSource, label, leaf_of
from properties.domain.field_history import newer
from properties.forms import PropertyForm
from properties.forms.form import WORKSPACE
from properties.forms.form_tree import Block, InputPlace
from properties.forms.question import MINE, THERE, Question
from properties.models.property import ProblemKind


def form_parts(form: PropertyForm, sections: list[Section]) -> dict[str, Any]:
    """Return the values of the form that the template needs."""
    general = _bind(form)
    return {
        "tabs": page_tabs(form.tree, sections, creating=form.creating),
        "shown_input": form["shown"] if "shown" in form.fields else None,
        "general_problems": general,
        "questions": [_question(one, form.instance) for one in form.questions],
    }


def _bind(form: PropertyForm) -> list[str]:
    """Put inputs and problems into the tree of a form.

    Returns:
        the problems of the property as a whole, and of fields that have no input.
    """
    problems = _problems(form)
    for block in (block for tab in form.tree for block in tab.blocks):
        if block.rows:  # of a list, a problem is one of the whole list
            block.problems = problems.pop(block.path, [])
        for place in block.all_places:
            place.bound = form[place.path]
            place.problems = problems.pop(leaf_of(place.path), [])
            place.rule = getattr(place.bound.field, "note", "")
        _gather_rule(block)
        for row in block.rows:
            row.removal = None if row.blank else form[row.removal]
    if form.creating:
        field = Field(WORKSPACE, "Core", Kind.STRING, NameSource.INFERRED)
        first = form.tree[0].blocks[0].places
        first.insert(0, InputPlace(WORKSPACE, field, "", form[WORKSPACE]))
    return [
        said_of(label(path), text) if path else text
        for path, texts in problems.items()
        for text in texts
    ]


def _gather_rule(block: Block) -> None:
    """Show a rule once above the inputs if it is the same for all of them."""
    found = {place.rule for place in block.all_places}
    owned = [getattr(place.bound.field, "is_owned", False) for place in block.all_places]
    block.is_owned = bool(owned) and all(owned)
    if len(found) == 1 and found != {""}:
        block.rule = found.pop()
        for place in block.all_places:
            place.rule = ""


def _problems(form: PropertyForm) -> dict[str, list[str]]:
    """Return the messages by leaf."""
    found: dict[str, list[str]] = {}
    for kind, path, problem in form.instance.problems:
        found.setdefault(path, []).append(problem_in_words(kind, problem))
    return found


def _question(question: Question, row: Any) -> dict[str, Any]:
    """Return the question about a field that somebody else changed in between."""
    last = newer(row, question.leaf)
    return {
        "name": label(question.leaf),
        "who": last.who,
        "when": moment(last.at, timezone.now()) if last.at else "",
        "members": [
            {
                "name": member.name,
                "field": name,
                "before": worded(member.path, member.base),
                "sides": [
                    {"value": MINE, "title": gettext("Yours"), "chosen": side == MINE}
                    | {"text": worded(member.path, member.ours)},
                    {"value": THERE, "title": gettext("There now"), "chosen": side == THERE}
                    | {"text": worded(member.path, member.theirs)},
                ],
            }
            for name, member, side in question.sides
        ],
    }


def moving_parts(row: Any, user: Any, now: datetime) -> dict[str, Any]:
    """Return the state of a property for the templates; it changes without a reload."""
    sync, sections = sync_tab(row, now), _sections(row, user, now)
    return {
        "head": property_head(row, user, now),
        "overview": overview_tab(row, sync, now),
        "sync": sync,
        "tabs": page_tabs([], sections),
        "read_when": row_delay(row, now),
        "can_read": row.platform_id is not None and ProblemKind.GONE not in row.problem,
        "sections": sections,
        "offered_actions": offered_actions(user),
    }


def _sections(row: Any, user: Any, now: datetime) -> list[Section]:
    """Return the sections of the feed and of the other apps that this person may see (S17)."""
    found = from_feed_sections(row)
    found += [one for show in hooks.plugged().property_sections for one in show(row, now)]
    return [one for one in found if user.has_perm(one.permission)]


def offered_actions(user: Any) -> list[PropertyAction]:
    """Return the actions of the other apps on properties that this person may do (S17)."""
    return [one for one in hooks.plugged().property_actions if user.has_perm(one.permission)]
