"""The tabs as the page shows them: inputs bound to the form, errors and problems counted."""

from dataclasses import dataclass
from typing import Any

from django.forms import BoundField
from django.utils.text import Truncator

from crm_sync.admin.ui.cells import EMPTY
from crm_sync.platform.problems import explain
from properties.catalog import UNKNOWN_NAMES, label, leaf_of
from properties.forms import assembly, layout
from properties.forms.form import PropertyForm
from properties.forms.inputs import as_text
from properties.models.property import ProblemKind

UNKNOWN_FIELDS = "Fields that this app does not know"
SHOWN = 1000  # characters of one of their values
STATES = "Yes: it applies. No: it does not apply. ?: unknown. —: nothing was said."


@dataclass
class PageField:
    """An input with what the platform says about it."""

    bound: BoundField
    unit: str
    is_wide: bool
    problems: list[str]

    @property
    def has_trouble(self) -> bool:
        """Whether a person has to look here."""
        return bool(self.bound.errors or self.problems)


@dataclass
class PageRow:
    """One item of a list."""

    title: str
    fields: list[PageField]
    blank: bool
    removal: BoundField | None

    @property
    def has_trouble(self) -> bool:
        """Whether a person has to look here."""
        return any(field.has_trouble for field in self.fields)


@dataclass
class PageBlock:
    """A heading and what stands under it."""

    title: str
    fields: list[PageField]
    rows: list[PageRow]
    problems: list[str]
    is_states: bool = False
    table: dict[str, Any] | None = None
    note: str = ""
    is_empty: bool = False  # an object of which nothing is stored

    @property
    def is_folded(self) -> bool:
        """Whether it only takes room: nothing in it, and nothing to look at."""
        return self.is_empty and not any(field.has_trouble for field in self.fields)


@dataclass
class PageTab:
    """A tab with the counts on it."""

    title: str
    slug: str
    blocks: list[PageBlock]

    @property
    def error_count(self) -> int:
        """How many inputs were refused."""
        return sum(bool(field.bound.errors) for field in self._fields)

    @property
    def problem_count(self) -> int:
        """How many fields wait for a person."""
        at_fields = sum(len(field.problems) for field in self._fields)
        return at_fields + sum(len(block.problems) for block in self.blocks)

    @property
    def _fields(self) -> list[PageField]:
        rows = [row for block in self.blocks for row in block.rows]
        own = [field for block in self.blocks for field in block.fields]
        return own + [field for row in rows for field in row.fields]


def page_tabs(form: PropertyForm) -> list[PageTab]:
    """Return the tabs of a form with their errors; a problem stands at its first input."""
    problems = _problems(form)
    tabs = [
        PageTab(tab.title, tab.slug, [_block(form, block, problems) for block in tab.blocks])
        for tab in form.layout
    ]
    for tab in tabs:  # the first object of a tab is what the tab is for
        next((block for block in tab.blocks if block.title), tab.blocks[0]).is_empty = False
    by_title = {tab.title: tab for tab in tabs}
    if form.creating:
        first = by_title["General"].blocks[0]
        reference = _take(by_title["References"], layout.REFERENCE)
        first.fields = [_field(form, "workspace", {}), reference, *first.fields]
    else:
        by_title["Areas and counts"].blocks += _rooms(form)
        unknown = _unknown(form)
        tabs += [PageTab(layout.OTHERS, "others", unknown)] if unknown else []
    return tabs


def general_problems(form: PropertyForm) -> list[str]:
    """Return the problems of the property as a whole, and of fields that no input shows."""
    own = {leaf_of(path) for path in form.inputs}
    return [
        f"{label(path)}: {text}" if path else text
        for path, texts in _problems(form).items()
        for text in texts
        if path not in own
    ]


def _problems(form: PropertyForm) -> dict[str, list[str]]:
    """Return the messages by leaf; the platform's own words are marked as such."""
    found: dict[str, list[str]] = {}
    for kind, path, problem in form.instance.problems:
        who = "The platform refused it: " if kind == ProblemKind.REFUSED else ""
        said = explain(problem)
        found.setdefault(path, []).append(str(said) if said.details else f"{who}{problem}")
    return found


def _block(form: PropertyForm, block: layout.Block, problems: dict[str, list[str]]) -> PageBlock:
    waiting = problems.pop(block.path, []) if block.rows else []
    fields = [_field(form, place.path, problems) for place in block.places]
    rows = [_row(form, row) for row in block.rows]
    note = STATES if block.is_states else ""
    places = block.places if block.path else []
    empty = bool(places) and not any(form[place.path].value() for place in places)
    return PageBlock(block.title, fields, rows, waiting, block.is_states, note=note, is_empty=empty)


def _field(form: PropertyForm, name: str, problems: dict[str, list[str]]) -> PageField:
    field = form.fields[name]
    waiting = problems.pop(leaf_of(name), [])
    unit, wide = getattr(field, "unit", ""), getattr(field, "is_wide", False)
    return PageField(form[name], unit, wide, waiting)


def _row(form: PropertyForm, row: layout.Row) -> PageRow:
    fields = [_field(form, place.path, {}) for place in row.places]
    removal = None if row.blank else form[row.removal]
    return PageRow(row.title, fields, row.blank, removal)


def _take(tab: PageTab, name: str) -> PageField:
    """Take an input out of its block, to stand elsewhere."""
    block = tab.blocks[0]
    found = next(field for field in block.fields if field.bound.name == name)
    block.fields.remove(found)
    return found


def _rooms(form: PropertyForm) -> list[PageBlock]:
    """Show the rooms that the platform knows; they cannot be set (§4.6 rule 5)."""
    row = form.instance
    rooms = row.observed.get("rooms") or row.desired.get("rooms") or []
    note = "Read-only: the platform sets them; the number of rooms above can be set."
    table = {"headers": ["Name", "Type", "Floor", "Area"], "rows": [_room(r) for r in rooms]}
    return [PageBlock("Rooms", [], [], [], table=table, note=note)]


def _room(room: Any) -> list[str]:
    if not isinstance(room, dict):
        return [as_text(room), "", "", ""]
    area = room.get("area")
    cells = [room.get("name"), room.get("type"), room.get("floor")]
    texts = [EMPTY if cell is None else as_text(cell) for cell in cells]
    return [*texts, EMPTY if area is None else f"{as_text(area)} m²"]


def _unknown(form: PropertyForm) -> list[PageBlock]:
    """Show what a newer platform or a feed left here: kept, never lost."""
    unknown = list(assembly.unknown(form.document))
    if not unknown:
        return []
    shown = unknown[:UNKNOWN_NAMES]
    found = [[path, Truncator(as_text(value)).chars(SHOWN)] for path, value in shown]
    table = {"headers": ["Field", "Value"], "rows": found}
    note = "They are kept, and sent when their value changes."
    if len(unknown) > UNKNOWN_NAMES:
        note += f" The first {UNKNOWN_NAMES} of {len(unknown):,} are shown."
    return [PageBlock(UNKNOWN_FIELDS, [], [], [], table=table, note=note)]
