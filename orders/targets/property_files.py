"""The delivered files of properties for an export: what was ordered, each picture once.

Unedited pictures and generated marketing materials are no part of it.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from django.db.models import Prefetch

from crm_sync.hooks import FileKind, FilesOfProperty, PropertyFile, PropertyFiles
from crm_sync.sentence import Sentence
from orders.materials import file_requests, gallery
from orders.materials.archive import why_not
from orders.materials.download import opened
from orders.materials.file_names import cut
from orders.materials.file_types import FILE_TYPES
from orders.materials.gallery import Item
from orders.models import Material, MaterialFile, MaterialSet
from orders.targets import name_pattern, target_files

PATTERN = "{reference}-{product}-{nn}"  # beside the feed: not every program looks into folders
RAW = "RAW"  # the visual type of unedited pictures (§6.3)
_OTHERS = re.compile(r"[^A-Za-z0-9.-]+")  # what programs unpack and address in different ways
Role = MaterialFile.Role
Stored = tuple[Material, MaterialFile]
Rows = Mapping[int, MaterialFile]  # by the primary key of the material


def find(references: Mapping[int, str]) -> dict[int, FilesOfProperty]:
    """Return the files of properties, and those that are not stored, by primary key.

    The photos come first, and those of the newest order before others. Of a picture in two
    qualities it is the better one that is stored. Three queries.

    Args:
        references: by the primary keys of the properties.
    """
    materials = Material.objects.filter(withdrawn_at=None).exclude(visual_type=RAW).order_by("pk")
    sets = MaterialSet.objects.filter(order__real_estate_property__in=list(references))
    sets = sets.select_related("order", "assignment").defer("order__observed")
    sets = sets.prefetch_related(Prefetch("materials", materials)).order_by("-ready_at", "-pk")
    mine: dict[int, list[MaterialSet]] = defaultdict(list)
    for ready in sets:
        if ready.order is not None and ready.order.real_estate_property_id is not None:
            mine[ready.order.real_estate_property_id].append(ready)
    files = MaterialFile.objects.filter(role=Role.FILE, material__material_set__in=list(sets))
    rows = {row.material_id: row for row in files}  # a prefetch would make a query for each
    return {key: _of_property(references[key], found, rows) for key, found in mine.items()}


OF_PROPERTIES = PropertyFiles("orders.view_order", find)


def _of_property(reference: str, sets: Sequence[MaterialSet], rows: Rows) -> FilesOfProperty:
    stored: list[Stored] = []
    missing: list[tuple[str, Sentence]] = []
    for item in (item for group in gallery.groups(sets) for item in group.items):
        there = [(one, rows[one.pk]) for one in item.versions if one.pk in rows]
        found = next((pair for pair in there if pair[1].name), None)
        if found is not None:
            stored.append(found)
        elif (one := _wanted(item)) is not None:
            name = target_files.values(one, reference)["name"]
            missing.append((cut(name), why_not(rows.get(one.pk))))
    stored.sort(key=lambda one: list(FileKind).index(_kind(*one)))
    counts = Counter[str]()
    return FilesOfProperty([_property_file(*one, reference, counts) for one in stored], missing)


def _wanted(item: Item) -> Material | None:
    """Return the best version that has a file; a tour has none."""
    return next((one for one in item.versions if Role.FILE in file_requests.roles(one)), None)


def _property_file(
    material: Material, row: MaterialFile, reference: str, counts: Counter[str]
) -> PropertyFile:
    values = target_files.values(material, reference)
    simple = {name: _simple(value) for name, value in values.items()}
    suffix = FILE_TYPES[row.content_type].suffix
    stem = name_pattern.stem(PATTERN, simple, suffix)
    counts[stem] += 1
    return PropertyFile(
        kind=_kind(material, row),
        title=cut(values["name"]),
        content_type=row.content_type,
        size=row.size or 0,
        stored_at=row.stored_at or row.created_at,
        names=name_pattern.names(PATTERN, simple, suffix, counts[stem]),
        open=partial(opened, row),
    )


def _kind(material: Material, row: MaterialFile) -> FileKind:
    """Return what a file shows, by its type and by what was ordered (A31, A39)."""
    ordered = material.material_set.assignment
    kinds = {material.product, ordered.assignment_type if ordered else ""}
    if row.content_type.startswith("video/"):
        return FileKind.FILM
    if "FLOOR_PLAN" in kinds:
        return FileKind.PLAN
    is_picture = row.content_type.startswith("image/") and "DOCUMENT" not in kinds
    return FileKind.PHOTO if is_picture else FileKind.DOCUMENT


def _simple(value: str) -> str:
    """Return a value in letters that every program unpacks, and that no address escapes."""
    letters = unicodedata.normalize("NFKD", value)
    plain = "".join(one for one in letters if not unicodedata.combining(one))
    return _OTHERS.sub("_", plain)
