"""A small installation with rows in each table, made by what people and programs do in a day."""

import json
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path

from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.inbox import store
from crm_sync.models import Alarm, ProviderAccount, ReceivedEvent, Workspace, call_log
from crm_sync.models.hold import pause, resume
from crm_sync.outgoing import sequence
from crm_sync.platform import transport
from crm_sync.platform.work_kind import WorkKind
from crm_sync.security import second_factor
from crm_sync.tasks import publish
from crm_sync.webhook.sample_events import sample
from crm_sync.work import heartbeat
from orders.calendar import feed, reminders
from orders.materials import file_requests
from orders.models import Assignment, Material, Order, Reminder, Target, TargetFile
from orders.models.news import News
from orders.people.preferences import choose
from orders.placing import changes, selection
from orders.placing.failures import OutcomeUnknown
from orders.platform_users import user_list
from properties.domain import bulk_edit, undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.domain.conflicts import decide, of_side
from properties.domain.editing import create, edit
from properties.forms.set_form import wanted
from properties.models import (
    Batch,
    Change,
    Conflict,
    DeliveredFile,
    Import,
    Property,
    Sender,
    Source,
)
from properties.push import batches
from sandbox.app import Sandbox
from tests import placing
from tests.api import encoded, program
from tests.conftest import PLATFORM
from tests.crm_sync.polls import happen, poll_now
from tests.crm_sync.receivers import subscribe
from tests.placing import place_at_once
from tests.platforms import Between
from tests.properties.recurring import Kind, take
from tests.properties.test_full_feed_guard import as_idx
from tests.wsgi import WsgiAdapter

NOWHERE = "http://127.0.0.1:9/hook"  # where nobody takes our messages


def fill(
    workspace: Workspace, box: Sandbox, drain: Callable[[], object], folder: Path, boss: Client
) -> None:
    """Work for a day; in the end something is due in each queue that calls the platform."""
    Workspace.objects.update(conflict_policy="ask")
    agent = _people(workspace)
    subscribe(workspace, NOWHERE)
    heartbeat.beat(heartbeat.Kind.WORKER, "worker", now())
    _properties(workspace, box, drain, agent)
    _feeds(workspace, drain, folder, boss)
    _orders(workspace, box, drain, boss)
    happen(box, 12, "DROPPED")
    poll_now(workspace)
    for kind in Kind:
        take(kind, workspace)
    drain()
    _left_over(workspace, agent)
    call_log.flush()


def _people(workspace: Workspace) -> User:
    agent = User.objects.create_user("agent", "agent@crm.test", is_staff=True)
    agent.groups.add(Group.objects.get(name="Agents"))
    workspace.people.add(agent)
    choose(
        agent, kinds=list(News), only_mine=False, time_zone="Europe/Zurich", language="", now=now()
    )
    feed.renew(agent, only_mine=True, now=now())
    second_factor.finish(agent, second_factor.begin(agent))
    Client().post(reverse("admin:login"), {"username": "agent", "password": "wrong"})
    user_list.ask(workspace.pk, now())
    ProviderAccount.objects.create(user=agent, issuer="https://login.test", subject="1")
    return agent


def _properties(
    workspace: Workspace, box: Sandbox, drain: Callable[[], object], agent: User
) -> None:
    program(workspace).call("PUT", encoded("API-1"), {"title": "By a program"})
    for name in ("A-1", "A-2", "A-3"):
        create(workspace, name, {"title": name}, origin="ADMIN", now=now())
    drain()
    for row in Property.objects.filter(object_reference_id__in=("A-1", "A-2")):
        box.edit_property(row.platform_id, {"title": "Theirs"})
        edit(row, {"title": "Ours"}, origin="ADMIN", now=now())
    drain()
    decided = Conflict.objects.get(real_estate_property__object_reference_id="A-1")
    decide([of_side(decided, Conflict.Decision.OURS)], actor=agent, now=now())
    rows = Property.objects.filter(object_reference_id="A-3")
    batch = batches.choose(rows, Batch.Kind.PUSH, actor=agent, now=now())
    batches.start(batch, actor=agent, now=now())
    drain()
    several = batches.choose(rows, Batch.Kind.SET, actor=agent, now=now())
    bulk_edit.plan(several, wanted({"title": "Set"}), entered={"title": "Set"}, now=now())
    newest = Change.objects.order_by("pk").last()
    undo_steps.request(
        workspace,
        ChangeSelection(person=agent.pk),
        up_to=newest.pk if newest else 0,
        actor=agent,
        now=now(),
    )
    pause(workspace.pk, [WorkKind.IMPORTS], reason="a test", actor=agent, now=now())
    resume(workspace.pk, [WorkKind.IMPORTS], actor=agent, now=now())
    drain()


