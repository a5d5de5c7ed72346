"""Pure: which inputs a property has, in tabs and blocks, from the catalog and the document."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.utils.text import slugify

from crm_sync.text import capitalized
from properties.catalog import FIELDS, GROUPS, Field, Kind, children, find, label, last_label
from properties.forms.assembly import pairs, value_at

BLANK_ROWS = 2  # below the items of a list, to add some without a script
SMALL = 3  # an object with no more members stands among those of its parent
REFERENCE = "objectReferenceId"
TITLES = {"Core": "General"}
OTHERS = "Others"  # what comes after the objects and lists of its group
HIDDEN_GROUPS = frozenset({"Read-only"})  # shown from what the platform said, not as inputs
MAP_MEMBERS = ("name", "value")
# Fields of "Extra" where people look for them: the group, and the field behind which they stand.
PLACED = {
    "offerType": ("Core", "propertyType"),
    "parcelNumbers": ("References", "is24Id"),
    "yearBuilt": ("Classification", "developmentState"),
    "yearLastRenovated": ("Classification", "yearBuilt"),
    "areaBwf": ("Areas and counts", ""),
    "areaNwf": ("Areas and counts", "areaBwf"),
    "areaPropertyLand": ("Areas and counts", "areaNwf"),
    "craneCapacity": ("Areas and counts", "elevatorLoad"),
    "numberOfToiletsGuest": ("Areas and counts", "numberOfToilets"),
    "floor": ("Areas and counts", "numberOfBalconies"),
    "numberOfFloors": ("Areas and counts", "floor"),
    "numberOfApartments": ("Areas and counts", "numberOfFloors"),
    "numberOfParcels": ("Areas and counts", "numberOfApartments"),
    "grossPremium": ("Prices", "rentalIncomeInterval"),
    "author": ("Listing", "customFields"),
}


@dataclass(frozen=True)
class InputPlace:
    """The place of one input."""

    path: str
    row: Field
    label: str


@dataclass(frozen=True)
class Row:
    """One item of a list; a blank one is there to be filled in."""

    title: str
    places: list[InputPlace]
    blank: bool
    removal: str  # name of the box that takes it out


@dataclass(frozen=True)
class Block:
    """Inputs under one heading: a grid, a grid of three states, or rows."""

    path: str
    title: str
    places: list[InputPlace] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    is_states: bool = False

    @property
    def all_places(self) -> Iterator[InputPlace]:
        """Every input of the block."""
        yield from self.places
        for row in self.rows:
            yield from row.places


@dataclass(frozen=True)
class Tab:
    """One group of the catalog."""

    title: str
    blocks: list[Block]

    @property
    def slug(self) -> str:
        """Name of the tab in the address; unfold opens "general" first."""
        return slugify(self.title)


def tabs(document: dict[str, Any]) -> list[Tab]:
    """Return the form for a document: its lists get a row for each item, and blank ones."""
    groups = {group: _placed(group, rows) for group, rows in GROUPS.items()}
    return [
        Tab(TITLES.get(group, group), list(_group(rows, document)))
        for group, rows in groups.items()
        if rows and group not in HIDDEN_GROUPS
    ]


def _placed(group: str, rows: list[Field]) -> list[Field]:
    """Return the fields of a tab: those of its group, and those that people look for in it."""
    shown = [row for row in rows if row.path not in PLACED]
    for path, (where, behind) in PLACED.items():
        if where == group:
            paths = [row.path for row in shown]
            shown.insert(paths.index(behind) + 1 if behind else 0, FIELDS[path])
    return shown


def tab_of(path: str) -> str:
    """Return the slug of the tab in which a leaf can be edited; "" where none has it."""
    leaf = find(path)
    if leaf is None or leaf.read_only:
        return ""
    top = leaf.path.partition(".")[0]
    group = PLACED[top][0] if top in PLACED else leaf.group
    return Tab(TITLES.get(group, group), []).slug


def removal(path: str, index: int) -> str:
    """Return the name of the box that takes an item out of a list."""
    return f"{path}[{index}]:remove"


def _group(rows: list[Field], document: dict[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a group in the order of the table."""
    shown = [row for row in rows if not row.read_only]
    for is_simple, run in groupby(shown, key=_is_simple):
        some = list(run)
        if is_simple:
            title = "" if some[0] is shown[0] else OTHERS
            yield Block("", title, [InputPlace(row.path, row, label(row.path)) for row in some])
        else:
            for row in some:
                yield from _container(row, document)


def _is_simple(row: Field) -> bool:
    """One input is enough for it."""
    return row.kind.is_scalar or row.kind is Kind.ENUM_LIST


def _container(row: Field, document: dict[str, Any]) -> Iterator[Block]:
    if row.kind is Kind.MAP:
        yield Block(row.path, label(row.path), rows=_map_rows(row, document))
    elif row.kind is Kind.OBJECT_LIST:
        yield Block(row.path, label(row.path), rows=_list_rows(row, document))
    elif row.path == "characteristics":
        places = [InputPlace(child.path, child, label(child.path)) for child in children(row.path)]
        places.sort(key=lambda place: place.label.lower())
        yield Block(row.path, "", places, is_states=True)
    else:
        yield from _object(row, document)


def _object(row: Field, document: dict[str, Any]) -> Iterator[Block]:
    """Yield an object as one block, followed by those of the objects and lists in it."""
    members = children(row.path)
    own = [place for child in members for place in _own_places(row, child)]
    if own:
        yield Block(row.path, label(row.path), own)
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


def _list_rows(row: Field, document: dict[str, Any]) -> list[Row]:
    stored = value_at(document, row.path)
    count = len(stored) if isinstance(stored, list) else 0
    return [
        _item(row.path, index, blank=index >= count, members=_members(row.path, index))
        for index in range(count + BLANK_ROWS)
    ]


def _members(path: str, index: int) -> list[InputPlace]:
    """Return the inputs of an item; what an item itself holds many of is one JSON input."""
    return [
        InputPlace(f"{path}[{index}].{child.name}", child, last_label(child.path))
        for child in children(f"{path}[{index}]")
    ]


def _map_rows(row: Field, document: dict[str, Any]) -> list[Row]:
    count = len(pairs(value_at(document, row.path)))
    return [
        _item(row.path, index, blank=index >= count, members=_pair(row, index))
        for index in range(count + BLANK_ROWS)
    ]


def _pair(row: Field, index: int) -> list[InputPlace]:
    """Return the two inputs of a map's entry; the catalog has no field for either."""
    return [
        InputPlace(
            f"{row.path}[{index}].{name}",
            Field(f"{row.path}[].{name}", row.group, Kind.STRING, row.source),
            name.capitalize(),
        )
        for name in MAP_MEMBERS
    ]


def _item(path: str, index: int, *, blank: bool, members: list[InputPlace]) -> Row:
    return Row(label(f"{path}[{index}]"), members, blank, removal(path, index))
