"""An export with pictures is a ZIP: the feed, and the stored files that it names, and no other."""

import io
import json
import stat
import tracemalloc
import zipfile
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override
from lxml import etree

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.sentence import sentence
from crm_sync.zip_stream import BLOCK
from orders.materials.download import storage
from orders.models import Material, MaterialFile, MaterialSet, PersonSettings
from orders.targets import property_files
from properties.domain.editing import create
from properties.exports import export_zip
from properties.exports.export_report import ExportReport
from properties.exports.export_zip import packed
from properties.feeds import open_feed, unpack
from properties.feeds.openimmo import openimmo_names
from properties.feeds.swissrets import vocabulary
from properties.models import Property
from tests.crm_sync.admin_pages import client_of
from tests.orders.admin_rows import NOW, make_assignment, make_order
from tests.orders.file_server import PNG
from tests.orders.targets.stock import material, store
from tests.problems import noted
from tests.properties.test_commands import run

pytestmark = pytest.mark.django_db
LIST = "/admin/properties/property/"
JPEG = b"\xff\xd8\xff"
FORMATS = pytest.mark.parametrize("suffix", [".json", ".xml"])
numbers = count(7000)


def make_home(workspace: Workspace, reference: str = "R-1", **changes: Any) -> Property:
    texts = [{"languageCode": "de", "title": "Haus"}]
    full = {"localizations": texts, "offerType": "RENT", "availabilityState": "ACTIVE"}
    full |= {"title": "Haus", "virtualTourLinks": [{"url": "https://tours.test/1"}]}
    return create(workspace, reference, full | changes, origin="ADMIN", now=timezone.now())


def deliver(
    home: Property, product: str = "GROUND_PHOTO", visual_type: str = "POST", **columns: Any
) -> MaterialSet:
    """Make a delivered order of a property, with a set of materials."""
    number = next(numbers)
    order = make_order(home.workspace, f"{number}", real_estate_property=home)
    kind = columns.pop("assignment_type", "PHOTO")
    return MaterialSet.objects.create(
        workspace=home.workspace,
        order=order,
        assignment=make_assignment(order, f"a{number}", products=[product], assignment_type=kind),
        product=product,
        visual_type=visual_type,
        **({"ready_at": NOW, "fetched_at": NOW} | columns),
    )


def with_photo(home: Property, body: bytes = b"", name: str = "front", **columns: Any) -> Material:
    one = material(deliver(home), f"{name}-{next(numbers)}", file_name=f"{name}.jpg", **columns)
    store(one, JPEG + body, want=False)
    return one


def export(client: Client, suffix: str, chosen: list[Property]) -> Any:
    keys = [row.pk for row in chosen]
    data = {"action": f"export_{suffix[1:]}_zip", "_selected_action": keys}
    return client.post(LIST, data)


def opened(response: Any) -> zipfile.ZipFile:
    whole = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    assert whole.testzip() is None
    return whole


