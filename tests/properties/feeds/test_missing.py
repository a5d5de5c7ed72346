"""What a sender's full feed lacks: listed, or set to a state; never deleted, never cleared."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from crm_sync.work import leases
from properties.domain.editing import edit
from properties.imports import job, missing_properties
from properties.models import Change, Import, Property, Sender
from tests.properties.test_commands import run
from tests.properties.test_full_feed_guard import FORMATS, TEN
from tests.properties.uploaded import claim, fresh, rows, upload, work

MISSING = Change.Origin.MISSING


@pytest.fixture
def load(main, tmp_path, capsys):
    """Import a feed of a sender; exit code, output, error."""

    def load_(references, *options, kind="json", sender="Agency"):
        path = tmp_path / "feed"
        path.write_text(FORMATS[kind](references))
        return run(capsys, "import_properties", "main", path, "--sender", sender, *options)

    return load_


def states() -> dict[str, str | None]:
    found = Property.objects.order_by("pk").values_list("object_reference_id", "desired")
    return {reference: desired.get("availabilityState") for reference, desired in found}


def set_by_hand(reference: str, state: str) -> None:
    row = Property.objects.get(object_reference_id=reference)
    edit(row, {"availabilityState": state}, origin="ADMIN", now=timezone.now())


def everything() -> list:
    return [list(Property.objects.order_by("pk").values()), Change.objects.count()]


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_missing_gets_the_state_and_all_else_of_it_stays(agency, load, kind):
    load(TEN, kind=kind)
    before = dict(Property.objects.values_list("object_reference_id", "desired"))
    code, out, _ = load(TEN[:9], kind=kind)
    assert code == 0
    assert "missing   R-9: not in the feed any more; its state becomes PRIVATE\n" in out
    after = dict(Property.objects.values_list("object_reference_id", "desired"))
    assert after == before | {"R-9": before["R-9"] | {"availabilityState": "PRIVATE"}}
    (change,) = Change.objects.filter(origin=MISSING)
    old = before["R-9"].get("availabilityState")
    assert (change.path, change.old, change.new) == ("availabilityState", old, "PRIVATE")


def test_by_default_it_is_only_listed(main, load):
    Sender.objects.create(workspace=main, name="Agency")
    load(TEN)
    _, out, _ = load(TEN[:9])
    assert "missing   R-9: not in the feed any more; it stays as it is\n" in out
    assert set(states().values()) == {"ACTIVE"}


def test_a_reference_is_exempt(agency, load):
    load(TEN)
    set_by_hand("R-9", "REFERENCE")
    document = json.loads(load(TEN[:8], "--json")[1])
    assert (document["missing"], document["exempt"]) == (["R-8", "R-9"], ["R-9"])
    assert (states()["R-8"], states()["R-9"]) == ("PRIVATE", "REFERENCE")


def test_one_that_somebody_exempts_at_this_very_moment_stays_so(agency, load):
    load(TEN)
    read_before = list(Property.objects.order_by("pk")[8:])
    set_by_hand("R-9", "REFERENCE")
    missing_properties.set_state(agency.workspace, read_before, "PRIVATE", now=timezone.now())
    assert (states()["R-8"], states()["R-9"]) == ("PRIVATE", "REFERENCE")


def test_a_dry_run_and_a_refused_feed_change_nothing(agency, load):
    load(TEN)
    before = everything()
    code, out, _ = load(TEN[:9], "--dry-run")
    assert (code, "its state becomes PRIVATE" in out) == (0, True)
    assert load(TEN[:5])[0] == 1
    assert everything() == before


def test_the_same_feed_again_changes_nothing_and_a_person_has_the_last_word(agency, load):
    load(TEN)
    load(TEN[:9])
    before = everything()
    load(TEN[:9], "--force")
    assert everything()[1] == before[1]
    set_by_hand("R-9", "TAKEN")
    load(TEN[:9], "--force")
    assert states()["R-9"] == "TAKEN"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("before", "after"), [(None, "ACTIVE"), ("RESERVED", "RESERVED")])
def test_what_comes_back_has_the_state_that_it_had(agency, load, kind, before, after):
    load(TEN, kind=kind)
    if before:
        set_by_hand("R-9", before)
    load(TEN[:9], kind=kind)
    assert states()["R-9"] == "PRIVATE"
    load(TEN, kind=kind)
    assert states()["R-9"] == after
    settled = everything()
    load(TEN, "--force", kind=kind)
    assert everything()[1] == settled[1]


def test_what_a_feed_says_of_the_state_itself_counts_when_it_comes_back(agency, load):
    load(TEN, kind="xml")
    assert states()["R-9"] == "ACTIVE"
    load(TEN[:9], kind="xml")
    assert states()["R-9"] == "PRIVATE"
    load(TEN, kind="xml")
    assert states()["R-9"] == "ACTIVE"


def test_what_a_person_set_meanwhile_stays_when_it_comes_back(agency, load):
    load(TEN)
    load(TEN[:9])
    set_by_hand("R-9", "TAKEN")
    load(TEN)
    assert states()["R-9"] == "TAKEN"


# --- two senders of one format ---
def test_each_of_two_senders_of_one_format_is_missed_by_its_own_feed_alone(main, agency, load):
    other = Sender.objects.create(workspace=main, name="Other")
    load(TEN)
    twenty = [f"S-{n}" for n in range(20)]
    assert load(twenty, sender="Other")[0] == 0
    assert load(TEN[:9])[0] == 0
    assert load(twenty[:9], sender="Other")[0] == 1
    assert (states()["R-9"], set(states().values())) == ("PRIVATE", {"ACTIVE", "PRIVATE"})
    assert Property.objects.filter(fed_by=other.feed_key).count() == 20


def test_a_property_that_moves_belongs_to_whoever_brought_it_last(main, agency, load):
    other = Sender.objects.create(workspace=main, name="Other")
    load(TEN)
    code, out, _ = load(["R-9", "S-1"], sender="Other")
    assert code == 0
    told = "warning   another sender brought these before, and this one does from now on: R-9\n"
    assert told in out
    mine = Property.objects.filter(fed_by=other.feed_key)
    assert set(mine.values_list("object_reference_id", flat=True)) == {"R-9", "S-1"}
    code, out, _ = load(TEN[:9])
    assert (code, "missing" in out) == (0, False)
    assert set(states().values()) == {"ACTIVE"}


# --- by a worker ---
@pytest.fixture
def stock(settings, tmp_path, load):
    settings.DATA_DIR = tmp_path
    settings.FEED_MISSING_SHARE = 0.9
    many = [f"R-{n:03}" for n in range(250)]
    load(many)
    return many


def uploaded(agency: Sender, user, references: list[str]) -> Import:
    content = FORMATS["json"](references).encode()
    row = upload(agency.workspace, user, content, name="stock.json")
    rows(row).update(sender=agency)
    work(row, limits=job.SliceLimits())
    return row


def test_the_page_of_a_preview_says_what_would_be_set(agency, admin_user, admin_client, stock):
    set_by_hand("R-249", "REFERENCE")
    row = uploaded(agency, admin_user, stock[:100])
    page = admin_client.get(reverse("admin:properties_import_change", args=[row.pk]))
    text = page.content.decode()
    assert "Not in the feed any more: their availability state becomes Private" in text
    assert (text.count("A reference: it stays as it is"), "R-100" in text) == (1, True)
    assert set(states().values()) == {"ACTIVE", "REFERENCE"}


def test_a_worker_that_dies_in_the_middle_is_followed_by_one_that_ends_it(
    agency, admin_user, stock
):
    row = uploaded(agency, admin_user, stock[:100])
    rows(row).update(state="RUNNING", released_at=timezone.now(), due_at=timezone.now(), done=0)
    steps = job.steps(claim(row).row, timezone.now(), 100, lambda: None)
    for _ in steps:  # it dies after the first hundred of those that are missing
        if Change.objects.filter(origin=MISSING).exists():
            break
    steps.close()
    assert Change.objects.filter(origin=MISSING).count() == 100
    later = timezone.now() + leases.LEASE + timedelta(seconds=1)
    assert work(row, now=later, limits=job.SliceLimits()) == "DONE"
    assert Change.objects.filter(origin=MISSING).count() == 150
    found = list(states().values())
    assert (found.count("PRIVATE"), found.count("ACTIVE")) == (150, 100)
    assert fresh(row).state == "DONE"
    assert Property.objects.filter(fed_by=agency.feed_key).count() == 100
