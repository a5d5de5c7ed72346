"""Delivered materials (A38), generated marketing materials (A40), and their small files.

The address decides which file of `samples/` is returned, so no file is stored. Addresses are stored
as relative and answered as absolute. The id in them is a secret, as in a signed link.
"""

import uuid
import zlib
from pathlib import Path

from sandbox.interface import catalogue
from sandbox.interface.lifecycle import DOCUMENT
from sandbox.wire import Document

MIME_TYPES = {"png": "image/png", "pdf": "application/pdf", "mp4": "video/mp4"}
SUFFIX = {DOCUMENT: "pdf", "VIDEO": "mp4"}
SAMPLES = Path(__file__).parents[1] / "samples"
# The folder of `samples/`: from this table, else the folder of the same name, else by the suffix.
SHOWS = {"instagram": "poster", "linkedin": "poster"}
USUAL = {"png": "house", "mp4": "film"}


def deliver(assignment: Document, quantity: int, at: str) -> list[Document]:
    """Return the materials of an assignment. Each photo is in HD and for the web (A52)."""
    kind = assignment.get("assignmentType", "")
    return [
        make(product, kind, visual_type, number, at)
        for product in assignment["products"]
        for number in range(1, quantity + 1)
        for visual_type in _visual_types(product, kind)
    ]


def make(product: str, kind: str, visual_type: str, number: int, at: str) -> Document:
    """Return one material of a product: a file, or the address of a tour."""
    if kind == "TOUR":
        return _tour(product, visual_type, at)
    name = f"{product.lower().replace('_', '-')}-{number}.{SUFFIX.get(kind, 'png')}"
    return _file(product, visual_type, name, at)


def _visual_types(product: str, kind: str) -> tuple[str, ...]:
    if kind == DOCUMENT:
        return (DOCUMENT,)
    return ("POST", "POST_WEB") if product in catalogue.PHOTO_PRODUCTS else ("POST",)


def _file(product: str, visual_type: str, name: str, at: str) -> Document:
    key = str(uuid.uuid4())
    mime_type = MIME_TYPES[name.rpartition(".")[2]]
    size = "POST_WEB" if visual_type == "POST_WEB" else "POST"
    entry = {
        "id": key,
        "product": product,
        "visualType": visual_type,
        "fileName": name,
        "mimeType": mime_type,
        "size": len(content(key, size, name) or b""),
        "url": f"/files/{key}/{size}/{name}",
        "modifiedAt": at,
    }
    if mime_type == "image/png":
        entry["thumbnailUrl"] = f"/files/{key}/thumbnail/{name}"
    return entry


def _tour(product: str, visual_type: str, at: str) -> Document:
    """Return a tour, which is a page: it has an address and no file (A38)."""
    key = str(uuid.uuid4())
    tour = {"id": key, "product": product, "visualType": visual_type, "url": f"/tours/{key}"}
    return tour | {"modifiedAt": at}


def marketing(property_id: str, target_platform: str, at: str) -> Document:
    """Return one generated marketing material. A brochure is a PDF, and a post is a picture."""
    key = str(uuid.uuid4())
    suffix = "pdf" if target_platform == "REAL_ESTATE_BROCHURE" else "png"
    name = f"{target_platform.lower().replace('_', '-')}-{property_id}.{suffix}"
    return {
        "id": key,
        "targetPlatform": target_platform,
        "fileName": name,
        "mimeType": MIME_TYPES[suffix],
        "url": f"/files/{key}/POST/{name}",
        "createdAt": at,
    }


def content(key: str, size: str, name: str) -> bytes | None:
    """Return the bytes of a file, always the same for one address, or None if there is no file."""
    stem, _, suffix = name.rpartition(".")
    what = stem.rpartition("-")[0]
    for shown in (SHOWS.get(what, what), USUAL.get(suffix, "")):
        if files := FILES.get((shown, size, suffix)):
            return files[zlib.crc32(key.encode("utf-8", "replace")) % len(files)]
    return None


def _samples() -> dict[tuple[str, str, str], list[bytes]]:
    """Return the files of `samples/` by folder, size and suffix."""
    found: dict[tuple[str, str, str], list[bytes]] = {}
    for path in sorted(SAMPLES.glob("*/*-*.*")):
        size, _, _ = path.stem.rpartition("-")
        key = (path.parent.name, size, path.suffix.removeprefix("."))
        found.setdefault(key, []).append(path.read_bytes())
    return found


FILES = _samples()