def command(capsys: Any, path: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    code, out, error = run(capsys, "export_properties", "main", path, "--pictures", "--json", *more)
    return code, json.loads(out) if out else {}, error


def named(whole: zipfile.ZipFile, suffix: str) -> dict[str, list[tuple[str, str]]]:
    """Return what the feed of a ZIP says of the files of each property: the group and the name."""
    feed = whole.read(f"properties{suffix}")
    if suffix == ".json":
        return {
            record["referenceId"]: [
                (group, one["url"])
                for group, some in record["localizations"][0].get("attachments", {}).items()
                for one in some
            ]
            for record in json.loads(feed)["properties"]
        }
    space = {"o": "http://www.openimmo.de"}
    return {
        home.findtext("o:verwaltung_techn/o:objektnr_extern", namespaces=space): [
            (one.get("gruppe"), one.findtext("o:daten/o:pfad", namespaces=space))
            for one in home.iterfind("o:anhaenge/o:anhang", space)
        ]
        for home in etree.fromstring(feed).iter("{*}immobilie")
    }


@pytest.fixture
def home(main, folder) -> Property:
    return make_home(main)


# --- what is in the ZIP ---
def test_openimmo_names_each_file_with_its_group_and_the_first_photo_is_the_title(boss, home):
    photos = deliver(home)
    for name in ("a", "b"):
        store(material(photos, name), JPEG + name.encode(), want=False)
    plan = material(deliver(home, "FLOOR_PLAN"), "plan", file_name="plan.png")
    store(plan, PNG, "image/png", want=False)
    paper = material(deliver(home, "ENERGY_CERTIFICATE", "DOCUMENT"), "p", file_name="p.pdf")
    store(paper, b"%PDF-1", "application/pdf", want=False)
    whole = opened(export(boss, ".xml", [home]))
    assert whole.namelist() == [
        "R-1-ground_photo-01.jpg",
        "R-1-ground_photo-02.jpg",
        "R-1-floor_plan-01.png",
        "R-1-energy_certificate-01.pdf",
        "properties.xml",
    ]
    assert named(whole, ".xml") == {
        "R-1": [
            ("TITELBILD", "R-1-ground_photo-01.jpg"),
            ("BILD", "R-1-ground_photo-02.jpg"),
            ("GRUNDRISS", "R-1-floor_plan-01.png"),
            ("DOKUMENTE", "R-1-energy_certificate-01.pdf"),
            ("PANORAMA", "https://tours.test/1"),
        ]
    }
    assert whole.read("R-1-ground_photo-02.jpg") == JPEG + b"b"
    text = whole.read("properties.xml").decode()
    assert (
        '<anhang location="EXTERN" gruppe="TITELBILD"><anhangtitel>a</anhangtitel>'
        "<format>jpg</format><daten><pfad>R-1-ground_photo-01.jpg</pfad></daten></anhang>"
    ) in text


def test_swissrets_names_each_file_in_its_list_with_title_and_type(boss, home):
    with_photo(home)
    plan = material(deliver(home, "FLOOR_PLAN"), "plan", file_name="plan.pdf")
    store(plan, b"%PDF-1", "application/pdf", want=False)
    whole = opened(export(boss, ".json", [home]))
    (record,) = json.loads(whole.read("properties.json"))["properties"]
    assert record["localizations"][0]["attachments"] == {
        "virtualTourLinks": [{"url": "https://tours.test/1"}],
        "images": [{"url": "R-1-ground_photo-01.jpg", "title": "front", "mimeType": "image/jpeg"}],
        "plans": [{"url": "R-1-floor_plan-01.pdf", "title": "plan", "mimeType": "application/pdf"}],
    }


@pytest.mark.parametrize(
    ("product", "ordered", "content_type", "kind"),
    [
        ("GROUND_PHOTO", "PHOTO", "image/jpeg", "PHOTO"),
        ("RESIDENTIAL_STAGING", "STAGING", "image/png", "PHOTO"),
        ("GROUND_PHOTO", "PHOTO", "application/pdf", "DOCUMENT"),
        ("FLOOR_PLAN", "FLOOR_PLAN", "image/png", "PLAN"),
        ("PLAN_IN_3D", "FLOOR_PLAN", "application/pdf", "PLAN"),
        ("PROPERTY_VIDEO", "VIDEO", "video/mp4", "FILM"),
        ("ENERGY_CERTIFICATE", "DOCUMENT", "image/png", "DOCUMENT"),
        ("GROUND_PHOTO", "PHOTO", "application/zip", "DOCUMENT"),
    ],
)
def test_what_a_file_shows_is_known_by_its_type_and_by_what_was_ordered(
    home, product, ordered, content_type, kind
):
    one = material(deliver(home, product, assignment_type=ordered), "a")
    store(one, JPEG, want=False)
    MaterialFile.objects.update(content_type=content_type)
    (found,) = property_files.find({home.pk: "R-1"})[home.pk].stored
    assert found.kind == kind


def test_each_kind_of_file_has_its_place_in_both_formats():
    kinds = {str(kind) for kind in hooks.FileKind}
    assert openimmo_names.FILES.keys() == vocabulary.FILES.keys() == kinds


def test_a_picture_is_there_once_in_the_better_quality_that_is_stored(boss, home):
    both = deliver(home)
    for name, qualities in {"a": ["POST_WEB", "POST"], "b": ["POST_WEB"]}.items():
        for quality in qualities:
            one = material(both, f"{name}-{quality}", visual_type=quality, file_name=f"{name}.jpg")
            store(one, JPEG + f"{name} {quality}".encode(), want=False)
    waits = material(both, "c", file_name="b.jpg")  # the better version of b, which is not here
    MaterialFile.objects.create(
        workspace=home.workspace, material=waits, role="FILE", due_at=timezone.now()
    )
    whole = opened(export(boss, ".xml", [home]))
    bodies = [whole.read(name) for name in whole.namelist() if name.endswith(".jpg")]
    assert bodies == [JPEG + b"a POST", JPEG + b"b POST_WEB"]


def test_the_newest_version_and_the_newest_order_come_first(boss, home):
    old = with_photo(home, b"first version")
    store(old, JPEG + b"second version", want=False)
    new = material(deliver(home, ready_at=timezone.now()), "new")
    store(new, JPEG + b"new", want=False)
    whole = opened(export(boss, ".xml", [home]))
    bodies = [whole.read(name) for name in whole.namelist()[:-1]]
    assert bodies == [JPEG + b"new", JPEG + b"second version"]


def test_a_version_that_is_replaced_while_the_zip_is_sent_comes_as_the_newer_one(home):
    later = with_photo(home, b"old")
    with_photo(home, b"x" * (2 * BLOCK))
    report = ExportReport()
    pieces = packed("a.xml", Property.objects.all(), [property_files.OF_PROPERTIES], report)
    first = next(pieces)
    old = later.files.get().name
    store(later, JPEG + b"new", want=False)
    storage().delete(old)
    whole = zipfile.ZipFile(io.BytesIO(first + b"".join(pieces)))
    assert (whole.testzip(), report.lacking) == (None, 0)
    assert whole.read("R-1-ground_photo-02.jpg") == JPEG + b"new"


def test_what_was_withdrawn_unedited_or_generated_is_no_part_of_it(boss, home):
    kept = with_photo(home, b"kept")
    with_photo(home, b"withdrawn", withdrawn_at=NOW)
    with_photo(home, b"raw", visual_type="RAW")
    thumbnail = storage().save("t", ContentFile(PNG))
    MaterialFile.objects.create(
        workspace=home.workspace,
        material=kept,
        role="THUMBNAIL",
        name=thumbnail,
        content_type="image/png",
        digest="d",
        stored_at=NOW,
    )
    poster = MaterialSet.objects.create(
        workspace=home.workspace,
        real_estate_property=home,
        property_platform_id="77",
        target_platform="INSTAGRAM",
        ready_at=NOW,
        fetched_at=NOW,
    )
    store(material(poster, "poster"), JPEG + b"poster", want=False)
    tour = material(deliver(home, "VIRTUAL_TOUR"), "tour", file_name="")
    Material.objects.filter(pk=tour.pk).update(url="https://tours.test/2")
    whole = opened(export(boss, ".xml", [home]))
    assert whole.namelist() == ["R-1-ground_photo-01.jpg", "properties.xml"]
    assert whole.read("R-1-ground_photo-01.jpg") == JPEG + b"kept"


@FORMATS
def test_two_properties_never_share_a_name(boss, main, folder, suffix):
    homes = [make_home(main, reference) for reference in ("A/1", "a 1", "A-1", "Ä/1")]
    for row in homes:
        with_photo(row, row.object_reference_id.encode())
    whole = opened(export(boss, suffix, homes))
    names = [name for name in whole.namelist() if name.endswith(".jpg")]
    assert names == [
        "A_1-ground_photo-01.jpg",
        "a_1-ground_photo-02.jpg",
        "A-1-ground_photo-01.jpg",
        "A_1-ground_photo-03.jpg",
    ]
    found = named(whole, suffix)
    for row in homes:
        (mine,) = [name for __, name in found[row.object_reference_id] if name.endswith(".jpg")]
        assert whole.read(mine) == JPEG + row.object_reference_id.encode()


# --- what is not ---
def test_what_is_not_in_it_is_said_in_the_zip_and_the_feed_does_not_name_it(boss, main, home):
    with_photo(home)
    storage().delete(with_photo(home, name="lost").files.get().name)
    folder = with_photo(home, name="unreadable").files.get()
    storage().delete(folder.name)
    (Path(storage().path(folder.name))).mkdir()
    wanted = {"workspace": main, "role": "FILE"}
    ready = deliver(home)
    one = material(ready, "refused", url="https://cdn.test/1")
    problem = sentence("cannot connect")
    MaterialFile.objects.create(material=one, problem=problem, **wanted)
    one = material(ready, "waits", url="https://cdn.test/2")
    MaterialFile.objects.create(material=one, due_at=NOW, **wanted)
    material(ready, "elsewhere", url="https://cdn.test/3")
    nameless = Property.objects.create(workspace=main, platform_id="77")
    odd = make_home(main, "R-2", offerType=None)
    with_photo(odd)
    whole = opened(export(boss, ".json", [home, odd, nameless]))
    assert whole.namelist() == ["R-1-ground_photo-03.jpg", "properties.json", "NOT INCLUDED.log"]
    assert named(whole, ".json") == {
        "R-1": [
            ("virtualTourLinks", "https://tours.test/1"),
            ("images", "R-1-ground_photo-03.jpg"),
        ]
    }
    assert whole.read("NOT INCLUDED.log").decode().split("\r\n") == [
        "R-1: refused: cannot connect",
        "R-1: waits: it is not downloaded yet",
        "R-1: elsewhere: it is at the platform alone",
        "R-1: unreadable: the storage cannot read it",
        "R-1: lost: it is no longer in the storage",
        "platform id 77 was left out: it has no reference of ours",
        "R-2 was left out: type is missing",
        "",
    ]
    told = [str(one) for one in boss.get(LIST).context["messages"]]
    assert told == ["If something is missing in the ZIP, NOT INCLUDED.log in it says what and why."]


def test_the_command_counts_what_is_not_in_it_and_ends_with_3(home, capsys, tmp_path):
    with_photo(home)
    for number in range(25):
        material(deliver(home), f"m{number}", url="https://cdn.test/3")
    path = tmp_path / "all.xml.zip"
    code, report, error = command(capsys, path)
    assert (code, error) == (3, "25 of 26 files are not included")
    assert (report["exported"], report["files"]) == (1, 1)
    assert report["lacking"]["count"] == 25
    assert len(report["lacking"]["first"]) == 20
    reason = "it is at the platform alone"
    assert {"reference": "R-1", "name": "m24", "reason": reason} in report["lacking"]["first"]
    log = zipfile.ZipFile(path).read("NOT INCLUDED.log").decode().splitlines()
    assert len(log) == 25
    lines = run(capsys, "export_properties", "main", path, "--pictures")[1].splitlines()
    assert lines[-2:] == [
        "no file   5 more, which the ZIP names",
        "exported: 1 properties and 1 files to all.xml.zip",
    ]


def test_more_files_than_can_be_read_back_are_named(home, tmp_path, monkeypatch):
    for number in range(6):
        with_photo(home, name=f"n{number}")
    report = ExportReport()
    monkeypatch.setattr(export_zip, "MOST_OF_ONE", 4)
    homes, sources = Property.objects.all(), [property_files.OF_PROPERTIES]
    whole = b"".join(packed("a.xml", homes, sources, report))
    assert (report.files, report.lacking) == (4, 2)
    assert {why for *__, why in report.first_lacking} == {
        "an export holds at most 4 files of a property"
    }
    monkeypatch.setattr(export_zip, "MOST_FILES", 3)
    report = ExportReport()
    whole = b"".join(packed("a.xml", homes, sources, report))
    assert len(zipfile.ZipFile(io.BytesIO(whole)).namelist()) == 3 + 2
    assert {why for *__, why in report.first_lacking} == {
        "the ZIP of an export holds at most 3 files"
    }


def test_a_zip_and_a_property_of_the_most_files_are_read_back():
    longest = len("x" * 180 + "-50000" + ".jpeg") + 46 + 28  # beside the name, in the list of a ZIP
    assert (export_zip.MOST_FILES + 2) * longest < unpack.MOST_NAMES
    assert export_zip.MOST_FILES + 2 <= unpack.MOST_FILES


def test_a_file_that_breaks_off_ends_the_export_and_nothing_is_written(
    home, capsys, tmp_path, settings
):
    with_photo(home, b"x" * (2 * BLOCK))
    half = {"BACKEND": "tests.orders.test_export_pictures.HalfStorage"}
    half["OPTIONS"] = {"location": storage().location}
    settings.STORAGES = settings.STORAGES | {"materials": half}
    path = tmp_path / "out" / "all.xml.zip"
    path.parent.mkdir()
    code, __, error = command(capsys, path)
    assert (code, error) == (
        1,
        "all.xml.zip: R-1-ground_photo-01.jpg broke off: Input/output error; nothing was exported",
    )
    assert list(path.parent.iterdir()) == []


class HalfFile(io.FileIO):
    """A file on a disk that fails behind its first block."""

    def read(self, size: int | None = -1) -> Any:
        if self.tell():
            raise OSError(5, "Input/output error")
        return super().read(size)


class HalfStorage(FileSystemStorage):
    """A storage whose disk fails in the middle of each file."""

    def _open(self, name: str, mode: str = "rb") -> File:
        return File(HalfFile(self.path(name)))


# --- how it comes back ---
@FORMATS
def test_an_export_with_pictures_is_imported_without_a_change(
    main, folder, capsys, tmp_path, suffix
):
    for number in range(3):
        row = make_home(main, f"R-{number}")
        with_photo(row)
        packed_document = material(deliver(row, "FLOOR_PLAN"), f"z{number}", file_name="z.zip")
        store(packed_document, b"PK\x03\x04", want=False)
    MaterialFile.objects.filter(material__file_name="z.zip").update(content_type="application/zip")
    material(deliver(row), "elsewhere", url="https://cdn.test/3")
    before = list(Property.objects.order_by("pk").values_list("desired", "revision"))
    path = tmp_path / f"all{suffix}.zip"
    assert command(capsys, path)[0] == 3
    assert len(zipfile.ZipFile(path).namelist()) == 3 * 2 + 2
    code, out, __ = run(capsys, "import_properties", "main", path, "--json")
    printed = json.loads(out)
    assert code == 0
    assert (printed["new"], printed["changed"], printed["refused"]) == ([], {}, [])
    assert len(printed["unchanged"]) == 3
    assert list(Property.objects.order_by("pk").values_list("desired", "revision")) == before


@FORMATS
def test_what_the_feed_says_beside_the_files_is_what_the_export_without_them_says(
    main, folder, capsys, tmp_path, suffix
):
    with_photo(make_home(main))
    make_home(main, "R-2", localizations=None, title="Loft")
    command(capsys, tmp_path / f"all{suffix}.zip")
    run(capsys, "export_properties", "main", tmp_path / f"plain{suffix}")
    feed = tmp_path / f"feed{suffix}"
    feed.write_bytes(zipfile.ZipFile(tmp_path / f"all{suffix}.zip").read(f"all{suffix}"))
    found, plain = list(open_feed(feed)), list(open_feed(tmp_path / f"plain{suffix}"))
    assert [one.document for one in found[:2]] == [one.document for one in plain[:2]]
    beside = [path for path in found[0].leftover if "anhang" in path or "images" in path]
    assert len(beside) == 1


# --- who gets it, and how ---
@pytest.mark.rule("S17")
def test_who_may_not_see_orders_gets_no_file_and_is_not_offered_any(home):
    with_photo(home)
    looking = client_of("properties.view_property")
    assert "with pictures" not in looking.get(LIST).content.decode()
    answer = export(looking, ".xml", [home])
    assert (answer.status_code, answer.streaming) == (302, False)
    assert noted() == []
    seeing = client_of("properties.view_property", "orders.view_order")
    assert "Export as OpenImmo XML with pictures" in seeing.get(LIST).content.decode()
    assert len(opened(export(seeing, ".xml", [home])).namelist()) == 2
    assert noted() == ["Exported 1 property as XML with pictures."]


@pytest.mark.rule("S12")
def test_who_is_in_another_workspace_gets_nothing(home):
    with_photo(home)
    client = client_of("properties.view_property", "orders.view_order")
    person = User.objects.get()
    person.user_permissions.remove(Permission.objects.get(codename="all_workspaces"))
    answer = export(client, ".xml", [home])
    assert not answer.streaming
    person.workspaces.add(home.workspace)
    assert len(opened(export(client, ".xml", [home])).namelist()) == 2


def test_one_zip_holds_one_workspace(boss, home):
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    answer = export(boss, ".xml", [home, make_home(other)])
    assert answer.status_code == 302
    told = [str(one) for one in boss.get(LIST).context["messages"]]
    assert told == ["One file holds one workspace: narrow the list to one first."]


def test_the_answer_is_a_zip_that_nobody_keeps(boss, home):
    answer = export(boss, ".json", [home])
    name = f"properties-{home.workspace.slug}-{timezone.now():%Y-%m-%d}.zip"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer["Content-Type"] == "application/zip"
    assert "no-store" in answer["Cache-Control"]
    assert opened(answer).namelist() == ["properties.json"]


def test_who_leaves_leaves_nothing_behind(boss, home, tmp_path, monkeypatch):
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(drafts))
    for number in range(3):
        with_photo(home, b"x" * (3 * BLOCK), name=f"{number}")
    answer = export(boss, ".xml", [home])
    next(iter(answer.streaming_content))
    assert list(drafts.iterdir())
    answer.close()
    assert list(drafts.iterdir()) == []


