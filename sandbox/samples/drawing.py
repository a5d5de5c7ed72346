"""Small pictures and papers, drawn with the standard library alone; pure.

A picture is drawn from a number, so that the same address always shows the same picture.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import lru_cache

Colour = tuple[int, int, int]

SKIES: tuple[Colour, ...] = ((126, 176, 226), (154, 190, 214), (236, 178, 128), (104, 150, 206))
FRONTS: tuple[Colour, ...] = ((238, 228, 206), (222, 206, 190), (246, 244, 238), (206, 180, 150))
ROOFS: tuple[Colour, ...] = ((154, 74, 56), (92, 88, 92), (122, 92, 66), (66, 74, 88))
VARIANTS = len(SKIES) * 2
LAWN, DOOR, GLASS, FRAME, SUN = (104, 146, 82), (86, 62, 48), (70, 98, 122), (250, 250, 250), 250
PAPER, INK, THIN, FLOOR = (255, 255, 255), (38, 40, 44), (150, 156, 164), (246, 242, 234)


class Canvas:
    """Rows of pixels. Places are parts of the width and the height: any size looks alike."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.width, self.height = width, height
        self.rows = [bytearray(bytes(colour) * width) for _ in range(height)]

    def shape(
        self,
        top: float,
        bottom: float,
        edges: Callable[[float], tuple[float, float]],
        colour: Colour,
    ) -> None:
        """Fill from `top` to `bottom` between the edges, which are told the part of the way."""
        first, last = round(top * self.height), round(bottom * self.height)
        for row in range(max(0, first), min(self.height, max(last, first + 1))):
            left, right = edges((row - first) / max(1, last - first - 1))
            start, end = (
                max(0, round(left * self.width)),
                min(self.width, round(right * self.width)),
            )
            end = max(end, start + 1)  # a thin line stays one in a small picture
            self.rows[row][start * 3 : end * 3] = bytes(colour) * (end - start)
            del self.rows[row][self.width * 3 :]

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        self.shape(top, bottom, lambda part: (left, right), colour)

    def gable(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """A triangle that stands on its base."""
        middle, half = (left + right) / 2, (right - left) / 2
        self.shape(top, bottom, lambda part: (middle - half * part, middle + half * part), colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A circle; `radius` is a part of the height."""
        flat = radius * self.height / self.width

        def edges(part: float) -> tuple[float, float]:
            half = flat * (1 - (2 * part - 1) ** 2) ** 0.5
            return x - half, x + half

        self.shape(y - radius, y + radius, edges, colour)

    def fade(self, bottom: float, top_colour: Colour) -> None:
        """From a colour at the top to nearly white."""
        rows = round(bottom * self.height)
        for row in range(rows):
            part = row / rows
            light = bytes(round(one + (245 - one) * part) for one in top_colour)
            self.rows[row][:] = light * self.width

    def pixels(self) -> bytes:
        return b"".join(self.rows)

    def png(self) -> bytes:
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        rows = b"".join(b"\0" + row for row in self.rows)
        parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
            for tag, data in parts
        )


@lru_cache(maxsize=64)
def house(width: int, height: int, variant: int) -> Canvas:
    """A house under the sky: what a photo product delivers."""
    look, mirrored = variant % len(SKIES), variant // len(SKIES) % 2 == 1
    canvas = Canvas(width, height, LAWN)
    canvas.fade(0.74, SKIES[look])
    canvas.disc(0.14 if mirrored else 0.86, 0.2, 0.07, (SUN, 236, 190))
    canvas.gable(-0.2, 0.5, 0.5, 0.74, (146, 168, 142))
    canvas.gable(0.4, 0.55, 1.2, 0.74, (128, 156, 130))
    canvas.box(0.26, 0.42, 0.78, 0.84, FRONTS[look])
    canvas.gable(0.2, 0.2, 0.84, 0.43, ROOFS[look])
    canvas.box(0.64, 0.22, 0.69, 0.36, ROOFS[look])
    for column in (0.32, 0.61):
        for row in (0.48, 0.66) if column < 0.5 else (0.48,):
            _window(canvas, column, row)
    canvas.box(0.62, 0.64, 0.71, 0.84, DOOR)
    canvas.disc(0.695, 0.75, 0.008, (SUN, 220, 120))
    canvas.shape(0.84, 1, lambda part: (0.62 - part * 0.1, 0.71 + part * 0.1), (206, 198, 184))
    _tree(canvas, 0.9 if mirrored else 0.1)
    return canvas


def _window(canvas: Canvas, left: float, top: float) -> None:
    canvas.box(left - 0.01, top - 0.015, left + 0.13, top + 0.125, FRAME)
    canvas.box(left, top, left + 0.055, top + 0.11, GLASS)
    canvas.box(left + 0.065, top, left + 0.12, top + 0.11, GLASS)


def _tree(canvas: Canvas, x: float) -> None:
    canvas.box(x - 0.012, 0.6, x + 0.012, 0.86, (104, 80, 60))
    for right, y, radius in ((-0.03, 0.56, 0.1), (0.03, 0.52, 0.11), (0, 0.45, 0.1)):
        canvas.disc(x + right, y, radius, (74, 122, 66))


Place = tuple[float, float, float, float]  # left, top, right, bottom

# A flat of four rooms and a hall.
WALLS: tuple[Place, ...] = (
    (0.08, 0.1, 0.92, 0.13),
    (0.08, 0.87, 0.92, 0.9),
    (0.08, 0.1, 0.1, 0.9),
    (0.9, 0.1, 0.92, 0.9),
    (0.52, 0.1, 0.535, 0.5),
    (0.08, 0.5, 0.92, 0.52),
    (0.36, 0.52, 0.375, 0.9),
    (0.66, 0.52, 0.675, 0.9),
)
DOORS: tuple[Place, ...] = (
    (0.42, 0.5, 0.5, 0.52),
    (0.57, 0.5, 0.65, 0.52),
    (0.36, 0.56, 0.375, 0.68),
    (0.66, 0.56, 0.675, 0.68),
    (0.47, 0.87, 0.56, 0.9),
)
WINDOWS: tuple[Place, ...] = (
    (0.2, 0.1, 0.4, 0.13),
    (0.62, 0.1, 0.82, 0.13),
    (0.9, 0.62, 0.92, 0.78),
    (0.08, 0.62, 0.1, 0.78),
)
# A bed, a table, a shelf, a sofa, a bath.
THINGS: tuple[Place, ...] = (
    (0.6, 0.18, 0.78, 0.4),
    (0.2, 0.24, 0.34, 0.36),
    (0.13, 0.16, 0.17, 0.42),
    (0.13, 0.58, 0.22, 0.8),
    (0.78, 0.58, 0.88, 0.66),
)


@lru_cache(maxsize=64)
def floor_plan(width: int, height: int, variant: int) -> Canvas:
    """The plan of a flat: walls, doors that open, windows, furniture; some are mirrored."""
    canvas = Canvas(width, height, PAPER)

    def box(place: Place, colour: Colour) -> None:
        left, top, right, bottom = place
        sides = (1 - right, 1 - left) if variant % 2 else (left, right)
        canvas.box(sides[0], top, sides[1], bottom, colour)

    box((0.08, 0.1, 0.92, 0.9), FLOOR)
    for place in WALLS:
        box(place, INK)
    for place in DOORS:
        box(place, FLOOR)
    for left, _, right, bottom in DOORS[:2]:
        box((left, bottom, left + 0.005, bottom + (right - left) * width / height), INK)
    for place in WINDOWS:
        box(place, (176, 206, 226))
    for left, top, right, bottom in THINGS:
        box((left, top, right, bottom), THIN)
        box((left + 0.006, top + 0.009, right - 0.006, bottom - 0.009), PAPER)
    box((0.08, 0.95, 0.28, 0.958), INK)  # the scale
    return canvas


@lru_cache(maxsize=16)
def poster(side: int, variant: int) -> Canvas:
    """A square post for a social network: the house, and a band for its title."""
    canvas = Canvas(side, side, PAPER)
    picture = house(side, side * 2 // 3, variant)
    canvas.rows[: picture.height] = [bytearray(row) for row in picture.rows]
    canvas.box(0, 0.667, 1, 1, ROOFS[variant % len(ROOFS)])
    for top, right in ((0.75, 0.7), (0.81, 0.5), (0.89, 0.3)):
        canvas.box(0.08, top, right, top + 0.025, PAPER)
    return canvas


@lru_cache(maxsize=256)
def pdf(title: str, lines: tuple[str, ...], picture: Canvas | None = None) -> bytes:
    """One page: a title, lines of text, and a picture below them."""
    page = b"BT /F1 22 Tf 60 770 Td (" + _text(title) + b") Tj /F1 11 Tf 0 -30 Td 16 TL "
    page += b" ".join(b"(" + _text(line) + b") Tj T*" for line in lines) + b" ET"
    more: tuple[bytes, ...] = ()
    if picture:
        page += b" q 475 0 0 %d 60 300 cm /P1 Do Q" % (475 * picture.height // picture.width)
        data = zlib.compress(picture.pixels())
        size = (picture.width, picture.height, len(data))
        more = (
            b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceRGB"
            b"/BitsPerComponent 8/Filter/FlateDecode/Length %d>>stream\n"
            % size
            + data
            + b"\nendstream",
        )
    images = b"/XObject<</P1 5 0 R>>" if picture else b""
    return _paper(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<<" + images + b""
        b"/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(page), page),
        *more,
    )


def _text(line: str) -> bytes:
    return line.encode("ascii", "replace").translate(None, b"()\\")


def _paper(*objects: bytes) -> bytes:
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
