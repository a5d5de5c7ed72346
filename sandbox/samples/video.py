"""A short film that players can play, made with the standard library alone; pure.

H.264 knows a way to store a picture as it is, without compression (I_PCM, ITU-T H.264, 7.3.5):
some bits of headers, then the bytes of each block of 16 by 16. The file around it is ISO/IEC
14496-12. Three pictures, a second each.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from sandbox.samples.drawing import Canvas, house

WIDTH, HEIGHT = 240, 160  # whole blocks
PICTURES, SECOND = 3, 1000
_IDENTITY = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


@lru_cache(maxsize=16)
def clip(variant: int) -> bytes:
    """An MP4 file."""
    shown = [house(WIDTH, HEIGHT, variant + number) for number in range(PICTURES)]
    frames = [_frame(canvas, number) for number, canvas in enumerate(shown)]
    samples = [struct.pack(">I", len(frame)) + frame for frame in frames]
    kind = _box(b"ftyp", b"isom" + struct.pack(">I", 512) + b"isomavc1mp41")
    start = len(kind) + len(_movie(samples, 0)) + 8
    return kind + _movie(samples, start) + _box(b"mdat", b"".join(samples))


class _Bits:
    """A row of bits that grows, in the codes of H.264, 9.1."""

    def __init__(self, *values: tuple[int, int]) -> None:
        self.text = "".join(f"{value:0{width}b}" for width, value in values)

    def number(self, value: int) -> _Bits:
        """An unsigned number in its Exp-Golomb code."""
        code = f"{value + 1:b}"
        self.text += "0" * (len(code) - 1) + code
        return self

    def flags(self, text: str) -> _Bits:
        self.text += text
        return self

    def take(self) -> bytes:
        """The bits as bytes, filled with zeros."""
        self.text += "0" * (-len(self.text) % 8)
        taken = int(self.text or "0", 2).to_bytes(len(self.text) // 8, "big")
        self.text = ""
        return taken


def _sequence() -> bytes:
    """The sequence parameter set (7.3.2.1): baseline, level 3, one reference, whole frames."""
    bits = _Bits((8, 0x67), (8, 66), (8, 0xC0), (8, 30))
    for value in (0, 0, 2, 1):
        bits.number(value)
    bits.flags("0").number(WIDTH // 16 - 1).number(HEIGHT // 16 - 1)
    return bits.flags("11001").take()


def _picture_set() -> bytes:
    """The picture parameter set (7.3.2.2); the filter between blocks can be switched off."""
    bits = _Bits((8, 0x68)).number(0).number(0).flags("00")
    bits.number(0).number(0).number(0).flags("000")
    return bits.number(0).number(0).number(0).flags("1001").take()


def _frame(canvas: Canvas, number: int) -> bytes:
    """A picture that stands alone (7.3.3): its header, then block after block."""
    bits = _Bits((8, 0x65)).number(0).number(7).number(0).flags("0000").number(number % 2)
    bits.flags("00").number(0).number(1)
    luma, blue, red = _planes(canvas)
    out = bytearray()
    for top in range(0, HEIGHT, 16):
        for left in range(0, WIDTH, 16):
            out += bits.number(25).take()  # mb_type I_PCM, aligned
            out += b"".join(luma[top + row][left : left + 16] for row in range(16))
            for plane in (blue, red):
                rows = range(top // 2, top // 2 + 8)
                out += b"".join(plane[row][left // 2 : left // 2 + 8] for row in rows)
    return bytes(out + b"\x80")


def _planes(canvas: Canvas) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Brightness of each pixel and two colours of each four, from 16 up (so never a zero byte)."""
    luma = [
        bytes((66 * r + 129 * g + 25 * b + 4224) >> 8 for r, g, b in _pixels(row))
        for row in canvas.rows
    ]
    fewer = [list(_pixels(row))[::2] for row in canvas.rows[::2]]
    blue = [bytes((-38 * r - 74 * g + 112 * b + 32896) >> 8 for r, g, b in row) for row in fewer]
    red = [bytes((112 * r - 94 * g - 18 * b + 32896) >> 8 for r, g, b in row) for row in fewer]
    return luma, blue, red


def _pixels(row: bytearray) -> zip[tuple[int, int, int]]:
    return zip(row[::3], row[1::3], row[2::3], strict=True)


def _box(kind: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I", len(content) + 8) + kind + content


def _full(kind: bytes, *parts: bytes, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)


def _movie(samples: list[bytes], start: int) -> bytes:
    """The table of contents; `start` is where the first sample lies in the file."""
    length = len(samples) * SECOND
    head = struct.pack(">IIIIIHHII", 0, 0, SECOND, length, 0x10000, 0x100, 0, 0, 0)
    track = struct.pack(">IIIIIIIhhhH", 0, 0, 1, 0, length, 0, 0, 0, 0, 0, 0) + _IDENTITY
    sizes = struct.pack(f">II{len(samples)}I", 0, len(samples), *map(len, samples))
    table = _box(
        b"stbl",
        _full(b"stsd", struct.pack(">I", 1), _entry()),
        _full(b"stts", struct.pack(">III", 1, len(samples), SECOND)),
        _full(b"stsc", struct.pack(">IIII", 1, 1, len(samples), 1)),
        _full(b"stsz", sizes),
        _full(b"stco", struct.pack(">II", 1, start)),
    )
    here = _full(b"dref", struct.pack(">I", 1), _full(b"url ", flags=1))
    media = _box(
        b"mdia",
        _full(b"mdhd", struct.pack(">IIIIHH", 0, 0, SECOND, length, 0x55C4, 0)),
        _full(b"hdlr", struct.pack(">I4s12x", 0, b"vide"), b"Video\0"),
        _box(b"minf", _full(b"vmhd", bytes(8), flags=1), _box(b"dinf", here), table),
    )
    shown = _full(b"tkhd", track + struct.pack(">II", WIDTH << 16, HEIGHT << 16), flags=3)
    movie = _full(b"mvhd", head + _IDENTITY + bytes(24) + struct.pack(">I", 2))
    return _box(b"moov", movie, _box(b"trak", shown, media))


def _entry() -> bytes:
    sequence, picture = _sequence(), _picture_set()
    decoder = bytes((1, 66, 0xC0, 30, 0xFF, 0xE1)) + struct.pack(">H", len(sequence)) + sequence
    decoder += b"\1" + struct.pack(">H", len(picture)) + picture
    size = struct.pack(">HH", WIDTH, HEIGHT)
    resolution = struct.pack(">IIIH32xHh", 0x480000, 0x480000, 0, 1, 24, -1)
    head = struct.pack(">6xH16x", 1) + size + resolution
    return _box(b"avc1", head, _box(b"avcC", decoder))
