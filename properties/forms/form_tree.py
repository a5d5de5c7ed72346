"""Pure: the tree of tabs, blocks, rows and inputs of a property, from the catalog and the document.

The form makes its fields from this tree. The page shows the same tree after `property_page` has put
inputs and problems into it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.utils.safestring import SafeString
from django.utils.text import Truncator, slugify
from django.utils.translation import get_language_info, gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import EMPTY
from crm_sync.text import capitalized
from crm_sync.translated import Text, number
from properties.catalog import (
    FIELDS,
    GROUPS,
    OTHERS,
    PLACED,
    TEXTS,
    UNKNOWN_NAMES,
    Field,
    Kind,
    children,
    find,
    group_name,
    group_of,
    label,
    last_label,
    value_at,
)
from properties.catalog.field_names import english_group
from properties.forms.assembly import pairs
from properties.forms.input_html import labelled

BLANK_ROWS = 2  # below the items of a list, to add some without a script
SMALL = 3  # an object with at most so many members is shown inside its parent
REFERENCE, TITLE = "objectReferenceId", "title"
STATES = _("Yes: it applies. No: it does not apply. ?: unknown. —: nothing was said.")
UNKNOWN_FIELDS = _("Fields that this app does not know")
SHOWN = 1000  # characters of one of their values
HIDDEN_GROUPS = frozenset({"Read-only"})  # shown from the platform's values, not as inputs
MAP_MEMBERS: dict[str, Text] = {"name": _("Name"), "value": _("Value")}
LANGUAGES = "localizations"
# Where people expect fields of other groups, and the texts: the group, and the field before it.
WHERE = {TITLE: (TEXTS, ""), LANGUAGES: (TEXTS, TITLE)} | PLACED


@dataclass
class InputPlace:
    """One input; the page adds Django's bound field, its problems and what a rule means there."""

    path: str
    row: Field
    label: str
    bound: Any = None
    problems: list[str] = field(default_factory=list)
    rule: str = ""

    @property
    def has_trouble(self) -> bool:
        """Whether a person has to look here."""
        return bool(self.bound.errors or self.problems)

    @property
    def html(self) -> SafeString:
        """The input below its label, with its errors and problems."""
        return labelled(self.bound, self.problems, self.rule)


@dataclass
class Row:
    """One item of a list; a blank one can be filled in.

    Attributes:
        removal: the name of the box that removes it; on the page the box itself, with a name.
    """

    title: str
    places: list[InputPlace]
    blank: bool
    removal: Any

    @property
    def has_trouble(self) -> bool:
        """Whether a person has to look here."""
        return any(place.has_trouble for place in self.places)


@dataclass
class Block:
    """Inputs under one heading: a grid, a grid of three states, or rows; or a table to read.

    Attributes:
        may_fold: it is an object, which can be hidden while it is empty.
        problems: the problems of a list as a whole.
        rule: what a rule means for all its inputs.
        is_owned: the platform owns all its inputs, so nothing can be added.
    """

    path: str
    title: Text
    rule: str = field(default="", kw_only=True)
    is_owned: bool = field(default=False, kw_only=True)
    places: list[InputPlace] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    is_states: bool = False
    note: Text = ""
    table: tuple[list[str], list[list[str]]] | None = None
    may_fold: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def all_places(self) -> Iterator[InputPlace]:
        """Every input of the block."""
        yield from self.places
        for row in self.rows:
            yield from row.places

    @property
    def is_folded(self) -> bool:
        """Whether it is empty and needs no attention."""
        return self.may_fold and not any(
            place.has_trouble or place.bound.value() for place in self.places
        )


@dataclass
class Tab:
    """One group of the catalog."""

    group: str
    blocks: list[Block]

    @property
    def title(self) -> str:
        """The name of the group, in the language of the reader."""
        return group_name(self.group)

    @property
    def slug(self) -> str:
        """Name of the tab in the address; unfold opens "general" first."""
        return slugify(english_group(self.group))

    @property
    def places(self) -> list[InputPlace]:
        """Every input of the tab."""
        return [place for block in self.blocks for place in block.all_places]

    @property
    def error_count(self) -> int:
        """The number of inputs that were refused."""
        return sum(bool(place.bound.errors) for place in self.places)

    @property
    def problem_count(self) -> int:
        """The number of fields that wait for a person."""
        return sum(len(one.problems) for part in (self.blocks, self.places) for one in part)


