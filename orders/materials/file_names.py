"""Pure: the names under which files are served."""

import re
import unicodedata

from orders.materials.file_types import FILE_TYPES
from orders.models import Material

LONGEST = 180  # bytes before the ending, so that the whole name fits the 255 of a file system
# Windows takes these for devices, whatever the ending behind them.
_DEVICE = re.compile(r"^(con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)", re.IGNORECASE)
ENDINGS = {".jpg": (".jpg", ".jpeg"), ".tif": (".tif", ".tiff")}


def plain(text: str) -> str:
    """Return a text as one part of a path, or "" if nothing of it remains."""
    printable = "".join(one if one.isprintable() else "_" for one in text)
    name = re.sub(r'[/\\:*?"<>|]', "_", printable).strip(". ")
    return _DEVICE.sub(r"\1_", name)


def cut(text: str) -> str:
    """Return the beginning of a name, short enough for file systems, with no broken character."""
    kept = text.encode()[:LONGEST].decode(errors="ignore")
    if len(kept) < len(text) and unicodedata.combining(text[len(kept)]):
        bases = [n for n, one in enumerate(kept) if not unicodedata.combining(one)]
        kept = kept[: bases[-1] if bases else 0]  # the last letter would lose its accent
    return kept.rstrip(". ") if len(kept) < len(text) else kept


def folded(name: str) -> str:
    """Return a name as file systems compare it: without case, accents composed."""
    return unicodedata.normalize("NFC", name).casefold()


def file_name(material: Material, content_type: str) -> str:
    """Return the platform's name for a file, without characters that file systems refuse.

    It gets the ending of its type, so that no program opens it as something else. If the type is
    "", the ending does not change.
    """
    text = plain(material.file_name) or f"{material.product.lower() or 'material'}-{material.pk}"
    suffix = FILE_TYPES[content_type].suffix if content_type else ""
    stem, dot, ending = text.rpartition(".")
    if dot and f".{ending.lower()}" in ENDINGS.get(suffix, (suffix,)):
        return f"{cut(stem)}.{ending}"
    return f"{cut(text)}{suffix}"
