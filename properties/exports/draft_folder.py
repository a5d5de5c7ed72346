"""The folder in which an export is written before it is sent."""

import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "crm-sync-export-"
OLD = 24 * 3600  # seconds; no download takes so long


def make() -> "tempfile.TemporaryDirectory[str]":
    """Return a new folder that is removed at its end, and remove those that a killed web left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _seconds_since(folder) > OLD:
            shutil.rmtree(folder, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=PREFIX)


def _seconds_since(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except FileNotFoundError:  # another export has just ended
        return 0.0