def test_the_file_of_the_command_is_readable_by_its_user_alone(home, capsys, tmp_path):
    with_photo(home)
    path = tmp_path / "one.XML.zip"
    code, report, __ = command(capsys, path, "--reference", "R-1")
    assert (code, report["exported"], report["files"], report["lacking"]["count"]) == (0, 1, 1, 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert zipfile.ZipFile(path).namelist() == ["R-1-ground_photo-01.jpg", "one.xml"]


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        ("a.xml", ["--pictures"], "must end with .json.zip, .xml.zip with --pictures"),
        ("a.zip", ["--pictures"], "must end with .json.zip, .xml.zip with --pictures"),
        ("a.csv.zip", ["--pictures"], "must end with .json.zip, .xml.zip with --pictures"),
        ("a.xml.zip", [], "must end with .csv, .json, .xlsx, .xml"),
    ],
)
def test_a_name_says_the_format_or_nothing_is_written(home, capsys, tmp_path, name, more, told):
    code, __, error = run(capsys, "export_properties", "main", tmp_path / name, *more)
    assert (code, error) == (2, f"{name}: the name {told}")
    assert list(tmp_path.glob(f"*{name}")) == []


def test_the_text_in_the_zip_is_in_the_language_of_the_reader(boss, home, settings):
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    material(deliver(home), "fern", url="https://cdn.test/3")
    PersonSettings.objects.create(person_id=boss.session["_auth_user_id"], language="de")
    answer = export(boss, ".xml", [home])
    with override("fr"):  # that of a later request, while the bytes are read
        whole = opened(answer)
    (name,) = [one for one in whole.namelist() if one.endswith(".log")]
    assert name == "NICHT ENTHALTEN.log"
    assert whole.read(name).decode() == "R-1: fern: nur auf der Plattform vorhanden\r\n"


