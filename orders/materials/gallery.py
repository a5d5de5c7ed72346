"""Pure: groups of materials, and the two qualities of one picture."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from orders.models import Material, MaterialSet

Key = tuple[object, ...]
QUALITIES = {"POST": "HD", "POST_WEB": "WEB"}  # A52, in the order of display
USUAL = {"", "DOCUMENT", *QUALITIES}  # shown under the name of the product alone


@dataclass
class Item:
    """One delivered item in each available quality, HD before WEB."""

    versions: list[Material] = field(default_factory=list)


@dataclass
class MaterialGroup:
    """The materials of one product, or the materials generated for one target platform.

    Attributes:
        names: product, type and target platform in the platform's spelling. A usual type is left
            out.
    """

    names: tuple[str, ...]
    sets: list[MaterialSet] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)


def groups(sets: Iterable[MaterialSet]) -> list[MaterialGroup]:
    """Group the materials, in the order of the sets.

    Args:
        sets: each with its materials fetched.
    """
    found: dict[Key, MaterialGroup] = {}
    items: dict[Key, Item] = {}
    for ready in sets:
        _group(found, ready, ready.visual_type)  # a set without materials is shown, too
        for material in ready.materials.all():
            group = _group(found, ready, material.visual_type or ready.visual_type)
            key = (ready.assignment_id, *group.names, *_picture(material))
            # Two pictures with the same name and quality are two items.
            there = [one.visual_type for one in items[key].versions] if key in items else []
            if key not in items or material.visual_type in there:
                items[key] = Item()
                group.items.append(items[key])
            items[key].versions.append(material)
    rank = {visual_type: place for place, visual_type in enumerate(QUALITIES)}
    for group in found.values():
        for item in group.items:
            item.versions.sort(key=lambda version: rank.get(version.visual_type, 0))
    return list(found.values())


def _group(found: dict[Key, MaterialGroup], ready: MaterialSet, visual_type: str) -> MaterialGroup:
    kind = "" if visual_type in USUAL else visual_type
    names = tuple(name for name in (ready.product, kind, ready.target_platform) if name)
    group = found.setdefault((ready.assignment_id, *names), MaterialGroup(names))
    if ready not in group.sets:
        group.sets.append(ready)
    return group


def _picture(material: Material) -> Key:
    """Return the key that both qualities of one picture share: its name."""
    if material.file_name and material.visual_type in QUALITIES:
        return ("name", material.file_name)
    return ("key", material.pk)
