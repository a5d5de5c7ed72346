"""Make a picture smaller for a target that wants no edge longer than so many pixels."""

import hashlib
import threading
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

from PIL import ExifTags, Image, ImageOps

from crm_sync.sentence import sentence
from orders.targets.put.target_connection import Readable
from properties.sources.fetch.transfer import rejected

FORMATS = {"image/jpeg": "JPEG", "image/png": "PNG", "image/webp": "WEBP"}
PIXELS = 100_000_000  # of a picture that is read: 300 MB in memory
QUALITY = 90  # of JPEG and WebP
IN_MEMORY = 16 * 1024 * 1024  # bytes of the result; a longer one goes to the disk
_one_at_a_time = threading.Lock()  # in a process, so that its memory is limited


@dataclass(frozen=True)
class Picture:
    """The bytes that are sent: their number, and their SHA-256 in hexadecimal digits."""

    file: Readable
    size: int
    digest: str


def shrunk(file: IO[bytes], content_type: str, edge: int) -> Picture | None:
    """Return a picture with no edge longer than `edge`, or None if it is sent as it is.

    It keeps its type, its colour profile and its other data, and is turned as its data says.

    Raises:
        RejectedError: it cannot be read, or has too many pixels.
        OSError: the storage or the disk fails.
    """
    if content_type not in FORMATS:
        return None
    try:
        with _one_at_a_time, Image.open(file, formats=[FORMATS[content_type]]) as image:
            if max(image.size) <= edge:
                return None
            if image.width * image.height > PIXELS:
                raise rejected(sentence("the picture has more than %(most)s pixels", most=PIXELS))
            return _smaller(image, FORMATS[content_type], edge)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the storage or of the disk
            raise
        raise rejected(sentence("the picture cannot be read, so not made smaller")) from error


def _smaller(image: Image.Image, kind: str, edge: int) -> Picture:
    profile = image.info.get("icc_profile")
    image.draft("RGB", (edge, edge))  # a JPEG is read with fewer pixels, but never too few
    image.load()
    turned, exif = _turned(image)
    turned.thumbnail((edge, edge), Image.Resampling.LANCZOS)
    made = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - who sends it reads it
    turned.save(made, kind, quality=QUALITY, icc_profile=profile, exif=exif)
    size = made.tell()
    made.seek(0)
    digest = hashlib.file_digest(made, "sha256").hexdigest()
    made.seek(0)
    return Picture(made, size, digest)


def _turned(image: Image.Image) -> tuple[Image.Image, bytes]:
    """Return a picture, turned as its data says, and its other data; b"" if some of it is wrong.

    Pillow reads what a camera wrote wrong, such as a number for a name, but cannot write it.
    """
    try:
        turned = ImageOps.exif_transpose(image)
        return turned, turned.getexif().tobytes()
    except Exception:  # noqa: BLE001 - of many kinds, from within Pillow
        bare = image.copy()
        bare.info.pop("exif", None)
        orientation = ExifTags.Base.Orientation
        bare.getexif()[orientation] = image.getexif().get(orientation, 1)
        return ImageOps.exif_transpose(bare), b""