def _feeds(workspace: Workspace, drain: Callable[[], object], folder: Path, boss: Client) -> None:
    (folder / "unload.txt").write_text(as_idx(["F-1", "F-2"]))
    Source.objects.create(
        workspace=workspace,
        sender=Sender.objects.create(workspace=workspace, name="Agency"),
        address=f"{folder}/unload.txt",
        secret="canary-source-secret",
        due_at=now(),
    )
    drain()
    files = Source.objects.get()
    DeliveredFile.objects.create(source=files, name="0001.xml", state="SKIPPED")
    chosen = {"action": "release", "_selected_action": Import.objects.get().pk}
    assert boss.post(reverse("admin:properties_import_changelist"), chosen).status_code == 302
    drain()


def _orders(workspace: Workspace, box: Sandbox, drain: Callable[[], object], boss: Client) -> None:
    placed = {"user": "AGENT-1", "products": ["GROUND_PHOTO", "FLOOR_PLAN"], "now": now()}
    delivered = place_at_once(workspace, reference="A-1", **placed).order
    for _ in range(9):
        box.step()
        box.deliver()
        drain()
    boss.get(reverse("admin:orders_order_change", args=[delivered.pk]))
    view = {"act": "save", "name": "Open orders", "query": "what=open"}
    assert boss.post(reverse("admin:orders_order_views"), view).status_code == 302
    cancelled = place_at_once(workspace, reference="A-3", **placed).order
    changes.cancel(cancelled, user="AGENT-1", reason="sold", now=now())
    Between(box, PLATFORM).after = _lose_the_answer_to_an_order
    with suppress(OutcomeUnknown):
        place_at_once(workspace, reference="A-3", **placed)
    transport.MOUNTS[PLATFORM] = WsgiAdapter(box)
    call_command("forget_person", "photographer.one@example.com", stdout=StringIO())


def _lose_the_answer_to_an_order(environ: dict[str, str]) -> None:
    if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == ("POST", "/v1/orders"):
        raise TimeoutError


def _left_over(workspace: Workspace, agent: User) -> None:
    sequence.read(workspace.pk, None, 5)  # a program has read some
    create(workspace, "N-1", {"title": "Not pushed yet"}, origin="ADMIN", now=now())
    edited = Property.objects.get(object_reference_id="A-3")
    edit(edited, {"title": "Edited"}, origin="ADMIN", now=now())
    order = {"reference": "A-3", "user": "AGENT-1", "products": ["GROUND_PHOTO"], "now": now()}
    one = placing.reviewable(workspace, **order)
    placing.confirm(one, account=agent, now=now())
    selection.begin(Property.objects.filter(object_reference_id="F-1"), account=agent, now=now())
    event = json.dumps(sample("MARKETING_MATERIALS_READY", at=now(), fields={})).encode()
    callback = {"headers": {}, "method": "POST", "source": ReceivedEvent.Source.CALLBACK}
    store.store(workspace.pk, event, now=now(), **callback)
    Order.objects.update(due_at=now())
    publish("orders", workspace.pk)
    file_requests.want(Material.objects.all(), now=now())
    target = {"name": "CRM", "kind": "SFTP", "address": "sftp://crm.test/in/", "secret": "s3cret"}
    made = Target.objects.create(workspace=workspace, due_at=now(), **target)
    columns = {"material": Material.objects.earliest("pk"), "problem": "no right"}
    TargetFile.objects.create(workspace=workspace, target=made, **columns)
    known = {"workspace": workspace, "kind": "source_away", "key": "0", "page": "/admin/"}
    Alarm.objects.create(**known, began_at=now(), told_at=now())
    reminders.choose(agent, hour=7, now=now())
    Reminder.objects.create(person=agent, assignment=Assignment.objects.all()[0], at=now())
