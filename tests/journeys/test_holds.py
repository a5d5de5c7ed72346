"""While a person holds a kind of work nothing of it leaves, and nothing is lost by it (I34)."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import User

from crm_sync import connecting, hooks
from crm_sync.connecting import Given
from crm_sync.doctor import connection
from crm_sync.models import Hold, ReceivedEvent, Workspace, hold
from crm_sync.models.hold import HoldCause
from crm_sync.outgoing import outbox
from crm_sync.outgoing.outbox import Message
from crm_sync.platform import transport
from crm_sync.platform.errors import OnHold
from crm_sync.platform.work_kind import WorkKind
from crm_sync.work import rings, turn
from orders.models import Order, Placement
from orders.placing import changes
from orders.placing.dispatch import place_now
from properties.domain.editing import create, edit
from properties.imports.engine import import_feed
from properties.models import Import, Property
from properties.models.property import SyncState, WaitReason
from properties.push.push import push
from properties.push.queue import PROPERTIES
from tests import placing
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.receivers import receiving, subscribe
from tests.platforms import Between
from tests.properties.uploaded import table, upload

pytestmark = pytest.mark.django_db
EVERYTHING = tuple(WorkKind)


def now() -> datetime:
    return datetime.now(UTC)


def pause(workspace: Workspace, *kinds: WorkKind, **options) -> Sequence[Hold]:
    return hold.pause(
        workspace.pk, kinds or EVERYTHING, reason="prices are wrong", now=now(), **options
    )


def resume(workspace: Workspace, *kinds: WorkKind, **options) -> list[WorkKind]:
    return hold.resume(workspace.pk, kinds or EVERYTHING, now=now(), **options)


def sent(box, *methods: str) -> list[tuple[str, str]]:
    """Return the calls that change something on the platform, as its journal has them."""
    wanted = methods or ("PATCH", "POST", "PUT", "DELETE")
    found = [(method, path) for method, path, *_ in box.calls if method in wanted]
    return [(method, path) for method, path in found if not path.startswith("/v1/sessions")]


@pytest.fixture
def row(workspace, drain_all, box) -> Property:
    """Return a property that both sides agree on."""
    made = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    made.refresh_from_db()
    box.calls.clear()
    return made


@pytest.fixture
def data_dir(settings, tmp_path) -> Path:
    """Return an empty folder for the files of imports."""
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def home(workspace: Workspace) -> Property:
    """Return our property that the sandbox knows as 201."""
    return Property.objects.create(
        workspace=workspace, object_reference_id="SEED-1", platform_id="201"
    )


@pytest.fixture
def confirmed(workspace, home) -> Placement:
    """Return a placement that a worker may send now."""
    made = placing.reviewable(
        workspace, reference="SEED-1", user="AGENT-1", products=["GROUND_PHOTO"], now=now()
    )
    assert placing.confirm(made, account=User.objects.create(username="agent"), now=now()) == 1
    made.refresh_from_db()
    return made


def title(row: Property, text: str) -> None:
    edit(Property.objects.get(pk=row.pk), {"title": text}, origin="ADMIN", now=now())


# --- the journey


@pytest.mark.rule("I34")
def test_in_a_hold_nothing_is_sent_and_everything_else_goes_on_and_after_it_all_is_sent_once(
    box, workspace, row, confirmed, drain_all
):
    pause(workspace)
    title(row, "Held")
    box.edit_property(row.platform_id, {"numberOfRooms": 4})  # on the platform, by others
    counts = drain_all()
    assert (counts["properties"], counts["placements"]) == ({"held": 1}, {"put off": 1})
    row.refresh_from_db()
    # What they changed is read and adopted, as always.
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("Held", 4)
    assert row.waits_because(now()) == "a person has paused sending in this workspace"
    assert (sent(box), drain_all()) == ([], {})
    resume(workspace)
    counts = drain_all()
    assert (counts["properties"], counts["placements"]) == ({"pushed": 1}, {"sent": 1})
    assert sent(box) == [
        ("PATCH", "/v1/real-estate-properties/by-reference/A-1"),
        ("POST", "/v1/orders"),
    ]
    row.refresh_from_db()
    assert (row.due_at, row.observed["title"], row.observed["numberOfRooms"]) == (None, "Held", 4)


# --- the laws


def hold_at_the_first_call(box, workspace: Workspace, kind: WorkKind) -> None:
    """Commit a hold while the worker waits for the answer to its read."""

    def hold_it(_) -> None:
        if not Hold.objects.exists():
            pause(workspace, kind)

    Between(box, PLATFORM).before = hold_it


@pytest.mark.rule("I34")
def test_a_hold_that_is_committed_between_the_read_and_the_patch_stops_the_patch(
    box, workspace, row, drain_all
):
    hold_at_the_first_call(box, workspace, WorkKind.PUSHES)
    title(row, "Late")
    assert drain_all() == {"properties": {"held": 1}}
    row.refresh_from_db()
    assert (sent(box), row.inflight, row.attempts, row.due_at > now()) == ([], {}, 0, True)
    resume(workspace)
    assert drain_all() == {"properties": {"pushed": 1}}


@pytest.mark.rule("I34")
def test_a_creation_that_is_held_is_not_waited_for_as_if_it_had_left(box, workspace, drain_all):
    hold_at_the_first_call(box, workspace, WorkKind.PUSHES)
    made = create(workspace, "A-2", {"title": "New"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"held": 1}}
    made.refresh_from_db()
    assert (sent(box), made.create_sent_at) == ([], None)
    resume(workspace)
    assert drain_all() == {"properties": {"created": 1}}


@pytest.mark.rule("I34")
def test_a_push_of_a_row_that_was_claimed_before_sends_nothing(box, workspace, row):
    title(row, "Held")
    (claim,) = PROPERTIES.claim(workspace.pk, 10)
    pause(workspace, WorkKind.PUSHES)
    assert push(claim, workspace) == "held"
    assert sent(box) == []


@pytest.mark.rule("I34")
def test_an_order_is_held_whoever_asks_for_it(box, workspace, confirmed, drain_all):
    pause(workspace, WorkKind.ORDERS)
    place_now(confirmed)
    assert (confirmed.state, sent(box)) == (Placement.State.CONFIRMED, [])
    resume(workspace)
    assert drain_all()["placements"] == {"sent": 1}


@pytest.mark.rule("I34")
def test_an_order_whose_hold_came_while_its_session_was_read_stays_confirmed(
    box, workspace, confirmed, drain_all
):
    hold_at_the_first_call(box, workspace, WorkKind.ORDERS)
    drain_all()
    confirmed.refresh_from_db()
    assert (confirmed.state, sent(box)) == (Placement.State.CONFIRMED, [])


@pytest.mark.rule("I34")
def test_nobody_cancels_or_moves_an_order_that_is_held(box, workspace, confirmed, drain_all):
    drain_all()
    order = Order.objects.get()
    box.calls.clear()
    pause(workspace, WorkKind.ORDERS)
    for ask in (changes.cancel, changes.reschedule):
        with pytest.raises(OnHold, match=r"held by a person: prices are wrong\. Nothing was sent"):
            ask(order, user="AGENT-1", now=now())
    assert (sent(box), order.change_requests.count()) == ([], 0)


@pytest.mark.rule("I34")
def test_of_an_import_that_is_held_nobody_reads_that_nothing_was_sent(workspace):
    pause(workspace, WorkKind.IMPORTS)
    with pytest.raises(OnHold) as held:
        workspace.refuse_held(WorkKind.IMPORTS)
    assert str(held.value) == "Imports of main are held by a person: prices are wrong."


@pytest.mark.rule("I34")
def test_messages_to_other_systems_wait(workspace, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        subscribe(workspace, receiver.url)
        message = Message("property.in_sync", now(), {"reference": "A-1"})
        outbox.tell(workspace.pk, [message], now=now())
        pause(workspace, WorkKind.MESSAGES)
        turn.take(hooks.queue("outgoing"), workspace.pk)
        assert receiver.came == []
        resume(workspace)
        turn.take(hooks.queue("outgoing"), workspace.pk)
        assert len(receiver.came) == 1


@pytest.mark.rule("I34")
@pytest.mark.parametrize("kind", WorkKind)
def test_a_hold_of_one_kind_stops_the_queues_of_no_other(workspace, kind):
    pause(workspace, kind)
    held = {one.name for one in hooks.plugged().queues if one.is_held(workspace.pk, now())}
    assert (
        held
        == {
            WorkKind.PUSHES: set(),
            WorkKind.ORDERS: set(),
            WorkKind.IMPORTS: {"imports", "sources"},
            WorkKind.FILES: {"files"},
            WorkKind.MESSAGES: {"outgoing", "targets"},
        }[kind]
    )


@pytest.mark.rule("I34")
def test_a_neighbour_goes_on(box, workspace, row, drain_all):
    other = Workspace.objects.create(slug="other", base_url=PLATFORM)
    pause(other)
    title(row, "Ours")
    assert drain_all() == {"properties": {"pushed": 1}}


@pytest.mark.rule("I34")
def test_the_tick_rings_for_no_held_row_and_for_all_when_the_end_has_passed(
    workspace, row, drain_all
):
    title(row, "Held")
    pause(workspace, until=now() + timedelta(minutes=30))
    drain_all()
    assert ticked() == []
    with time_machine.travel(now() + timedelta(minutes=30, seconds=1)):
        assert ("properties", workspace.pk) in ticked()
        assert drain_all()["properties"] == {"pushed": 1}


def ticked() -> list[tuple[str, int]]:
    """Return for whom a tick rings now."""
    published: list[tuple[str, int]] = []
    rings.tick(now(), lambda *pair: published.append(pair), messages=lambda: 0)
    return published


@pytest.mark.rule("I34")
def test_a_held_row_is_read_again_after_an_hour_and_sent_at_once_when_it_is_resumed(
    box, workspace, row, drain_all
):
    title(row, "Held")
    pause(workspace)
    drain_all()
    with time_machine.travel(now() + timedelta(hours=1, seconds=1)):
        assert drain_all()["properties"] == {"held": 1}
        assert sent(box) == []
        resume(workspace)
        assert drain_all()["properties"] == {"pushed": 1}


@pytest.mark.rule("I34")
def test_a_worker_that_read_the_hold_just_before_its_end_leaves_the_row_due(
    box, workspace, row, drain_all
):
    title(row, "Held")
    pause(workspace, WorkKind.PUSHES)
    (claim,) = PROPERTIES.claim(workspace.pk, 10)
    with pytest.raises(OnHold) as held:
        workspace.refuse_held(WorkKind.PUSHES)
    resume(workspace)
    claim.finish(due_at=held.value.until, wait_reason=WaitReason.HELD)
    assert drain_all()["properties"] == {"pushed": 1}


@pytest.mark.rule("I34")
def test_an_upload_that_is_held_is_no_backlog_and_goes_on(workspace, data_dir, admin_user):
    upload(workspace, admin_user, table(["B-1"]))
    imports = hooks.queue("imports")
    assert imports.backlog(now())[workspace.pk][0] == 1
    pause(workspace, WorkKind.IMPORTS)
    assert (imports.backlog(now()), imports.claim(workspace.pk, 1)) == ({}, [])
    assert (turn.take(imports, workspace.pk).counts, ticked()) == ({}, [])
    resume(workspace)
    assert ticked() == [("imports", workspace.pk)]
    assert turn.take(imports, workspace.pk, seconds=20.0).counts == {Import.State.PREVIEWED: 1}


@pytest.mark.rule("I34")
def test_an_import_under_way_writes_no_further_record(workspace, data_dir):
    path = data_dir / "stock.csv"
    path.write_bytes(table(["B-1", "B-2", "B-3"]))
    steps = import_feed(workspace, path, now=now(), batch_size=1)
    assert next(report for report in steps if report.handled == 1)
    pause(workspace, WorkKind.IMPORTS)
    with pytest.raises(OnHold):
        list(steps)
    assert Property.objects.count() == 1
    resume(workspace)
    list(import_feed(workspace, path, now=now()))
    assert Property.objects.count() == 3


@pytest.mark.rule("I34")
def test_a_second_pause_takes_the_place_of_the_first_and_both_stay_in_the_history(workspace):
    anna = User.objects.create(username="anna")
    pause(workspace, WorkKind.PUSHES, program="manage.py pause")
    hold.pause(workspace.pk, [WorkKind.PUSHES], reason="again", now=now(), actor=anna)
    rows = Hold.objects.order_by("pk")
    assert [(one.reason, one.who, one.ended_who) for one in rows] == [
        ("prices are wrong", "manage.py pause", "anna"),
        ("again", "anna", ""),
    ]
    assert resume(workspace) == [WorkKind.PUSHES]
    assert resume(workspace) == []


@pytest.mark.rule("I34")
def test_resuming_what_a_person_holds_does_not_end_watch_only(workspace):
    pause(workspace, WorkKind.PUSHES, cause=HoldCause.WATCH_ONLY)
    pause(workspace, WorkKind.PUSHES)
    assert resume(workspace) == [WorkKind.PUSHES]
    assert Hold.objects.holding(workspace.pk, WorkKind.PUSHES, now()).cause == HoldCause.WATCH_ONLY


@pytest.mark.rule("I34")
def test_events_are_applied_in_a_hold(box, workspace, confirmed, drain_all):
    drain_all()
    pause(workspace)
    box.step()
    box.deliver()
    drain_all()
    assert not ReceivedEvent.objects.filter(due_at__isnull=False).exists()
    assert Order.objects.get().status == "IN_PROGRESS"


@pytest.mark.rule("I34", "I1")
@pytest.mark.parametrize("seed", range(3))
def test_in_any_order_of_edits_holds_and_ends_nothing_held_is_sent_and_all_arrives(
    box, workspace, row, drain_all, seed
):
    rng, wanted, at = random.Random(seed), "Flat", now()
    for number in range(15):
        at += timedelta(minutes=rng.randrange(1, 50))
        with time_machine.travel(at, tick=True):
            match rng.choice(["edit", "edit", "pause", "pause until", "resume"]):
                case "edit":
                    wanted = f"Title {number}"
                    title(row, wanted)
                case "pause":
                    pause(workspace, rng.choice([WorkKind.PUSHES, WorkKind.FILES]))
                case "pause until":
                    pause(workspace, until=at + timedelta(minutes=rng.randrange(1, 90)))
                case "resume":
                    resume(workspace)
            is_held = Hold.objects.holding(workspace.pk, WorkKind.PUSHES, now()) is not None
            before = len(sent(box))
            drain_all()
            assert not (is_held and len(sent(box)) > before)
    with time_machine.travel(at + timedelta(minutes=1), tick=True):
        resume(workspace)
        drain_all()
    row.refresh_from_db()
    (theirs,) = [one for one in box.workspace.properties.values() if one["id"] == row.platform_id]
    assert (theirs["title"], row.due_at, row.attempts) == (wanted, None, 0)


# --- watch only


@pytest.mark.rule("I34")
def test_a_workspace_in_watch_only_reads_and_plans_and_begins_when_somebody_has_seen_the_plan(
    box, drain_all
):
    live = "https://live.example"
    transport.MOUNTS[live] = transport.MOUNTS[PLATFORM]
    try:
        given = Given("live", live, TOKEN)
        workspace, _ = connecting.store(given, now=now())
        create(workspace, "NEW-1", {"title": "New"}, origin="ADMIN", now=now())
        create(workspace, "SEED-1", {"title": "Other title"}, origin="ADMIN", now=now())
        drain_all()
        assert sent(box) == []
        plan = hold.first_plan(workspace.pk)
        assert plan == {
            "properties to create": 1,
            "properties to be matched first": 0,
            "properties to change": 1,
            "properties in conflict": 0,
            "properties not read yet": 0,
            "properties not compared": 0,
            "orders to place": 0,
        }
        assert not hold.go_live(workspace.pk, seen="0-0-0-0-0-0-0", now=now())
        assert hold.go_live(workspace.pk, seen="1-0-1-0-0-0-0", now=now())
        drain_all()
        assert sorted(method for method, _ in sent(box)) == ["PATCH", "POST"]
    finally:
        del transport.MOUNTS[live]


# --- what people and monitors see


@pytest.mark.rule("I34")
def test_a_held_property_and_a_held_order_say_who_holds_them_and_why(
    workspace, row, confirmed, drain_all, boss
):
    title(row, "Held")
    pause(workspace, program="anna")
    drain_all()
    (shown,) = Property.objects.with_state(now()).filter(sync_state=SyncState.HELD)
    assert (shown.pk, shown.state_at(now())) == (row.pk, SyncState.HELD)
    page = boss.get(f"/admin/properties/property/{row.pk}/change/").content.decode()
    assert "Held by a person" in page
    assert "Changes of main are held by anna: prices are wrong. Nothing was sent." in page
    page = boss.get(f"/admin/orders/placement/{confirmed.pk}/change/").content.decode()
    assert "Nothing was ordered: held by anna: prices are wrong." in page


@pytest.mark.rule("I34")
def test_doctor_and_metrics_name_what_is_held(workspace, settings, client):
    pause(workspace, WorkKind.FILES, program="anna")
    found = [one for one in connection.findings(workspace, now()) if one.name == "pause"]
    assert [(one.verdict, one.found, one.remedy) for one in found] == [
        ("warning", "Files of main: held by anna. prices are wrong.", "manage.py resume main")
    ]
    settings.METRICS_TOKEN = "token"
    text = client.get("/metrics", headers={"authorization": "Bearer token"}).content.decode()
    assert 'crm_sync_held_seconds{cause="person",kind="files",workspace="main"}' in text
