"""Many changes are undone as one: what nobody has changed since goes back, the rest is kept."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings, strategies as st

from crm_sync import hooks
from crm_sync.work import leases, turn
from orders.models import Placement
from properties.domain import undo_steps
from properties.domain.change_selection import CREATED, ChangeSelection
from properties.domain.editing import edit
from properties.domain.undo import Kept
from properties.imports.engine import import_feed
from properties.models import Change, Import, Property, Undo
from properties.models.change import Cause
from tests.properties.form_page import make
from tests.properties.test_commands import run
from tests.properties.test_full_feed_guard import as_json
from tests.properties.uploaded import table, upload, work

IMPORT = Cause.IMPORT.of(1)
TAKE_BACK = ChangeSelection(cause=IMPORT)


def desired() -> dict[str, dict]:
    return dict(Property.objects.values_list("object_reference_id", "desired"))


def take(selection: ChangeSelection, workspace, actor=None) -> Undo:
    """Undo a selection to its end, as it stands now."""
    plan = undo_steps.preview(selection)
    now = timezone.now()
    job = undo_steps.request(workspace, selection, up_to=plan.up_to, actor=actor, now=now)
    return undo_steps.finish(job)


def told(job: Undo) -> tuple[int, ...]:
    """Restored fields and properties, removed properties, kept parts."""
    return tuple(job.count(name) for name in ("fields", "properties", "removed", "kept"))


@pytest.fixture
def feed(main, tmp_path):
    """Import a table; each row is "reference,title,rooms"."""

    def feed_(*lines: str, cause: str = IMPORT, now=None) -> None:
        path = tmp_path / "feed.csv"
        path.write_text("\n".join(["objectReferenceId,title,numberOfRooms", *lines]))
        list(import_feed(main, path, now=now or timezone.now(), cause=cause))

    return feed_


@pytest.fixture
def anna(db) -> User:
    return User.objects.create(username="anna", is_staff=True)


# --- what goes back and what is kept ---
def test_an_import_is_taken_back_and_each_field_has_its_line_of_history(main, feed, anna):
    row = make(main, "A-1", title="Flat", numberOfRooms=3)
    feed("A-1,House,4")
    job = take(TAKE_BACK, main, anna)
    row.refresh_from_db()
    assert told(job) == (2, 1, 0, 0)
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("Flat", 3)
    lines = Change.objects.filter(cause=Cause.UNDO.of(job.pk)).order_by("path")
    assert [(one.path, one.old, one.new, one.who, one.origin, one.note) for one in lines] == [
        ("numberOfRooms", 4, 3, "anna", "ADMIN", f"undo {job.pk}"),
        ("title", "House", "Flat", "anna", "ADMIN", f"undo {job.pk}"),
    ]
    assert row.due_at is not None


def test_what_somebody_changed_since_is_kept_and_named(main, feed, anna):
    row = make(main, "A-1", title="Flat", numberOfRooms=3)
    feed("A-1,House,4")
    edit(row, {"title": "Villa"}, origin="ADMIN", actor=anna, now=timezone.now())
    newer = Change.objects.latest("pk")
    job = take(TAKE_BACK, main)
    assert told(job) == (1, 1, 0, 1)
    assert job.kept == [[row.pk, "A-1", "title", Kept.SINCE, newer.pk]]
    assert (desired()["A-1"]["title"], desired()["A-1"]["numberOfRooms"]) == ("Villa", 3)


def test_a_value_that_came_back_by_itself_counts_as_changed_since(main, feed):
    row = make(main, "A-1", title="Flat")
    feed("A-1,House,")
    for title in ("Villa", "House"):
        edit(row, {"title": title}, origin="ADMIN", now=timezone.now())
    assert told(take(TAKE_BACK, main)) == (0, 0, 0, 1)
    assert desired()["A-1"]["title"] == "House"


def test_changes_of_a_person_go_back_to_what_another_wrote_in_between(main, anna):
    row, now = make(main, "A-1", title="one"), timezone.now()
    for title, actor in (("two", anna), ("three", None), ("four", anna), ("five", anna)):
        edit(row, {"title": title}, origin="ADMIN", actor=actor, now=now)
    assert told(take(ChangeSelection(person=anna.pk), main, anna)) == (1, 1, 0, 0)
    assert desired()["A-1"]["title"] == "three"


def test_a_field_that_was_empty_is_cleared_and_one_that_was_cleared_returns(main, anna):
    row, now = make(main, "A-1", title="one"), timezone.now()
    edit(row, {"title": None, "numberOfRooms": 3}, origin="ADMIN", actor=anna, now=now)
    assert told(take(ChangeSelection(person=anna.pk), main)) == (2, 1, 0, 0)
    assert desired()["A-1"] == {"objectReferenceId": "A-1", "title": "one"}


def test_only_the_chosen_field_origin_and_time_are_undone(main, anna):
    row, now = make(main, "A-1", title="one", numberOfRooms=1, floor=1), timezone.now()
    before = now - timedelta(hours=2)
    edit(row, {"title": "two"}, origin="ADMIN", actor=anna, now=before)
    edit(row, {"numberOfRooms": 2}, origin="ADMIN", actor=anna, now=now)
    edit(row, {"floor": 2}, origin="API", now=now)
    hour = now - timedelta(hours=1)
    take(ChangeSelection(since=hour, origin="ADMIN"), main)
    assert [desired()["A-1"][n] for n in ("title", "numberOfRooms", "floor")] == ["two", 1, 2]
    take(ChangeSelection(until=hour, person=anna.pk, field="title"), main)
    assert [desired()["A-1"][n] for n in ("title", "numberOfRooms", "floor")] == ["one", 1, 2]


def test_what_was_changed_after_the_preview_is_not_undone(main, anna):
    row, now = make(main, "A-1", title="one", numberOfRooms=1), timezone.now()
    edit(row, {"title": "two"}, origin="ADMIN", actor=anna, now=now)
    seen = undo_steps.preview(ChangeSelection(person=anna.pk))
    edit(row, {"numberOfRooms": 2}, origin="ADMIN", actor=anna, now=now)
    selection = ChangeSelection(person=anna.pk)
    job = undo_steps.request(main, selection, up_to=seen.up_to, actor=anna, now=now)
    assert told(undo_steps.finish(job)) == (1, 1, 0, 0)
    assert (desired()["A-1"]["title"], desired()["A-1"]["numberOfRooms"]) == ("one", 2)


@pytest.mark.rule("S12")
def test_another_workspace_keeps_what_the_same_person_changed_there(main, anna):
    other = type(main).objects.create(slug="other", base_url="http://other.test")
    for workspace in (main, other):
        row = make(workspace, f"{workspace.slug}-1", title="one")
        edit(row, {"title": "two"}, origin="ADMIN", actor=anna, now=timezone.now())
    take(ChangeSelection(person=anna.pk), main)
    assert [desired()[name]["title"] for name in ("main-1", "other-1")] == ["one", "two"]


def test_an_old_value_that_cannot_be_set_any_more_is_kept_and_the_others_go_back(main, anna):
    row, now = make(main, "A-1", title="one", heatingType="GAS"), timezone.now()
    edit(row, {"title": "two", "heatingType": "DISTRICT"}, origin="ADMIN", actor=anna, now=now)
    Change.objects.filter(path="heatingType").update(old="UNKNOWN")
    plan = undo_steps.preview(ChangeSelection(person=anna.pk))
    assert (plan.fields, plan.kept) == (1, 1)
    job = take(ChangeSelection(person=anna.pk), main)
    assert (told(job), job.kept[0][2:]) == ((1, 1, 0, 1), ["heatingType", Kept.INVALID, None])
    assert (desired()["A-1"]["title"], desired()["A-1"]["heatingType"]) == ("one", "DISTRICT")


def test_an_undo_is_undone_by_its_own_cause(main, feed):
    make(main, "A-1", title="Flat")
    feed("A-1,House,4")
    job = take(TAKE_BACK, main)
    assert told(take(ChangeSelection(cause=Cause.UNDO.of(job.pk)), main)) == (2, 1, 0, 0)
    assert desired()["A-1"]["title"] == "House"


# --- properties that the changes created ---
def test_a_property_that_was_created_and_never_sent_is_removed(main, feed, anna):
    feed("A-1,House,4", "A-2,House,4")
    job = take(TAKE_BACK, main, anna)
    assert (told(job), sorted(job.removed), desired()) == ((0, 0, 2, 0), ["A-1", "A-2"], {})


@pytest.mark.parametrize(
    "columns",
    [
        {"platform_id": "7"},
        {"create_sent_at": datetime(2026, 5, 4, tzinfo=UTC)},
        {"inflight": {"title": ["House"]}},
    ],
    ids=lambda columns: next(iter(columns)),
)
def test_a_created_property_that_the_platform_may_have_is_kept_and_named(main, feed, columns):
    feed("A-1,House,4")
    Property.objects.update(**columns)
    job = take(TAKE_BACK, main)
    assert (told(job), job.kept[0][1:4]) == ((0, 0, 0, 1), ["A-1", "", Kept.THERE])
    assert desired()["A-1"]["title"] == "House"


def test_a_created_property_that_somebody_edited_is_kept_and_named(main, feed, anna):
    feed("A-1,House,4")
    edit(Property.objects.get(), {"title": "Mine"}, origin="ADMIN", actor=anna, now=timezone.now())
    newer = Change.objects.latest("pk")
    job = take(TAKE_BACK, main)
    assert job.kept == [[Property.objects.get().pk, "A-1", "", Kept.SINCE, newer.pk]]
    assert desired()["A-1"]["title"] == "Mine"


def test_a_created_property_with_a_placement_is_kept_and_named(main, feed):
    feed("A-1,House,4")
    row = Property.objects.get()
    Placement.objects.create(workspace=main, real_estate_property=row, object_reference_id="A-1")
    job = take(TAKE_BACK, main)
    assert (told(job), job.kept[0][1:4]) == ((0, 0, 0, 1), ["A-1", "", Kept.NEEDED])
    row.refresh_from_db()
    assert row.due_at is not None  # it is sent as before


def test_a_person_who_created_and_edited_a_sent_property_gets_its_first_values(main, anna):
    row = make(main, "A-1", title="one")
    Change.objects.update(actor=anna)
    edit(row, {"title": "two"}, origin="ADMIN", actor=anna, now=timezone.now())
    Property.objects.update(platform_id="7")
    assert told(take(ChangeSelection(person=anna.pk), main)) == (1, 1, 0, 1)
    assert desired()["A-1"]["title"] == "one"


# --- the same feed after it ---
def test_the_same_feed_after_taking_back_changes_nothing_until_a_record_changes(main, tmp_path):
    def load(title: str, cause: str) -> str:
        path = tmp_path / "feed.json"
        path.write_text(as_json(["R-1"]).replace("Wohnung", title))
        report = list(import_feed(main, path, now=timezone.now(), cause=cause))[-1]
        return (report.new.count, report.changed.count, report.unchanged.count)

    assert load("Flat", Cause.IMPORT.of(0)) == (1, 0, 0)
    assert load("House", IMPORT) == (0, 1, 0)
    assert told(take(TAKE_BACK, main)) == (2, 1, 0, 0)
    assert (load("House", Cause.IMPORT.of(2)), desired()["R-1"]["title"]) == ((0, 0, 1), "Flat")
    assert (load("Villa", Cause.IMPORT.of(3)), desired()["R-1"]["title"]) == ((0, 1, 0), "Villa")


def test_the_same_feed_creates_again_what_was_removed(feed, main):
    feed("A-1,House,4")
    take(TAKE_BACK, main)
    feed("A-1,House,4", cause=Cause.IMPORT.of(2))
    assert desired()["A-1"]["title"] == "House"


# --- laws ---
ROWS = st.dictionaries(
    st.sampled_from(["A-1", "A-2", "A-3", "A-4"]),
    st.tuples(st.sampled_from(["one", "two", "three"]), st.integers(1, 4)),
    min_size=1,
)


@pytest.mark.rule("I35")
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=ROWS, fed=ROWS, later=ROWS, chunk=st.integers(1, 5))
def test_import_and_taking_back_are_the_identity_for_untouched_fields(
    main, feed, monkeypatch, before, fed, later, chunk
):
    """What somebody edits after the import stays, all other fields are as before it."""
    with transaction.atomic():
        monkeypatch.setattr(undo_steps, "CHUNK", chunk)
        for name, (title, rooms) in before.items():
            make(main, name, title=title, numberOfRooms=rooms)
        wanted = desired()
        feed(*(f"{name},{title},{rooms}" for name, (title, rooms) in fed.items()))
        for name, (title, _) in later.items():
            row = Property.objects.filter(object_reference_id=name).first()
            if row and edit(row, {"title": title}, origin="API", now=timezone.now()):
                wanted[name] = wanted.get(name, row.desired) | {"title": title}
        take(TAKE_BACK, main)
        assert desired() == wanted
        take(TAKE_BACK, main)  # again: nothing
        assert desired() == wanted
        transaction.set_rollback(True)


# --- kills ---
@pytest.mark.rule("I35")
@pytest.mark.parametrize("dies_after", [1, 2, 3, 5, 8])
def test_an_undo_that_is_killed_anywhere_goes_on_and_counts_the_same(
    main, feed, anna, monkeypatch, dies_after
):
    monkeypatch.setattr(undo_steps, "CHUNK", 4)
    for n in range(6):
        make(main, f"A-{n}", title="Flat", numberOfRooms=3)
    wanted = desired()
    feed(*(f"A-{n},House,4" for n in range(9)))
    seen = undo_steps.preview(TAKE_BACK)
    now = timezone.now()
    job = undo_steps.request(main, TAKE_BACK, up_to=seen.up_to, actor=anna, now=now)
    rest = iter(range(dies_after))
    whole = undo_steps._Running._undo

    class Killed(BaseException):
        pass

    def until_killed(self, *parts):
        if next(rest, None) is None:
            raise Killed
        return whole(self, *parts)

    with monkeypatch.context() as killing:
        killing.setattr(undo_steps._Running, "_undo", until_killed)
        claim = leases.claim(Undo.objects.all(), now=now)
        with pytest.raises(Killed):
            undo_steps.work(claim, until=float("inf"))
    for row in Property.objects.all():  # never half restored
        assert row.desired == wanted.get(str(row)) or row.desired["title"] == "House"
    Undo.objects.update(lease_until=now - timedelta(seconds=1), due_at=now)
    job = undo_steps.finish(job)
    assert (desired(), told(job)) == (wanted, (12, 6, 3, 0))


def test_a_worker_does_it_in_turns_and_gives_way_between_chunks(main, feed, monkeypatch):
    monkeypatch.setattr(undo_steps, "CHUNK", 1)
    for n in range(3):
        make(main, f"A-{n}", title="Flat")
    feed(*(f"A-{n},House," for n in range(3)))
    seen = undo_steps.preview(TAKE_BACK)
    job = undo_steps.request(main, TAKE_BACK, up_to=seen.up_to, actor=None, now=timezone.now())
    claim = leases.claim(Undo.objects.all(), now=timezone.now())
    assert undo_steps.work(claim, until=0.0) == "goes on"
    assert Change.objects.filter(cause=Cause.UNDO.of(job.pk)).count() == 1
    assert turn.take(hooks.queue("undos"), main.pk, seconds=5.0).counts == {"done": 1}
    assert told(Undo.objects.get()) == (3, 3, 0, 0)


# --- which changes know their import ---
@pytest.mark.usefixtures("data_dir")
def test_each_change_of_an_upload_knows_it(main, admin_user):
    make(main, "A1", title="Old")
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    while Import.objects.get(pk=row.pk).ended_at is None:
        work(row)
    found = Change.objects.exclude(cause="").values_list("path", "cause")
    cause = Cause.IMPORT.of(row.pk)
    assert sorted(found) == [("", cause), ("numberOfRooms", cause), ("title", cause)]


def test_the_creations_of_a_selection_can_be_chosen_alone(main, feed):
    make(main, "A-1", title="Flat")
    feed("A-1,House,4", "A-2,House,4")
    found = ChangeSelection(cause=IMPORT, field=CREATED).changes()
    assert [str(one.real_estate_property) for one in found] == ["A-2"]


# --- the command ---
def test_the_command_takes_an_import_back(main, admin_user, data_dir, capsys):
    make(main, "A1", title="Old")
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    while Import.objects.get(pk=row.pk).ended_at is None:
        work(row)
    code, out, _ = run(capsys, "undo_changes", "main", "--import", row.pk, "--dry-run", "--json")
    assert (code, json.loads(out)["fields"], json.loads(out)["removed"]) == (0, 2, 1)
    assert "A2" in desired()
    code, out, _ = run(capsys, "undo_changes", "main", "--import", row.pk)
    assert (code, out.splitlines()) == (
        0,
        ["removed  A2", "undone: 2 fields of 1 properties, 1 properties removed, 0 kept"],
    )
    assert desired() == {"A1": {"objectReferenceId": "A1", "title": "Old"}}


def test_the_command_says_by_its_exit_code_what_it_kept(main, anna, capsys):
    row, now = make(main, "A-1", title="one", numberOfRooms=1), timezone.now()
    edit(row, {"title": "two", "numberOfRooms": 2}, origin="ADMIN", actor=anna, now=now)
    edit(row, {"title": "three"}, origin="API", now=now)
    code, out, error = run(capsys, "undo_changes", "main", "--person", "anna")
    assert (code, error) == (3, "1 kept as they are")
    assert out.splitlines()[0] == "kept     A-1: Title (changed since)"
    assert run(capsys, "undo_changes", "main", "--person", "anna", "--field", "title")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("main",),
        ("main", "--field", "title"),
        ("main", "--import", "9"),
        ("main", "--person", "nobody"),
        ("main", "--since", "yesterday"),
        ("main", "--since", "2026-13-04 09:00"),
        ("other", "--since", "2026-05-04 09:00"),
    ],
    ids=" ".join,
)
def test_the_command_refuses_what_names_nothing(main, capsys, arguments):
    assert run(capsys, "undo_changes", *arguments)[0] == 2