def tabs(document: dict[str, Any], *, rooms: Any = None, creating: bool = True) -> list[Tab]:
    """Return the tree for a document: its lists get a row for each item, and blank ones.

    Args:
        rooms: the platform's rooms, which cannot be set (§4.6 rule 5).
        creating: the property is new. Only then the reference can be typed, so it comes first, and
            the title beside it.
    """
    groups = {group: _placed(group, rows) for group, rows in (*GROUPS.items(), (TEXTS, []))}
    found = {
        group: Tab(group, list(_group(rows, document)))
        for group, rows in groups.items()
        if rows and group not in HIDDEN_GROUPS
    }
    for tab in found.values():  # the first object of a tab is its main content
        next((block for block in tab.blocks if block.title), tab.blocks[0]).may_fold = False
    if creating:
        for path, where in ((TITLE, found[TEXTS]), (REFERENCE, found["References"])):
            place = next(place for place in where.places if place.path == path)
            where.blocks[0].places.remove(place)
            where.blocks = [block for block in where.blocks if block.places or block.rows]
            found["Core"].blocks[0].places.insert(0, place)
        return list(found.values())
    found["Areas and counts"].blocks.append(_rooms(rooms or []))
    unknown = list(_unknown(document))
    return [*found.values(), *([Tab(OTHERS, [_unknown_block(unknown)])] if unknown else [])]


def _placed(group: str, rows: list[Field]) -> list[Field]:
    """Return the fields of a tab: the fields of its group, and fields that people expect there."""
    shown = [row for row in rows if row.path not in WHERE]
    for path, (where, behind) in WHERE.items():
        if where == group:
            paths = [row.path for row in shown]
            shown.insert(paths.index(behind) + 1 if behind else 0, FIELDS[path])
    return shown


def tab_of(path: str) -> str:
    """Return the slug of the tab in which a leaf can be edited; "" where none has it."""
    leaf = find(path)
    if leaf is None or leaf.read_only:
        return ""
    top = path.partition(".")[0]
    group = WHERE[top][0] if top in WHERE else group_of(path)
    return Tab(group, []).slug


