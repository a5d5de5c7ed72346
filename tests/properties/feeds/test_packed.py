"""A ZIP or a gzip file with a feed is taken by the command and by an upload as by a source."""

import gzip
import io
import tempfile
import zipfile

import pytest

from properties.models import Import, Property
from tests.properties.feeds.idx_lines import line
from tests.properties.test_commands import run
from tests.properties.uploaded import fresh, texts, upload, work

FEED = "".join(line(ref_object=f"R-{n}") + "\r\n" for n in (1, 2)).encode("latin-1")
PICTURES = [f"images/{n}.jpg" for n in range(7)]
BESIDE = (
    "unload.txt is read, and left out of what is packed with it: images/0.jpg, images/1.jpg,"
    " images/2.jpg, images/3.jpg, images/4.jpg and 2 more"
)
NO_FEED = "the ZIP holds neither data/unload.txt nor another feed"
State = Import.State


def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, FEED if name.endswith(".txt") else b"\xff\xd8")
    return made.getvalue()


def known() -> list[str | None]:
    return sorted(Property.objects.values_list("object_reference_id", flat=True))


def test_the_command_takes_a_zip_with_its_pictures_and_names_what_it_leaves(
    main, tmp_path, capsys, monkeypatch
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    path = tmp_path / "out.zip"
    path.write_bytes(zipped("data/unload.txt", *PICTURES))
    code, out, _ = run(capsys, "import_properties", "main", path)
    assert (code, known()) == (0, ["R-1", "R-2"])
    assert f"warning   {BESIDE}" in out
    code, out, _ = run(capsys, "import_properties", "main", path)
    assert (code, "nothing has changed: the same feed was imported on" in out) == (0, True)
    assert list(scratch.iterdir()) == []


def test_the_command_takes_a_gzip_file(main, tmp_path, capsys):
    path = tmp_path / "unload.txt.gz"
    path.write_bytes(gzip.compress(FEED))
    assert run(capsys, "import_properties", "main", path)[0] == 0
    assert known() == ["R-1", "R-2"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zipped("readme.md", *PICTURES), NO_FEED),
        (zipped("a/data/unload.txt", "b/data/unload.txt"), "the ZIP holds several feeds"),
        (zipped("data/unload.txt")[:60], "the ZIP breaks off: it has no list of its files"),
        (gzip.compress(FEED)[:-20], "it is damaged or breaks off"),
    ],
    ids=["no feed", "several", "cut ZIP", "cut gzip"],
)
def test_what_holds_no_feed_is_named_and_not_imported(main, tmp_path, capsys, content, reason):
    path = tmp_path / "out.zip"
    path.write_bytes(content)
    code, _, error = run(capsys, "import_properties", "main", path)
    assert (code, known()) == (1, [])
    assert f"out.zip: {reason}" in error
    assert error.rstrip().endswith("nothing was imported")


@pytest.mark.usefixtures("data_dir")
def test_an_upload_is_unpacked_and_what_is_left_of_it_is_named(main, admin_user, data_dir):
    packed = zipped("data/unload.txt", *PICTURES)
    row = upload(main, admin_user, packed, name="out.zip", released=True)
    assert texts(fresh(row).preview["warnings"]) == [BESIDE]
    assert fresh(row).path.read_bytes() == FEED
    while fresh(row).state == State.RUNNING:
        work(row)
    assert (fresh(row).state, texts(fresh(row).report["warnings"])) == (State.DONE, [BESIDE])
    assert known() == ["R-1", "R-2"]
    assert list((data_dir / "imports").glob("*.feed")) == []
    assert work(row) == "file removed"
    assert list((data_dir / "imports").iterdir()) == []


@pytest.mark.usefixtures("data_dir")
def test_an_upload_without_a_feed_in_it_fails_with_its_reason(main, admin_user):
    row = upload(main, admin_user, zipped(*PICTURES), name="out.zip")
    assert work(row) == State.FAILED
    assert fresh(row).problem == f"out.zip: {NO_FEED}"
