"""Rows with which the pages show their texts; the words of people are digits and single letters.

Each line of the overview is there once, and each state that a list can show.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F

from crm_sync.models import (
    Alarm,
    CallCount,
    Gap,
    Heartbeat,
    ReceivedEvent,
    Subscription,
    WebhookMonitor,
    Workspace,
    hold,
)
from crm_sync.models.platform_call import CallResult
from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.platform.work_kind import WorkKind
from crm_sync.webhook.configuration import GONE
from orders.models import (
    Assignment,
    Material,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    StatusChange,
    Target,
    TargetFile,
    UserList,
)
from properties.drift.findings import DriftVerdict, entry
from properties.models import Conflict, DeliveredFile, DriftCheck, Import, Property, Sender, Source
from tests.crm_sync.admin_pages import make_received_event, make_workspace

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def fill(now: datetime) -> None:
    """Make the rows, for the one person there is."""
    person = User.objects.get()
    PersonSettings.objects.update(only_mine=False, seen_until=now - DAY)
    main = make_workspace("1", problem=Problem("5", ErrorKind.BUSY), paused_until=now + HOUR)
    _workspaces(main, now)
    _events(main, now)
    _properties(main, now)
    _imports(main, now)
    _orders(main, person, now)
    _targets(main, now)


def _workspaces(main: Workspace, now: datetime) -> None:
    refused = Problem("5", ErrorKind.UNAUTHORIZED)
    alarm = {"key": "1", "page": "/", "told_at": now, "problem": "5", "due_at": now + HOUR}
    Alarm.objects.create(workspace=main, kind="source_away", began_at=now, **alarm)
    make_workspace("2", problem=refused, clock_ahead=3 * HOUR, clock_noted_at=now)
    make_workspace("3", fixed_token="", client_secret="")
    callbacks = {"refused_callbacks": 2, "last_refusal": "4", "last_refusal_at": now}
    Workspace.objects.filter(slug="2").update(restored_at=now - HOUR, **callbacks)
    drift = {"authType": {"theirs": "1", "ours": "2"}}
    failed = {"failed": 2, "last_failure": "5", "last_failure_at": now - HOUR}
    seen: dict[str, Any] = {"due_at": now + HOUR, "drift_since": now}
    WebhookMonitor.objects.create(workspace=main, drift=drift, **failed, **seen)
    other = Workspace.objects.get(slug="2")
    WebhookMonitor.objects.create(workspace=other, drift={GONE: {"theirs": "1"}}, **seen)
    hold.pause(main.pk, [WorkKind.PUSHES, WorkKind.FILES], reason="7", now=now, program="8")
    hold.watch_only(other.pk, now=now)
    for workspace, began in ((main, now - DAY), (other, None)):
        Gap.objects.create(
            workspace=workspace, why="OVERFLOW", began_at=began, ended_at=now, noticed_at=now
        )
    died = {"started_at": now - DAY, "seen_at": now - HOUR / 2}
    Heartbeat.objects.create(kind="worker", name="9", **died)
    for result in (CallResult.OK, CallResult.BUSY, CallResult.FAILED):
        CallCount.objects.create(
            workspace=main,
            hour=now.replace(minute=0, second=0, microsecond=0),
            result=result,
            count=3,
            milliseconds=9,
        )
    for enabled in (True, False):
        Subscription.objects.create(
            workspace=main,
            address="https://1.2",
            kinds=["1"],
            secret="x",
            problem="5",
            failing_since=now - 2 * HOUR,
            is_enabled=enabled,
            due_at=now + HOUR if enabled else None,
        )


def _events(main: Workspace, now: datetime) -> None:
    causes = {
        "EARLY": {"problem_kind": "EARLY", "due_at": now + HOUR},
        "QUARANTINED": {"problem_kind": "MISSING", "cause": "1"},
        "FAILED": {"problem_kind": "ERROR", "cause": "2", "due_at": now + HOUR},
    }
    for state in ReceivedEvent.State.values:
        make_received_event(main, state=state, received_at=now, **causes.get(state, {}))
    late = {"received_at": now - DAY, "due_at": now - HOUR}
    make_received_event(Workspace.objects.get(slug="2"), **late)
    ReceivedEvent.objects.update(digest=F("pk"))


def _properties(main: Workspace, now: datetime) -> None:
    for number, kind in enumerate(("CONFLICT", "REFUSED", "DIFFERS", "CANNOT_CLEAR", "GONE")):
        row = Property.objects.create(
            workspace=main, object_reference_id=f"{number}", platform_id=f"{number}",
            problem={kind: {"title": "1"}},
        )  # fmt: skip
        if kind == "CONFLICT":
            Conflict.objects.create(real_estate_property=row, path="title", ours="1", theirs="2")
    Property.objects.create(workspace=main, object_reference_id="8", due_at=now)
    for kind, count in (("SAMPLE", 9), ("SWEEP", 9)):
        DriftCheck.objects.create(
            workspace=main,
            kind=kind,
            started_at=now - HOUR,
            finished_at=now,
            compared=10,
            differing=count,
            unexplained=count,
            fields=dict.fromkeys(("title", "numberOfRooms", "floor", "city"), 1),
            found=[entry(n, f"{n}", DriftVerdict.UNEXPLAINED, ("title",)) for n in range(9)],
        )


def _imports(main: Workspace, now: datetime) -> None:
    sender = Sender.objects.create(workspace=main, name="1")
    for name, of in (("2", sender), ("3", None)):
        Import.objects.create(
            workspace=main, sender=of, name=name, state="PREVIEWED", due_at=now + DAY
        )
    source: dict[str, Any] = {
        "workspace": main,
        "sender": sender,
        "due_at": now + HOUR,
        "fetched_at": now,
    }
    Source.objects.create(**source, address="https://1.2", attempts=3, problem="5")
    long_ago = now - 9 * DAY
    Source.objects.create(**source, address="https://1.3", set_at=long_ago, expect_hours=24)
    in_turn = {"delivery": "IN_TURN", "skips_before": now}
    stopped = Source.objects.create(**source, address="/1/", **in_turn)
    DeliveredFile.objects.create(source=stopped, name="1", state="STOPPED", problem="5")


def _targets(main: Workspace, now: datetime) -> None:
    ready = MaterialSet.objects.create(
        workspace=main, order=Order.objects.first(), ready_at=now, fetched_at=now
    )
    material = Material.objects.create(material_set=ready, platform_id="1", file_name="1.1")
    target: dict[str, Any] = {"workspace": main, "due_at": now + HOUR}
    failed = {"attempts": 3, "problem": "5", "failing_since": now - HOUR}
    Target.objects.create(**target, name="1", kind="SFTP", address="sftp://1.2/", **failed)
    other = Target.objects.create(**target, name="2", kind="SFTP", address="sftp://1.3/")
    TargetFile.objects.create(
        workspace=main, target=other, material=material, name="1/2.3", problem="5"
    )


def _orders(main: Workspace, person: User, now: datetime) -> None:
    for number in ("1", "2"):
        order = Order.objects.create(
            workspace=main,
            platform_id=number,
            object_reference_id=number,
            status="IN_PROGRESS",
            problem=Problem("5", ErrorKind.SLOW) if number == "1" else "",
            due_at=now + HOUR,
        )
        Assignment.objects.create(
            workspace=main,
            order=order,
            platform_id=number,
            status="ACTION_REQUIRED",
            scheduled_at=now + int(number) * HOUR,
        )
        StatusChange.objects.create(
            order=order,
            fact="ORDER_STATUS",
            previous="PLACED",
            new="COMPLETED",
            news="DELIVERED",
            source="READ",
            occurred_at=now - HOUR,
        )
    mine = {"workspace": main, "created_by": person}
    for state, problem in (("DRAFT", ""), ("UNCERTAIN", Problem("5", ErrorKind.SLOW))):
        Placement.objects.create(object_reference_id="1", state=state, problem=problem, **mine)
    slow = {"problem": Problem("5", ErrorKind.SLOW), "attempts": 3, "due_at": now + HOUR}
    UserList.objects.create(workspace=main, **slow)
    mail = {"on_cancelled": True, "told_until": now, "due_at": now + HOUR}
    PersonSettings.objects.update(problem="5", **mail)