def _group(rows: list[Field], document: dict[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a group in the order of the table."""
    shown = [row for row in rows if not row.read_only]
    for is_simple, run in groupby(shown, key=_is_simple):
        some = list(run)
        if is_simple:
            title = "" if some[0] is shown[0] else group_name(OTHERS)
            yield Block("", title, [InputPlace(row.path, row, label(row.path)) for row in some])
        else:
            for row in some:
                yield from _container(row, document)


def _is_simple(row: Field) -> bool:
    """Return whether the field needs only one input."""
    return row.kind.is_scalar or row.kind is Kind.ENUM_LIST


def _container(row: Field, document: dict[str, Any]) -> Iterator[Block]:
    if row.kind in {Kind.MAP, Kind.OBJECT_LIST}:
        yield Block(row.path, label(row.path), rows=_rows(row, document))
    elif row.path == "characteristics":
        places = [InputPlace(child.path, child, label(child.path)) for child in children(row.path)]
        places.sort(key=lambda place: place.label.lower())
        yield Block(row.path, "", places, is_states=True, note=STATES)
    else:
        yield from _object(row, document)


def _object(row: Field, document: dict[str, Any]) -> Iterator[Block]:
    """Yield an object as one block, followed by those of the objects and lists in it."""
    members = children(row.path)
    own = [place for child in members for place in _own_places(row, child)]
    if own:
        yield Block(row.path, label(row.path), own, may_fold=True)
    for child in members:
        if not _is_simple(child) and not _is_small(child):
            yield from _container(child, document)


def _own_places(holder: Field, child: Field) -> Iterable[InputPlace]:
    """Return the inputs that a member has in the block of the object that holds it."""
    leaves = [child] if _is_simple(child) else children(child.path) if _is_small(child) else []
    return [InputPlace(leaf.path, leaf, _within(holder.path, leaf.path)) for leaf in leaves]


def _is_small(row: Field) -> bool:
    members = children(row.path)
    return row.kind is Kind.OBJECT and len(members) <= SMALL and all(map(_is_simple, members))


def _within(holder: str, path: str) -> str:
    """Return the label of a field below the heading of the block that holds it."""
    return capitalized(label(path).removeprefix(f"{label(holder)} · "))


def _rows(row: Field, document: dict[str, Any]) -> list[Row]:
    """Return a row for each item of a list or a map, and blank ones."""
    is_map, stored = row.kind is Kind.MAP, value_at(document, row.path)
    is_text = row.path == LANGUAGES
    count = len(pairs(stored)) if is_map else len(stored) if isinstance(stored, list) else 0
    return [
        Row(
            (is_text and _language(document, index)) or label(f"{row.path}[{index}]"),
            _pair(row, index) if is_map else _members(row.path, index),
            index >= count,
            f"{row.path}[{index}]:remove",
        )
        for index in range(count + BLANK_ROWS)
    ]


def _language(document: dict[str, Any], index: int) -> str:
    """Return the name of the language of a text: "German (de)"; "" if it is unknown."""
    code = value_at(document, f"{LANGUAGES}[{index}].languageCode")
    try:
        return f"{get_language_info(str(code))['name_translated']} ({code})"
    except KeyError:
        return ""


def _members(path: str, index: int) -> list[InputPlace]:
    """Return the inputs of an item; a list inside an item is one JSON input."""
    return [
        InputPlace(f"{path}[{index}].{child.name}", child, last_label(child.path))
        for child in children(f"{path}[{index}]")
    ]


def _pair(row: Field, index: int) -> list[InputPlace]:
    """Return the two inputs of a map's entry; the catalog has no field for either."""
    return [
        InputPlace(
            f"{row.path}[{index}].{name}",
            Field(f"{row.path}[].{name}", row.group, Kind.STRING, row.source),
            str(title),
        )
        for name, title in MAP_MEMBERS.items()
    ]


def _rooms(rooms: list[Any]) -> Block:
    note = gettext("Read-only: the platform sets them; the number of rooms above can be set.")
    headers = [gettext("Name"), gettext("Type"), gettext("Floor"), gettext("Area")]
    cells = (headers, [_room(room) for room in rooms])
    return Block("", gettext("Rooms"), table=cells, note=note)


def _room(room: Any) -> list[str]:
    if not isinstance(room, dict):
        return [as_text(room), "", "", ""]
    area = room.get("area")
    texts = [room.get("name"), room.get("type"), room.get("floor")]
    texts.append(None if area is None else f"{as_text(area)} m²")
    return [EMPTY if text is None else as_text(text) for text in texts]


def _unknown(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of all that the catalog does not know."""
    for name, value in document.items():
        path = f"{prefix}{name}"
        found = find(path)
        if found is None:
            yield path, value
        elif found.kind in {Kind.OBJECT, Kind.MERGED} and isinstance(value, dict):
            yield from _unknown(value, f"{path}.")
        elif found.kind is Kind.OBJECT_LIST and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    yield from _unknown(item, f"{path}[{index}].")


def _unknown_block(found: list[tuple[str, Any]]) -> Block:
    """Return the block of unknown fields of a newer platform or a feed, which are never lost."""
    shown = found[:UNKNOWN_NAMES]
    cells = [[path, Truncator(as_text(value)).chars(SHOWN)] for path, value in shown]
    note = gettext("They are kept, and sent when their value changes.")
    if len(found) > UNKNOWN_NAMES:
        more = gettext("The first %(shown)s of %(count)s are shown.")
        note = f"{note} {more % {'shown': UNKNOWN_NAMES, 'count': number(len(found))}}"
    headers = [gettext("Field"), gettext("Value")]
    return Block("", UNKNOWN_FIELDS, table=(headers, cells), note=note)


def as_text(value: Any) -> str:
    """Return a value of the wire in one line for a person."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
