"""A folder that may be a target, and the storage of the files."""

from pathlib import Path

import pytest


@pytest.fixture
def crm(settings, tmp_path, folder) -> Path:
    """Return the folder of another system, which may be written."""
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1", "localhost"]
    there = tmp_path / "crm"
    there.mkdir()
    settings.TARGET_FOLDERS = [str(there)]
    return there
