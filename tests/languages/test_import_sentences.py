"""What a worker stores about an import is read by each person in their language.

Commands stay English.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import override
from lxml import html

from crm_sync.models import Workspace
from crm_sync.sentence import Sentence, sentence, sentence_of
from properties.admin.import_.import_changes import in_words
from properties.domain.editing import create, edit
from properties.domain.owner_change import set_owner
from properties.feeds import Refusal
from properties.imports import feed_reading, job, upload as imports_upload
from properties.imports.feed_reading import FeedReading
from properties.imports.full_feed_guard import Comparison
from properties.imports.report import LENGTH, Excerpt, ImportReport, added
from properties.merge import Owner
from properties.models import Fetch, Import, LastFeed, Property, Sender, Source
from properties.sources import source_mail
from tests.crm_sync.admin_pages import make_workspace
from tests.properties.feeds.idx_lines import line
from tests.properties.feeds.test_packed import PICTURES, zipped
from tests.properties.test_commands import run
from tests.properties.test_full_feed_guard import TEN, as_json
from tests.properties.uploaded import fresh, rows, table, upload, work

IMPORTS = "/admin/properties/import/"
DAY = timedelta(days=1)
State = Import.State
ALIKE = (
    "«a1» sieht aus wie «A1»: Sie unterscheiden sich nur in der Groß- und Kleinschreibung oder in"
    " unsichtbaren Zeichen und wären zwei Objekte. Berichtigen Sie es, oder legen Sie das Objekt"
    " zuerst hier an"
)
DECIDE = (
    'Es ist jetzt "Mine", und in der Datei steht "House A1". Importieren Sie die Datei noch einmal,'
    " um zu entscheiden"
)
LACKS = "Es fehlen 3 der 10 Objekte des letzten Feeds (höchstens 2 dürfen fehlen)"


@pytest.fixture
def main(db, settings, tmp_path) -> Workspace:
    settings.DATA_DIR = tmp_path
    return make_workspace("main")


@pytest.fixture
def person(german) -> User:
    return User.objects.get()


def shown(client, row: Import, path: str) -> list[str]:
    """Return the texts of the page of an import at a path of XPath."""
    page = html.fromstring(client.get(f"{IMPORTS}{row.pk}/change/").content.decode())
    return [" ".join(one.text_content().split()) for one in page.xpath(path)]


def problem(client, row: Import) -> list[str]:
    return shown(client, row, "//p[contains(@class, 'cs-banner')]")


def cells(client, row: Import) -> list[str]:
    return shown(client, row, "//table[contains(@class, 'pi-list')]//td")


def about_the_file(client, row: Import) -> list[str]:
    return shown(client, row, "//section[contains(@class, 'cs-card')]/ul[not(@class)]/li")


def stock(main: Workspace, *references: str) -> None:
    for reference in references:
        create(main, reference, {"title": "Old"}, origin="ADMIN", now=timezone.now())


def looked_at(row: Import) -> Import:
    while fresh(row).state == State.PREVIEWING:
        work(row)
    return fresh(row)


def released(
    main: Workspace, person: User, content: str | bytes, *, name="stock", sender=None
) -> Import:
    content = content if isinstance(content, bytes) else content.encode()
    row = upload(main, person, content, name=name)
    rows(row).update(sender=sender)
    looked_at(row)
    return imported(row, person)


def imported(row: Import, person: User) -> Import:
    imports_upload.release(rows(row), actor=person, now=timezone.now())
    while fresh(row).state == State.RUNNING:
        work(row)
    return fresh(row)


# --- records ---
def test_why_a_record_is_refused_is_german_on_the_page_and_in_its_file(main, german, person):
    stock(main, "A1")
    row = released(main, person, table(["a1", "A2"]))
    assert row.state == State.PARTLY
    assert cells(german, row)[0] == f"Objektreferenz: {ALIKE}"
    *_, refused = german.get(f"{IMPORTS}{row.pk}/refused.csv").content.decode().splitlines()
    assert refused == f'Zeile 2,a1,"objectReferenceId: {ALIKE}"'
    rows(row).update(report=row.report | {"counts": row.report["counts"] | {"refused": 1_235}})
    *_, more = german.get(f"{IMPORTS}{row.pk}/refused.csv").content.decode().splitlines()
    assert more == "und 1.234 weitere,,"


@pytest.mark.parametrize(
    ("origin", "who"), [("ADMIN", "user-0"), ("PLATFORM", "Plattform"), ("HTTP_API", "ERP")]
)
def test_who_changed_a_value_after_the_preview_is_told_in_german(main, german, person, origin, who):
    stock(main, "A1")
    row = upload(main, person, table(["A1"]))
    looked_at(row)
    by = {"actor": person} if origin == "ADMIN" else {"note": "ERP"}
    mine = Property.objects.get()
    edit(mine, {"title": "Mine"}, origin=origin, now=timezone.now(), **by)
    imported(row, person)
    assert cells(german, row) == [f"Titel: {who} hat es nach der Vorschau geändert: {DECIDE}"]


def test_what_a_rule_sets_aside_is_german(main, german, person):
    set_owner(main.pk, "title", Owner.THEIRS, now=timezone.now())
    row = released(main, person, table(["A1"]))
    assert cells(german, row)[-1] == (
        'Titel: "House A1" wird beiseitegelegt. Das gehört der Plattform, nach einer Regel des'
        " Arbeitsbereichs main. Ändern Sie es auf der Plattform."
    )


def test_the_name_of_a_field_is_said_in_words_before_the_colon_of_each_language():
    stored = sentence_of("title", "5").stored
    found = []
    for language in ("de", "fr", "it"):
        with override(language):
            found.append(in_words(stored))
    assert found == ["Titel: 5", "Titre\u00a0: 5", "Titolo: 5"]


def test_what_an_older_version_stored_stays_readable(main, german):
    old = {"refused": [["line 2", "A1", ["title: Too long"]]], "warned": [["A2", ["title: Odd"]]]}
    old |= {"warnings": ["Odd file"], "aside": [["A3", [["Farbe", '"rot"'], ["and 2 more", ""]]]]}
    row = Import.objects.create(
        workspace=main,
        name="stock.csv",
        state=State.DONE,
        released_at=timezone.now(),
        ended_at=timezone.now(),
        report={**old, "counts": {"new": 1, "refused": 1, "warned": 1, "aside": 1}},
    )
    assert cells(german, row) == ["Titel: Too long", 'Farbe: "rot"; and 2 more', "Titel: Odd"]
    assert about_the_file(german, row) == ["Odd file"]


def test_what_others_wrote_is_cut_and_the_message_stays():
    text = sentence_of("title", sentence("%(all)s.", all=["x" * 999]))
    refused = [Refusal("line 2", "A1", [text, "y" * 999])]
    report = ImportReport(refused=Excerpt(9, 1, refused), warnings=[text])
    aside = {f"field {number:02}": 1 for number in range(23)}
    report.aside.add(("A1", aside))
    summary = added({}, report)
    cut = "x" * (LENGTH - 1) + "…"
    ((_, _, reasons),) = summary["refused"]
    for stored in (reasons[0], *summary["warnings"]):
        found = Sentence.of(stored)
        assert (found, found.message) == (f"title: {cut}.", "%(name)s: %(text)s")
    assert reasons[1] == "y" * (LENGTH - 1) + "…"
    ((_, values),) = summary["aside"]
    with override("de"):
        assert Sentence.of(values[-1][0]).said() == "und 3 weitere"


def test_a_mail_about_an_import_says_why_a_record_is_refused_in_the_language_of_its_reader(
    main, german, person
):
    stock(main, "A1")
    row = released(main, person, table(["a1"]))
    sender = Sender.objects.create(workspace=main, name="Agency")
    source = Source.objects.create(
        workspace=main, sender=sender, address="/1", due_at=timezone.now(), every_minutes=1
    )
    look = Fetch(workspace=main, source=source, outcome="IMPORT", imported=row)
    with override("de"):
        mail = source_mail.written(look, ["a@b.test"])
    assert f"- Zeile 2, a1: objectReferenceId: {ALIKE}" in mail.body.splitlines()


# --- the file ---
def test_a_feed_that_lacks_much_is_refused_in_german_before_and_after_its_release(
    main, german, person, capsys, tmp_path
):
    released(main, person, as_json(TEN))
    row = upload(main, person, as_json(TEN[:7]).encode(), name="stock.json")
    looked_at(row)
    assert problem(german, row) == [LACKS]
    assert imported(row, person).state == State.FAILED
    assert problem(german, row) == [f"stock.json: {LACKS}"]
    path = tmp_path / "feed"
    path.write_text(as_json(TEN[:7]))
    with override("de"):
        code, _, error = run(capsys, "import_properties", "main", path)
    assert code == 1
    assert "feed: it lacks 3 of the 10 properties that the last feed held (at most 2" in error


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("", "Der Feed enthält keine Objekte"),
        ("R-1", "Es fehlt 1 der 1 Objekte des letzten Feeds (höchstens 0 dürfen fehlen)"),
    ],
)
def test_an_empty_feed_is_refused_in_german(main, german, person, known, text):
    if known:
        released(main, person, as_json([known]))
    row = upload(main, person, as_json(["S-1"] if known else []).encode())
    looked_at(row)
    assert problem(german, row) == [text]


def test_a_feed_that_renames_its_properties_names_the_setting_in_german(main, german, person):
    house = "".join(line(ref_property="P", ref_house="A", ref_object=n) + "\r\n" for n in "12")
    sender = Sender.objects.create(workspace=main, name="Agency", reference="OBJECT")
    released(main, person, house, sender=sender)
    Sender.objects.update(reference="TRIPLE")
    row = upload(main, person, house.encode())
    rows(row).update(sender=sender)
    looked_at(row)
    assert problem(german, row) == [
        "Der Feed gibt 2 von 2 Objekten eine andere Referenz, als sie hier haben: «1» wäre hier ein"
        " zweites Mal, als «P~A~1». Setzen Sie beim Absender «was ein Objekt benennt» auf «Nur"
        " seine Referenz»; hat der Feed keinen Absender, wählen Sie einen"
    ]


def test_what_another_sender_brought_before_is_german(main, german, person):
    one, other = (Sender.objects.create(workspace=main, name=name) for name in ("One", "Other"))
    released(main, person, as_json(TEN), sender=one)
    row = released(main, person, as_json(["R-9", "S-1"]), sender=other)
    told = "Diese kamen bisher von einem anderen Absender und kommen ab jetzt von diesem: R-9"
    assert about_the_file(german, row) == [told]


def test_what_is_packed_with_a_feed_is_german_in_the_preview_and_in_the_result(
    main, german, person
):
    row = released(main, person, zipped("data/unload.txt", *PICTURES), name="out.zip")
    assert about_the_file(german, row) == [
        "unload.txt wird gelesen; was sonst darin gepackt ist, wird weggelassen: images/0.jpg,"
        " images/1.jpg, images/2.jpg, images/3.jpg, images/4.jpg und 2 weitere"
    ]
    assert str(Sentence.of(row.report["warnings"][0])).startswith("unload.txt is read, and left")


# --- how an import ends ---
def test_the_feed_of_the_last_time_is_told_in_german_with_its_time(main, german, person):
    released(main, person, as_json(TEN))
    LastFeed.objects.update(imported_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    row = upload(main, person, as_json(TEN).encode())
    assert work(row) == State.UNCHANGED
    assert problem(german, row) == [
        "Derselbe Feed wurde schon importiert: So 1. Mär 2026, 12:00 UTC"
    ]


def test_a_file_that_nobody_released_is_told_in_german(main, german, person):
    row = upload(main, person, table(["A1"]))
    looked_at(row)
    assert work(row, now=timezone.now() + 8 * DAY) == State.CANCELLED
    assert problem(german, row) == ["Seit 7 Tagen hat ihn niemand freigegeben."]


def test_a_file_that_is_not_here_is_told_in_german_as_long_as_it_is_tried(main, german, person):
    row = upload(main, person, table(["A1"]))
    row.path.unlink()
    assert work(row) == "put off"
    part = german.get(f"{IMPORTS}{row.pk}/progress/?state=PREVIEWING").content.decode()
    assert (
        "Wird bald erneut versucht: Seine Datei ist nicht hier: Web und Worker müssen dasselbe"
        " DATA_DIR haben."
    ) in part


def test_a_file_that_kills_each_worker_is_told_in_german(main, german, person):
    row = upload(main, person, table(["A1"]))
    rows(row).update(
        attempts=job.MAX_ATTEMPTS - 1,
        lease_token="00000000-0000-0000-0000-000000000001",
        lease_until=timezone.now() - DAY,
    )
    assert work(row) == State.FAILED
    assert problem(german, row) == [
        "5 Worker haben diesen Import begonnen, und keiner hat ihn beendet."
    ]


# --- between two slices ---
def test_a_reading_keeps_its_sentences_between_two_slices(tmp_path):
    text = sentence("Nobody released it for %(days)s days.", days=7)
    compared = Comparison(True, ["R-1"], text, Sentence(), text, ["IDX"])
    upload_ = tmp_path / "file"
    with feed_reading.opened(upload_, read_as="1") as store:
        store.keep(FeedReading(None, None, [text, Sentence("plain")], compared))
    with feed_reading.opened(upload_, read_as="1") as store:
        found = store.reading
    told = [*found.warnings, found.comparison.fault, found.comparison.moved]
    assert found == FeedReading(None, None, [text, "plain"], compared)
    with override("de"):
        said = "Seit 7 Tagen hat ihn niemand freigegeben."
        assert [one.said() for one in told] == [said, "plain", said, said]
