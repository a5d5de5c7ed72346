"""The audit finds nothing wrong at any instant; each invariant names rows that break it (I31)."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import Q
from django.utils.timezone import now

from crm_sync.hooks import CheckGroup
from crm_sync.inbox import store as inbox_store
from crm_sync.integrity import audit as audit_module
from crm_sync.models import (
    Alarm,
    ChangeSequence,
    OutgoingMessage,
    ReceivedEvent,
    ReportedChange,
    Slot,
    Subscription,
    WebhookMonitor,
    Workspace,
)
from orders.models import (
    EPOCH,
    Assignment,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    ReminderSettings,
    StatusChange,
    Target,
    TargetFile,
    UserList,
)
from orders.models.news import News
from orders.people.preferences import choose
from orders.platform_users import user_list
from properties import recurring
from properties.domain.editing import create, edit
from properties.models import Conflict, Import, Property, Recurring
from sandbox.app import Sandbox

FAR = datetime(2099, 1, 1, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TOKEN = uuid.uuid4()


def audit(*words: str) -> dict[str, Any]:
    """Run the command; what it printed as JSON, after its exit code was compared with that."""
    out, code = StringIO(), 0
    try:
        call_command("audit", *words, "--json", stdout=out)
    except CommandError as error:
        code = error.returncode
    found = json.loads(out.getvalue())
    assert code == (0 if found["holds"] else 1)
    return found


def broken(found: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [
        (group["group"], invariant["invariant"], invariant["rows"])
        for group in found["groups"]
        for invariant in group["broken"]
    ]


def parts(found: dict[str, Any], title: str) -> dict[str, int]:
    group = next(group for group in found["groups"] if group["group"] == title)
    assert group["total"] == sum(group["parts"].values())
    return {name: count for name, count in group["parts"].items() if count}


def store(workspace: Workspace, body: dict[str, Any] | bytes) -> ReceivedEvent:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    callback = ReceivedEvent.Source.CALLBACK
    inbox_store.store(workspace.pk, raw, headers={}, method="POST", source=callback, now=now())
    return ReceivedEvent.objects.latest("pk")


def moved(order: str, previous: str, new: str, **fields: Any) -> dict[str, Any]:
    return {
        "event": "ORDER_STATUS_UPDATED",
        "orderId": order,
        "previousStatus": previous,
        "newStatus": new,
        "occurredAt": now().isoformat(),
        **fields,
    }


@pytest.fixture
def lived(box: Sandbox, workspace: Workspace, drain_all) -> Workspace:
    """Return a workspace in which a bit of everything has happened, by the real ways."""
    workspace.conflict_policy = Workspace.ConflictPolicy.ASK
    workspace.save()
    for n in range(3):
        create(workspace, f"H-{n}", {"title": f"House {n}"}, origin="API", now=now())
    recurring.begin(workspace.pk, now())
    user_list.ask(workspace.pk, now())
    agent = User.objects.create(username="agent")
    choose(agent, kinds=[News.ACTION], only_mine=True, time_zone="", language="", now=now())
    drain_all()
    words = ("--reference", "H-0", "--user", "AGENT-1", "--product", "GROUND_PHOTO")
    call_command("place_order", "main", *words, stdout=StringIO())
    order, assignment = Order.objects.get(), Assignment.objects.get()
    for _ in range(4):
        box.advance(assignment.platform_id)
        box.deliver()
        drain_all()
    body = moved(order.platform_id, "COMPLETED", "COMPLETED")
    store(workspace, body)
    store(workspace, json.dumps(body, indent=1).encode())  # the same event: a duplicate
    store(workspace, moved(order.platform_id, "PLACED", "IN_PROGRESS", occurredAt=str(LONG_AGO)))
    store(workspace, b"no JSON")
    drain_all()
    row = Property.objects.get(object_reference_id="H-1")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    edit(row, {"title": "Ours"}, origin="API", now=now())
    row = Property.objects.get(object_reference_id="H-2")
    edit(row, {"numberOfRooms": 3}, origin="API", now=now())
    drain_all()
    row.refresh_from_db()
    edit(row, {"numberOfRooms": None}, origin="API", now=now())
    drain_all()
    return workspace


@pytest.mark.rule("I31")
def test_a_system_in_which_much_has_happened_adds_up(lived):
    found = audit()
    assert broken(found) == []
    assert found["holds"] is True
    counts = parts(found, "received events")
    # Events of one moment are settled by their digests.
    assert (counts.pop("applied") + counts.pop("stale"), counts) == (
        13,
        {"duplicate": 1, "not understood": 1},
    )
    assert parts(found, "properties") == {"in sync": 1, "with a person": 2}
    assert parts(found, "orders") == {"ended": 1}
    # Photos in HD and WEB, a brochure, and the list of what was generated.
    assert parts(found, "materials") == {"fetched": 4}
    assert parts(found, "placements") == {"placed": 1}
    assert parts(found, "users") == {"there": 3}
    assert parts(found, "lists of users") == {"read": 1}


def first(model: Any, **where: Any) -> Any:
    return model.objects.filter(**where).order_by("pk").first()


def plant(model: Any, pk: Any, **columns: Any) -> None:
    """Write past the product, as a bug or a person with SQL would."""
    assert model.objects.filter(pk=pk).update(**columns) == 1


def received_event(which: str = "APPLIED", /, **columns: Any):
    def act(workspace: Workspace) -> str:
        row = first(ReceivedEvent, state=which)
        plant(ReceivedEvent, row.pk, **columns)
        return str(row)

    return act


def house(reference: str = "H-0", at: str = "", **columns: Any):
    def act(workspace: Workspace) -> str:
        plant(Property, first(Property, object_reference_id=reference).pk, **columns)
        return f"{reference}: {at}" if at else reference

    return act


def row_of(model: Any, **columns: Any):
    def act(workspace: Workspace) -> str:
        row = first(model)
        plant(model, row.pk, **columns)
        return str(row)

    return act


def missing(workspace: Workspace) -> str:
    Workspace.objects.update(credentials_at=now())
    Recurring.objects.filter(kind="SWEEP").delete()
    return f"sweep of workspace {workspace.pk}"


def upload(**columns: Any):
    def act(workspace: Workspace) -> str:
        return str(Import.objects.create(workspace=workspace, name="f", **columns))

    return act


def second_of_one_event(workspace: Workspace) -> str:
    one, two = ReceivedEvent.objects.filter(state="APPLIED").order_by("pk")[:2]
    plant(ReceivedEvent, two.pk, canonical_digest=one.canonical_digest)
    return f"{one}, {two}"


def no_original(workspace: Workspace) -> str:
    row = first(ReceivedEvent, state="DUPLICATE")
    plant(ReceivedEvent, row.pk, canonical_digest="e" * 64)
    return str(row)


def too_many_calls(workspace: Workspace) -> str:
    plant(Workspace, workspace.pk, max_under_way=1)
    for number in (90, 91):
        Slot.objects.create(
            workspace=workspace, number=number, lease_token=TOKEN, lease_until=now() + MINUTE / 6
        )
    return "main"


def unwatched(workspace: Workspace) -> str:
    WebhookMonitor.objects.all().delete()
    return "main"


def foreign_assignment(workspace: Workspace) -> str:
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    plant(Assignment, first(Assignment).pk, workspace=other)
    return str(first(Order))


def foreign_property(workspace: Workspace) -> str:
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    row = Property.objects.create(workspace=other, object_reference_id="X", platform_id="9")
    plant(Order, first(Order).pk, real_estate_property=row)
    return str(first(Order))


def foreign_order(model: Any):
    def act(workspace: Workspace) -> str:
        other = Workspace.objects.create(slug="other", base_url="http://other.test")
        row = Order.objects.create(workspace=other, platform_id="9", status="COMPLETED")
        plant(model, first(model).pk, order=row)
        return str(first(model))

    return act


def file(**columns: Any):
    def act(workspace: Workspace) -> str:
        where = {"workspace": workspace, "material": first(Material), "role": "FILE"}
        return str(MaterialFile.objects.create(**(where | columns)))

    return act


def foreign_file(workspace: Workspace) -> str:
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    ready = MaterialSet.objects.create(workspace=other, ready_at=now(), fetched_at=now())
    theirs = Material.objects.create(material_set=ready, platform_id="9")
    return file(material=theirs, due_at=now())(workspace)


def targeted(**columns: Any):
    def act(workspace: Workspace) -> str:
        where = {"workspace": workspace, "name": "CRM", "address": "/a", "due_at": now()}
        return str(Target.objects.create(**(where | columns)))

    return act


def file_there(**columns: Any):
    def act(workspace: Workspace) -> str:
        targeted()(workspace)
        where = {"workspace": workspace, "material": first(Material), "target": first(Target)}
        return str(TargetFile.objects.create(**(where | {"due_at": now()} | columns)))

    return act


def foreign_target(workspace: Workspace) -> str:
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    targeted(workspace=other)(workspace)
    return file_there(target=first(Target))(workspace)


def told(**columns: Any):
    def act(workspace: Workspace) -> str:
        where = {"workspace": workspace, "address": "https://x.test", "due_at": now()}
        return str(Subscription.objects.create(**(where | columns)))

    return act


def said(**columns: Any):
    def act(workspace: Workspace) -> str:
        told()(workspace)
        where = {"workspace": workspace, "subscription": first(Subscription), "kind": "test"}
        return str(OutgoingMessage.objects.create(**(where | columns)))

    return act


def alarmed(**columns: Any):
    def act(workspace: Workspace) -> str:
        where = {"workspace": workspace, "kind": "source_away", "page": "/", "began_at": now()}
        return str(Alarm.objects.create(**(where | columns)))

    return act


def reminded(**columns: Any):
    def act(workspace: Workspace) -> str:
        person = User.objects.create_user("reminded")
        return str(ReminderSettings.objects.create(person=person, **columns))

    return act


def numbered(**columns: Any):
    def act(workspace: Workspace) -> str:
        ChangeSequence.objects.create(workspace=workspace, last=5, removed=2)
        where = {"workspace": workspace, "kind": "test", "occurred_at": now()}
        return str(ReportedChange.objects.create(**(where | columns)))

    return act


def order_lost(workspace: Workspace) -> str:
    row = first(ReceivedEvent, state="APPLIED", kind="ORDER_STATUS_UPDATED")
    plant(ReceivedEvent, row.pk, order_platform_id="nowhere")
    return str(row)


def undecided(workspace: Workspace) -> str:
    Conflict.objects.update(decision="OURS")
    return "H-1: title"


def unasked(workspace: Workspace) -> str:
    plant(Property, first(Property, object_reference_id="H-1").pk, problem={})
    Property.objects.filter(object_reference_id="H-1").update(due_at=now())
    return "H-1: title"


MINUTE = timedelta(minutes=1)
EXPIRED = {"lease_token": TOKEN, "lease_until": LONG_AGO}
ENDLESS = {"lease_token": TOKEN, "lease_until": FAR}
NOBODY = "is leased by a dead worker, and not due"
AHEAD = "is newer than what the mirror holds"
PARENT = "parentRealtyReferenceId"
UNGIVEN = "has a number that its sequence has not given, or has removed"
TOO_LONG = "is leased for longer than a lease lasts"
D, P, W = "received events", "properties", "webhooks"
ORD, MAT, IMP, PLA = "orders", "materials", "imports", "placements"
MAI = "mails to people"

PLANTED = [
    (D, "failed and has tries left, but is not due", received_event("QUARANTINED", state="FAILED")),
    (D, "is due later than any wait", received_event("QUARANTINED", state="RECEIVED", due_at=FAR)),
    (
        D,
        "is due later than any wait",
        received_event("QUARANTINED", state="EARLY", due_at=FAR, occurred_at=LONG_AGO),
    ),
    (D, "was applied, and so was another copy of this event", second_of_one_event),
    (D, "is the duplicate of a received event that is not there", no_original),
    (D, NOBODY, received_event(**EXPIRED)),
    (D, TOO_LONG, received_event("QUARANTINED", state="RECEIVED", due_at=LONG_AGO, **ENDLESS)),
    ("workspaces", "has a webhook that nobody polls", unwatched),
    ("workspaces", "has more calls under way than it allows", too_many_calls),
    (W, "is polled later than any wait", row_of(WebhookMonitor, due_at=FAR)),
    (W, TOO_LONG, row_of(WebhookMonitor, **ENDLESS)),
    ("slots", TOO_LONG, row_of(Slot, **ENDLESS)),
    (
        P,
        "differs, though nothing made it due",
        house(at="objectReferenceId, title", desired={"title": "P", "objectReferenceId": "X"}),
    ),
    (P, "may have been sent, but the row is not due", house(at="title", inflight={"title": ["A"]})),
    (P, "was perhaps created, but is not due", house(create_sent_at=LONG_AGO)),
    (P, NOBODY, house(**EXPIRED)),
    (P, TOO_LONG, house(due_at=LONG_AGO, **ENDLESS)),
    (P, "waits for a decision that nobody is asked for", undecided),
    (P, "has an open conflict at a field that does not wait", unasked),
    (IMP, NOBODY, upload(state="DONE", ended_at=LONG_AGO, **EXPIRED)),
    (ORD, "is open, but never read again", row_of(Order, status="IN_PROGRESS", due_at=None)),
    (ORD, "has an assignment in another workspace", foreign_assignment),
    (ORD, "is for a property in another workspace", foreign_property),
    (ORD, NOBODY, row_of(Order, due_at=None, **EXPIRED)),
    ("applied to orders", "was applied to an order that is not there", order_lost),
    (MAT, NOBODY, row_of(MaterialSet, **EXPIRED)),
]
PLANTED += [
    (MAT, "belongs to an order in another workspace", foreign_order(MaterialSet)),
    ("files", "is of a material in another workspace", foreign_file),
    ("files", NOBODY, file(problem="No.", **EXPIRED)),
    ("files", TOO_LONG, file(due_at=LONG_AGO, **ENDLESS)),
    (PLA, "has an order in another workspace", foreign_order(Placement)),
    ("lists of users", "is read later than any wait", row_of(UserList, due_at=FAR)),
    ("lists of users", TOO_LONG, row_of(UserList, **ENDLESS)),
    ("recurring work", "is done later than any wait", row_of(Recurring, due_at=FAR)),
    ("recurring work", TOO_LONG, row_of(Recurring, **ENDLESS)),
    ("recurring work", "is never done", missing),
    (MAI, "is sent later than any wait", row_of(PersonSettings, due_at=FAR)),
    (MAI, TOO_LONG, row_of(PersonSettings, **ENDLESS)),
    (PLA, NOBODY, row_of(Placement, **EXPIRED)),
    (PLA, TOO_LONG, row_of(Placement, due_at=LONG_AGO, **ENDLESS)),
]
PLANTED += [
    ("subscriptions", "is tried later than any wait", told(due_at=FAR)),
    ("subscriptions", TOO_LONG, told(**ENDLESS)),
    ("alarms", "is reported later than any wait", alarmed(due_at=FAR)),
    ("alarms", "ended, and nothing reports it", alarmed(told_at=LONG_AGO, ended_at=LONG_AGO)),
    ("alarms", TOO_LONG, alarmed(due_at=LONG_AGO, **ENDLESS)),
    ("reminders", "is looked at later than any wait", reminded(due_at=FAR)),
    ("reminders", TOO_LONG, reminded(due_at=LONG_AGO, **ENDLESS)),
    ("targets", "is tried later than any wait", targeted(due_at=FAR)),
    ("targets", TOO_LONG, targeted(**ENDLESS)),
    ("files at targets", "is tried later than any wait", file_there(due_at=FAR)),
    ("files at targets", "is at a target or of a material in another workspace", foreign_target),
    ("changes", UNGIVEN, numbered(number=6)),
    ("changes", UNGIVEN, numbered(number=2)),
    ("outgoing messages", "is sent later than any delay", said(due_at=FAR)),
]
NEWER = [
    ("ORDER_STATUS", "status_at"),
    ("ASSIGNMENT_STATUS", "status_at"),
    ("APPOINTMENT", "scheduled_watermark"),
    ("ESTIMATE", "estimate_watermark"),
    ("PHOTOGRAPHER", "photographer_watermark"),
]


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.rule("I31")
def test_each_law_names_the_rows_that_break_it_and_no_other(lived):
    for group, invariant, act in PLANTED:
        with undone():
            name = act(lived)
            found = [
                (group, invariant, ", ".join(rows))
                for group, invariant, rows in broken(audit("main"))
            ]
        assert found == [(group, invariant, name)]
    assert broken(audit()) == []


@pytest.mark.rule("I31")
@pytest.mark.once
def test_every_law_is_broken_by_a_test(lived):
    invariants = {
        (group.title, invariant.name)
        for group in audit_module.check_groups(lived, now())
        for invariant in group.invariants
    }
    leases = {NOBODY, TOO_LONG}  # the same ones in every group of rows that are leased
    tried = {(group, invariant) for group, invariant, _ in PLANTED} | {("timeline", AHEAD)}
    assert {pair for pair in invariants - tried if pair[1] not in leases} == set()


def test_who_wants_no_mail_since_a_worker_died_with_their_row_breaks_no_law(lived):
    off = {"on_action": False, "due_at": None, "told_until": None}
    plant(PersonSettings, first(PersonSettings).pk, **off, **EXPIRED)
    reminded(due_at=None, **EXPIRED)(lived)
    assert broken(audit()) == []


def test_a_timeline_that_is_ahead_of_the_mirror_is_named(lived):
    for fact, mark in NEWER:
        lines = StatusChange.objects.filter(fact=fact, source="CALLBACK").order_by("pk")
        model = Order if fact == "ORDER_STATUS" else Assignment
        with undone():
            plant(model, first(model).pk, **{mark: EPOCH})
            found = broken(audit())
        assert lines
        assert found == [("timeline", AHEAD, [str(line) for line in lines])]


def test_a_row_in_no_part_is_found_even_where_no_law_names_it(lived, app_hooks):
    part = {"to be read": Q(due_at__isnull=False)}
    group = CheckGroup("orders", Order.objects.all(), part)
    app_hooks(integrity_checks=[lambda workspace_id, now: [group]])
    plant(Order, first(Order).pk, due_at=None)
    found = audit()
    assert broken(found) == [("orders", audit_module.NOT_IN_ONE_PART, [str(first(Order))])]


@pytest.mark.once
def test_the_checks_of_a_workspace_are_read_before_those_of_the_next_are_made(lived, app_hooks):
    # PostgreSQL ends a transaction that rests while the checks of a thousand are made.
    done: list[str] = []

    def checks(workspace_id: int, _: datetime) -> list[CheckGroup]:
        done.append("made")
        return [
            CheckGroup(
                "slots", Slot.objects.filter(workspace=workspace_id), {"all": Q(pk__isnull=False)}
            )
        ]

    def note(execute: Any, *statement: Any) -> Any:
        done.append("read")
        return execute(*statement)

    Workspace.objects.create(slug="second", base_url="https://platform.test")
    app_hooks(integrity_checks=[checks])
    with connection.execute_wrapper(note):
        audit()
    first, second = (place for place, one in enumerate(done) if one == "made")
    assert "read" in done[first:second]


@pytest.mark.once
def test_the_command_prints_the_groups_and_its_exit_code_says_whether_they_hold(lived):
    out = StringIO()
    call_command("audit", "main", stdout=out)
    applied = ReceivedEvent.objects.filter(state="APPLIED").count()
    rest = f"duplicate 1 + stale {13 - applied} + not understood 1"
    assert (
        out.getvalue().splitlines()[0] == f"main: received events 15 = applied {applied} + {rest}"
    )
    row = first(ReceivedEvent, state="QUARANTINED")
    plant(ReceivedEvent, row.pk, state="FAILED")
    out = StringIO()
    with pytest.raises(CommandError) as failure:
        call_command("audit", stdout=out)
    assert (failure.value.returncode, str(failure.value)) == (
        1,
        "the audit finds inconsistencies: main: received events",
    )
    assert out.getvalue().splitlines()[:2] == [
        f"main: received events 15 ≠ applied {applied} + duplicate 1 + stale {13 - applied}",
        f"    1 failed and has tries left, but is not due: {row}",
    ]


@pytest.mark.once
def test_another_workspace_is_left_out_and_an_unknown_one_is_wrong_use(lived):
    Workspace.objects.create(slug="other", base_url="http://other.test", auth_secret="s")
    assert audit("main")["holds"] is True
    assert [one["workspace"] for one in audit()["groups"] if not one["holds"]] == ["other"]
    with pytest.raises(CommandError) as failure:
        call_command("audit", "nowhere")
    assert failure.value.returncode == 2


def test_many_rows_are_counted_and_the_first_are_named(lived):
    Property.objects.bulk_create(
        Property(workspace=lived, object_reference_id=f"M-{n}") for n in range(30)
    )
    ((_, invariant, rows),) = broken(audit())
    assert (invariant, rows) == (
        "is not on the platform, and nothing made it due",
        [f"M-{n}" for n in range(20)],
    )
    text = StringIO()
    with pytest.raises(CommandError):
        call_command("audit", stdout=text)
    assert f"    30 {invariant}: {', '.join(rows)} and 10 more" in text.getvalue().splitlines()
    assert audit("--quick")["holds"] is True


def test_properties_that_mirror_others_are_counted_on_one_line(lived):
    """As after a part of a backup was restored."""
    Property.objects.bulk_create(
        Property(
            workspace=lived,
            object_reference_id=f"M-{n}",
            platform_id=f"P-{n}",
            desired={"id": "1"},
            observed={"id": "1"},
        )
        for n in range(2)
    )
    assert broken(audit()) == [(P, "mirrors another property", ["M-0 (P-0): 1", "M-1 (P-1): 1"])]


def test_rows_that_wait_are_told_by_what_they_wait_for(box, workspace, drain_all):
    create(workspace, "PARENT", {"title": "P"}, origin="API", now=now())
    create(workspace, "CHILD", {PARENT: "PARENT"}, origin="API", now=now())
    assert parts(audit(), "properties") == {"ready": 2}
    child = Property.objects.filter(object_reference_id="CHILD")
    Property.objects.filter(object_reference_id="PARENT").update(due_at=now() + MINUTE)
    drain_all()
    assert parts(audit(), "properties") == {"behind a parent": 1, "later": 1}
    held = now() + MINUTE / 6
    child.update(lease_token=TOKEN, lease_until=held)
    Workspace.objects.update(paused_until=now() + MINUTE)
    assert parts(audit(), "properties") == {"under way": 1, "paused": 1}
