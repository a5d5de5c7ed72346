"""A database that was restored from a backup overwrites nothing that is newer (I2, I4, I9, I21)."""

import json
from io import StringIO
from itertools import chain

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core import serializers
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils.html import strip_tags
from django.utils.timezone import now

from crm_sync.models import Gap, Heartbeat, ReceivedEvent, WebhookMonitor
from orders.models import Order, Placement
from properties.domain.conflicts import decide, of_side
from properties.domain.editing import create, edit
from properties.models import Conflict, Import, Property, Walk
from properties.pull.walk import pull
from tests import placing
from tests.crm_sync.polls import happen
from tests.orders.conftest import home  # noqa: F401 - a fixture

OURS = [f"O-{n}" for n in range(10)]  # edited here after the backup, and pushed
THEIRS = [f"T-{n}" for n in range(10)]  # changed by others on the platform after the backup
BACK = "B-1"  # edited twice: the platform holds again what it held at the backup
QUIET = "Q-1"  # had nothing to send at the backup
LATER = "L-1"  # created after the backup


def backup() -> str:
    """All rows of ours, as a dump has them."""
    models = chain(*(apps.get_app_config(app).get_models() for app in ("crm_sync", "properties")))
    models = [User, *models, *apps.get_app_config("orders").get_models()]
    rows = chain(*(model._base_manager.order_by("pk") for model in models))
    return serializers.serialize("json", rows)


def restore(dump: str) -> None:
    """Let the database hold the dump, and nothing else."""
    found = list(serializers.deserialize("json", dump))
    labels = ("crm_sync", "properties", "orders")
    with transaction.atomic(), connection.constraint_checks_disabled():
        for label in labels:
            for model in apps.get_app_config(label).get_models():
                model._base_manager.all()._raw_delete(using="default")
        for row in found:
            row.save()


def command(*args: str) -> tuple[dict, int]:
    """Run `restored`; what it printed, and its exit code."""
    out = StringIO()
    try:
        call_command("restored", "--json", *args, stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue() or "{}"), error.returncode
    return json.loads(out.getvalue()), 0


def titled(box) -> dict[str, str]:
    """The title of each property on the platform."""
    there = box.workspace.properties.values()
    return {p["objectReferenceId"]: p["title"] for p in there if p.get("objectReferenceId")}


def shown(boss: Client) -> list[tuple[str, str, str]]:
    """What the overview says of a restore: why, where, and what to do."""
    lines = boss.get("/admin/").context["attention"]
    return [
        (line.text, line.where, line.remedy.partition(".")[0])
        for line in lines
        if strip_tags(line.badge) == "Restored"
    ]


def write(reference: str, title: str) -> None:
    row = Property.objects.get(object_reference_id=reference)
    edit(row, {"title": title}, origin="ADMIN", now=now())


@pytest.fixture
def old(box, workspace, home, drain_all) -> tuple[str, dict[str, str]]:  # noqa: F811
    """Restore a backup that is older than the platform; return it, and the newer titles there."""
    agent = User.objects.create(username="agent")
    for reference in (*OURS, *THEIRS, BACK, QUIET):
        create(workspace, reference, {"title": "first"}, origin="ADMIN", now=now())
    drain_all()
    order = placing.reviewable(
        workspace,
        **{"reference": "SEED-1", "user": "AGENT-1", "products": ["GROUND_PHOTO"]},
        now=now(),
    )
    assert placing.confirm(order, account=agent, now=now())
    for reference in (*OURS, *THEIRS, BACK):
        write(reference, "old")
    # One was claimed at that moment: what it was about to send is recorded.
    Property.objects.filter(object_reference_id=OURS[0]).update(inflight={"title": ["old"]})
    Import.objects.create(workspace=workspace, name="stock.csv", stored_as="x", due_at=now())
    Walk.objects.create(workspace=workspace, page=7)
    dump = backup()
    Import.objects.all().delete()
    drain_all()
    for reference in OURS:
        write(reference, "newer of ours")
    write(BACK, "first")
    write(QUIET, "newer of ours")
    create(workspace, LATER, {"title": "created later"}, origin="ADMIN", now=now())
    drain_all()
    for one in list(box.workspace.properties.values()):
        if one.get("objectReferenceId") in THEIRS:
            box.edit_property(one["id"], {"title": "newer of theirs"})
    happen(box, 30)
    newer = titled(box)
    assert Order.objects.filter(placement__isnull=False).count() == 1
    restore(dump)
    # A dump by `dumpdata` leaves the secrets out, one of the database has them.
    type(workspace).objects.update(
        fixed_token=workspace.fixed_token, auth_secret=workspace.auth_secret
    )
    assert (Property.objects.count(), Placement.objects.get().state) == (23, "CONFIRMED")
    return dump, newer


