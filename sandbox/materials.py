"""What was delivered (A38), generated marketing materials (A40), and small files behind them.

A file is drawn from its address alone, so none is stored. Addresses are kept relative and become
absolute in the answer; the id in them is a secret, as in a signed link.
"""

from __future__ import annotations

import struct
import uuid
import zlib

from sandbox import catalogue
from sandbox.lifecycle import DOCUMENT
from sandbox.wire import Document

MIME_TYPES = {"png": "image/png", "pdf": "application/pdf", "mp4": "video/mp4"}
SIZES = {"POST": (96, 64), "POST_WEB": (48, 32), "thumbnail": (24, 16)}
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
    match name.rpartition(".")[2]:
        case "png":
            return png(*SIZES[size], colour=zlib.crc32(key.encode()))
        case "pdf":
            return pdf(name)
        case "mp4":
            # The head of a video and nothing to play: no codec comes with the standard library.
            return struct.pack(">I4s4sI4s", 20, b"ftyp", b"isom", 512, b"isom")
    return None


def png(width: int, height: int, *, colour: int) -> bytes:
    """A picture that fades from a colour to dark, row by row."""
    red, green, blue = colour >> 16 & 255, colour >> 8 & 255, colour & 255
    rows = bytearray()
    for row in range(height):
        shade = 256 - row * 192 // height
        pixel = bytes((red * shade >> 8, green * shade >> 8, blue * shade >> 8))
        rows += b"\0" + pixel * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
        for tag, data in parts
    )


def pdf(title: str) -> bytes:
    """One page with one line of text."""
    line = title.encode("ascii", "replace").translate(None, b"()\\")
    stream = b"BT /F1 18 Tf 72 720 Td (" + line + b") Tj ET"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
    )
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)