# --- many, large, and odd ---
@pytest.mark.once
def test_ten_times_the_files_take_the_same_memory(home):
    def peak() -> tuple[int, int]:
        report = ExportReport()
        tracemalloc.start()
        size = sum(
            map(
                len, packed("a.xml", Property.objects.all(), [property_files.OF_PROPERTIES], report)
            )
        )
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert report.lacking == 0
        return size, found

    with_photo(home, b"x" * 8_000_000)
    peak()  # what a process loads with its first export is none of it
    size, one = peak()
    for number in range(9):
        with_photo(
            home if number % 2 else make_home(home.workspace, f"S-{number}"), b"x" * 8_000_000
        )
    sizes, ten = peak()
    assert (size > 8_000_000, sizes > 80_000_000) == (True, True)
    assert max(one, ten) < 3_000_000


def test_ten_times_the_properties_take_no_more_than_a_few_queries_each_chunk(main, folder):
    def queries() -> int:
        report = ExportReport()
        homes = Property.objects.all()
        with CaptureQueriesContext(
            connection,
        ) as found:
            for __ in packed("a.json", homes, [property_files.OF_PROPERTIES], report):
                pass
        assert report.files == 2 * report.exported == 2 * Property.objects.count()
        return len(found)

    for number in range(200):
        row = make_home(main, f"R-{number}")
        with_photo(row)
        with_photo(row)
        if number == 19:
            assert queries() == 1 + 4
    assert queries() == 1 + 4 * (200 // export_zip.CHUNK)
