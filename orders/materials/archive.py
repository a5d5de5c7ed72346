"""A ZIP of the delivered files of an order, made while it is sent and never stored (§4.5)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.sentence import Sentence, said, sentence
from crm_sync.translated import said_of
from crm_sync.zip_stream import ZipStream
from orders.materials.download import opened
from orders.materials.file_names import cut, file_name, folded, plain
from orders.materials.gallery import QUALITIES
from orders.materials.material_lists import PHOTO_PRODUCTS
from orders.models import Material, MaterialFile

MISSING = _("NOT INCLUDED.txt")
Entry = tuple[MaterialFile, str]


@dataclass(frozen=True)
class Contents:
    """The contents of a ZIP, and the materials that are missing in it.

    Attributes:
        entries: each stored file with its name in the ZIP.
        missing: a line for each missing material, with its name and the reason.
    """

    entries: list[Entry]
    missing: list[str]


def contents(materials: Iterable[Material]) -> Contents:
    """Return the contents of a ZIP of these materials, whose files are prefetched."""
    entries: list[Entry] = []
    missing, used = [], Counter[str]()
    for one in materials:
        row = next((file for file in one.files.all() if file.role == MaterialFile.Role.FILE), None)
        if row is None or not row.name:
            missing.append(said_of(f"{_folder(one)}{file_name(one, '')}", said(why_not(row))))
            continue
        name = f"{_folder(one)}{file_name(one, row.content_type)}"
        used[folded(name)] += 1
        if used[folded(name)] > 1:  # unpacking would overwrite the first of two files with one name
            stem, dot, ending = name.rpartition(".")
            name = f"{stem} [{row.pk}]{dot}{ending}"
        entries.append((row, name))
    return Contents(entries, missing)


def stream(found: Contents) -> Iterator[bytes]:
    """Return the bytes of the ZIP, uncompressed, since pictures and PDF files already are compact.

    The text file also names each file that is no longer in the storage. It is in the language of
    this call: while the bytes are read, no language is chosen.
    """
    lost = gettext("it is no longer in the storage")
    return _bytes(found, str(MISSING), [said_of(name, lost) for __, name in found.entries])


def _bytes(found: Contents, text_file: str, lost: Iterable[str]) -> Iterator[bytes]:
    whole, missing = ZipStream(), list(found.missing)
    for (row, name), line in zip(found.entries, lost, strict=True):
        try:
            with opened(row) as file:
                yield from whole.add(name, file.read, at=row.created_at, size=row.size or 0)
        except OSError:
            missing.append(line)
    if missing:
        text = ("\r\n".join(missing) + "\r\n").encode()
        yield from whole.add(text_file, BytesIO(text).read, at=timezone.now(), size=len(text))
    yield whole.end()


def _folder(material: Material) -> str:
    """Return the folder of a material: its product, and the quality of a photo."""
    product = cut(plain(material.product.replace("_", " ").capitalize())) or gettext("Materials")
    quality = QUALITIES.get(material.visual_type, "") if material.product in PHOTO_PRODUCTS else ""
    return f"{product}/{quality}/" if quality else f"{product}/"


def why_not(row: MaterialFile | None) -> Sentence:
    """Return why the file of a material is not stored."""
    if row is None:
        return sentence("it is at the platform alone")
    return row.problem or sentence("it is not downloaded yet")