@pytest.mark.rule("I4")
@pytest.mark.parametrize("policy", ["crm_wins", "platform_wins"])
def test_after_restored_nothing_that_is_newer_on_the_platform_is_overwritten(
    box, workspace, drain_all, old, boss, policy
):
    _, newer = old
    type(workspace).objects.update(conflict_policy=policy)
    placed = len(box.workspace.orders)
    counts = {
        "webhooks to be polled": 1,
        "changes removed": 22,
        "properties to be read": 23,
        "open imports cancelled": 1,
        "orders to be read": 0,
        "placements now uncertain": 1,
    }
    assert command("--dry-run") == ({"marked": {"main": counts}}, 0)
    assert not type(workspace).objects.exclude(restored_at=None).exists()
    told = counts | {"open imports cancelled": 0, "changes removed": 0}
    assert command("main") == ({"marked": {"main": counts}}, 0)
    assert command() == ({"marked": {"main": told | {"placements now uncertain": 0}}}, 0)
    assert command("--status")[1] == 3
    lists = "1 lists of properties, 1 lists of users"
    left = f"not read yet: 1 webhooks, 23 properties, {lists}; for a person: 1 uncertain placements"
    todo = "Decide what waits for a person: the tiles below lead to it"
    assert shown(boss) == [(f"A backup was restored; {left}", "main", todo)]
    drain_all()
    assert titled(box) == newer
    assert len(box.workspace.orders) == placed
    assert Placement.objects.get().state == "UNCERTAIN"
    assert list(Gap.objects.values_list("why", flat=True)) == ["OVERFLOW"]
    assert ReceivedEvent.objects.filter(source="HISTORY").exists()
    asked = Conflict.objects.filter(decision="")
    references = asked.values_list("real_estate_property__object_reference_id", flat=True)
    assert sorted(references) == sorted([*OURS, *THEIRS, BACK])
    assert Property.objects.get(object_reference_id=QUIET).desired["title"] == "newer of ours"

    workspace.refresh_from_db()
    assert [walk.page for walk in pull(workspace)][-1] == 1  # from the beginning
    drain_all()
    assert Property.objects.get(object_reference_id=LATER).desired["title"] == "created later"
    # A later change of theirs at a field that is asked does not let a policy decide.
    for one in list(box.workspace.properties.values()):
        if one.get("objectReferenceId") == THEIRS[0]:
            box.edit_property(one["id"], {"title": "newest"})
    Property.objects.update(due_at=now())
    drain_all()
    assert titled(box) == newer | {THEIRS[0]: "newest"}

    status, code = command("--status")
    assert (code, status["workspaces"]["main"]["unread"]) == (3, {})
    assert status["workspaces"]["main"]["forPeople"] == {
        **{"gaps": 1, "conflicts": 21, "uncertain placements": 1}
    }
    left = "for a person: 1 gaps, 21 conflicts, 1 uncertain placements"
    assert shown(boss) == [(f"A backup was restored; {left}", "main", todo)]
    Gap.objects.update(acknowledged_at=now())
    Placement.objects.update(state="FAILED")
    agent = User.objects.get(username="agent")
    for conflict in Conflict.objects.filter(decision=""):
        is_back = conflict.real_estate_property.object_reference_id == BACK
        side = Conflict.Decision.OURS if is_back else Conflict.Decision.THEIRS
        assert decide([of_side(conflict, side)], actor=agent, now=now()).done
    drain_all()
    assert command("--status") == (
        {
            "workspaces": {
                "main": {
                    "restoredAt": status["workspaces"]["main"]["restoredAt"],
                    **{"agrees": True, "unread": {}, "forPeople": {}},
                }
            }
        },
        0,
    )
    assert shown(boss) == []
    assert titled(box) == newer | {THEIRS[0]: "newest", BACK: "old"}
    # From now on the policy decides again.
    write(QUIET, "after all")
    drain_all()
    assert titled(box)[QUIET] == "after all"


def test_without_it_all_that_was_due_is_overwritten_and_the_order_sent_again(
    box, workspace, drain_all, old
):
    _, newer = old
    drain_all()
    lost = {reference for reference, title in titled(box).items() if title != newer[reference]}
    assert lost == {*OURS, *THEIRS, BACK}
    # This platform keeps which session has served its order, until the session has expired.
    assert [call[:2] for call in box.calls].count(("POST", "/v1/orders")) == 2


def test_it_refuses_while_a_worker_is_alive(db, main):
    WebhookMonitor.objects.create(workspace=main, due_at=now())
    Heartbeat.objects.create(kind="worker", name="w@host", started_at=now(), seen_at=now())
    with pytest.raises(CommandError, match="Worker w@host wrote to this database within the last"):
        call_command("restored")
    assert type(main).objects.get().restored_at is None
    call_command("restored", "--force", stdout=StringIO())
    assert type(main).objects.get().restored_at is not None
