"""What an export writes on the disk goes at its end, and what a killed web left goes some day."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from properties.exports import draft_folder


def test_a_folder_goes_at_its_end_and_one_that_was_left_goes_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, under_way, foreign = (
        tmp_path / name
        for name in (f"{draft_folder.PREFIX}a", f"{draft_folder.PREFIX}b", "export-of-others")
    )
    for one in (left, under_way, foreign):
        one.mkdir()
        (one / "properties.xml").write_text("<openimmo>")
    for one in (left, foreign):
        os.utime(one, (time.time() - draft_folder.OLD - 1,) * 2)
    with draft_folder.make() as made:
        assert Path(made).parent == tmp_path
        assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted([under_way, foreign])
