"""What was delivered (A38), generated marketing materials (A40), and small files behind them.

A file is drawn from its address alone (see `drawing` and `video`), so none is stored. Addresses are
kept relative and become absolute in the answer; the id in them is a secret, as in a signed link.
"""

from __future__ import annotations

import uuid
import zlib
from functools import lru_cache

from sandbox.interface import catalogue
from sandbox.interface.lifecycle import DOCUMENT
from sandbox.samples import drawing, video
from sandbox.wire import Document

MIME_TYPES = {"png": "image/png", "pdf": "application/pdf", "mp4": "video/mp4"}
SIZES = {"POST": (720, 480), "POST_WEB": (360, 240), "thumbnail": (96, 64)}
SUFFIX = {DOCUMENT: "pdf", "VIDEO": "mp4"}


def deliver(assignment: Document, quantity: int, at: str) -> list[Document]:
    """The materials of an assignment: for photos each picture in HD and for the web (A52)."""
    made: list[Document] = []
    for product in assignment["products"]:
        kind = assignment.get("assignmentType", "")
        for number in range(1, quantity + 1):
            if kind == "TOUR":
                made.append(_tour(product, at))
                continue
            for visual_type in _visual_types(product, kind):
                name = f"{product.lower().replace('_', '-')}-{number}"
                made.append(_file(product, visual_type, f"{name}.{SUFFIX.get(kind, 'png')}", at))
    return made


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


def _tour(product: str, at: str) -> Document:
    """A tour is a page: it has an address and no file (A38)."""
    key = str(uuid.uuid4())
    tour = {"id": key, "product": product, "visualType": "POST", "url": f"/tours/{key}"}
    return tour | {"modifiedAt": at}


def marketing(property_id: str, target_platform: str, at: str) -> Document:
    """One generated marketing material: a brochure is a PDF, a post is a picture."""
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
    """The bytes behind a file's address; None when there is no such file."""
    if size not in SIZES:
        return None
    stem, _, suffix = name.rpartition(".")
    variant = zlib.crc32(key.encode("utf-8", "replace")) % drawing.VARIANTS
    match suffix:
        case "png":
            return _picture(stem, size, variant)
        case "pdf":
            return _paper(stem, variant)
        case "mp4":
            return video.clip(variant)
    return None


def _picture(stem: str, size: str, variant: int) -> bytes:
    kinds = [kind for begins, kind in _DRAWN.items() if stem.startswith(begins)]
    return _drawn(kinds[0] if kinds else "house", size, variant)


_DRAWN = {"floor-plan": "plan", "instagram": "poster", "linkedin": "poster"}


@lru_cache(maxsize=128)
def _drawn(kind: str, size: str, variant: int) -> bytes:
    width, height = SIZES[size]
    match kind:
        case "plan":
            return drawing.floor_plan(width, height, variant).png()
        case "poster":
            return drawing.poster(height, variant).png()
    return drawing.house(width, height, variant).png()


def _paper(stem: str, variant: int) -> bytes:
    title = stem.replace("-", " ").capitalize()
    brochure = stem.startswith("real-estate-brochure")
    picture = drawing.house(*SIZES["POST_WEB"], variant) if brochure else None
    return drawing.pdf(
        title, ("Made by the sandbox of the platform.", "No true document."), picture
    )
