"""The judge of a soak passes what the product leaves, and tells each way in which it is damaged."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.utils.timezone import now

from crm_sync.inbox import store
from crm_sync.models import Gap, ReceivedEvent, Workspace
from crm_sync.models.due import DueModel
from crm_sync.outgoing import outbox
from lab.runs import Result, table
from lab.scale import judge as scale_judge
from lab.scale.storm import Told
from lab.soak import judge
from orders.models import Placement
from properties.models import Property
from sandbox.app import Sandbox
from tests.conftest import PLATFORM
from tests.crm_sync.receivers import subscribe
from tests.placing import place_at_once
from tests.processes import Installation
from tests.wsgi import WsgiAdapter

ROWS, DAYS = 3, ("2031-01-01", "2031-01-02", "2031-01-03")
LEASED = {"lease_token": "0" * 32}
STEPS = range(120)

on_the_database = pytest.mark.once


@dataclass
class Lived:
    """What is left after both sides worked, and what the soak remembers of it."""

    box: Sandbox
    url: str
    feed: Path
    theirs: judge.Theirs
    told: list[Told]

    @property
    def state(self) -> dict[str, Any]:
        """What the platform says of itself."""
        session = requests.Session()
        session.mount(PLATFORM, WsgiAdapter(self.box))
        return session.get(f"{PLATFORM}/_sandbox/state").json()

    @property
    def there(self) -> dict[str, Any]:
        """The platform's own documents, to be damaged."""
        return self.box.workspace.properties

    def key(self, reference: str) -> str:
        return next(k for k, one in self.there.items() if one["objectReferenceId"] == reference)

    def unsettled(self, *, later: timedelta = timedelta()) -> list[str]:
        at = datetime.now(UTC) + later
        return judge.unsettled(self.url, Workspace.objects.get().pk, self.state, at=at)

    def lost(self) -> dict[str, list[str]]:
        """What each judgement says that looks at results, where it says something."""
        state = self.state
        found = {
            "feed": judge.feed(self.feed, state["properties"]),
            "overwritten": judge.overwritten(self.theirs, state["properties"]),
            "placed": judge.placed(self.url, 1, state),
            "unnoticed": judge.unnoticed(self.url, self.told),
        }
        return {name: wrong for name, wrong in found.items() if wrong}


@pytest.fixture
def lived(transactional_db, workspace: Workspace, box: Sandbox, drain_all, tmp_path: Path) -> Lived:
    """Let both sides edit, an order be placed, and the platform tell three dates."""
    if connection.vendor != "sqlite":
        pytest.skip("it asks a file")
    url = f"sqlite:///{connection.settings_dict['NAME']}"
    one = Lived(box, url, tmp_path / "stock.csv", judge.Theirs(), [])
    table(one.feed, ROWS, "P", title="At last")
    call_command("import_properties", "main", str(one.feed))
    drain_all()
    place(workspace)
    for key in (one.key("P-1"), "201"):
        address = box.edit_property(key, {"address": {"street": "Street 7"}})["address"]
        one.theirs.edited(key, address, is_certain=True)
    (assignment, *_) = box.workspace.assignments
    for day in DAYS:
        one.told.append(Told(datetime.now(UTC), (assignment, day)))
        box.set_estimate(assignment, day)
        box.deliver()
    call_command("pull_properties", "main", "--list-only")
    drain_all()
    return one


def place(workspace: Workspace) -> None:
    wishes = {"reference": "P-0", "user": "AGENT-1", "products": ["GROUND_PHOTO"]}
    assert place_at_once(workspace, now=now(), **wishes).state == Placement.State.PLACED


@on_the_database
def test_what_the_product_leaves_is_right(lived, tmp_path):
    assert (lived.unsettled(), lived.lost()) == ([], {})
    assert len(lived.theirs.addresses) == 2
    assert scale_judge.audit(Installation(tmp_path, lived.url)) == []


@on_the_database
def test_a_property_that_is_missing_on_the_platform_is_told(lived):
    del lived.there[lived.key("P-2")]
    assert [one.partition(":")[0] for one in lived.unsettled()] == ["P-2"]
    assert lived.lost() == {
        "feed": [
            "P-2: (None, None, None) there, our last edit is lost",
            "2 properties are on the platform",
        ]
    }


@on_the_database
def test_a_property_that_is_lost_on_both_sides_is_told(lived):
    del lived.there[lived.key("P-2")]
    Property.objects.filter(object_reference_id="P-2").delete()
    assert lived.unsettled() == []
    assert list(lived.lost()) == ["feed"]


@on_the_database
def test_a_property_that_was_created_twice_is_told(lived):
    document = lived.there[lived.key("P-2")]
    lived.there["9999"] = document | {"id": "9999"}
    assert lived.unsettled() == ["P-2 is there 2 times", "9999 is there and not here"]
    assert lived.lost() == {"feed": ["4 properties are on the platform"]}


@on_the_database
def test_an_edit_of_ours_that_is_lost_on_both_sides_is_told(lived):
    key = lived.key("P-2")
    lived.there[key] = lived.there[key] | {"title": "Round 3"}
    Property.objects.filter(object_reference_id="P-2").update(desired=lived.there[key])
    assert lived.unsettled() == []
    assert lived.lost() == {"feed": ["P-2: ('Round 3', 4, 909) there, our last edit is lost"]}


@on_the_database
def test_an_edit_of_theirs_that_was_overwritten_is_told(lived):
    key = lived.key("P-1")
    lived.there[key] = lived.there[key] | {"address": {"street": "Street 6"}}
    Property.objects.filter(object_reference_id="P-1").update(desired=lived.there[key])
    assert lived.unsettled() == []
    told = f"{key}: {{'street': 'Street 6'}} there, they set {{'street': 'Street 7'}}"
    assert lived.lost() == {"overwritten": [told]}


def test_an_edit_whose_answer_never_came_may_have_been_made_or_not():
    theirs, first, second = judge.Theirs(), {"street": "1"}, {"street": "2"}
    theirs.edited("7", first, is_certain=True)
    theirs.edited("7", second, is_certain=False)
    for address in (first, second):
        assert judge.overwritten(theirs, {"7": {"address": address}}) == []
    assert len(judge.overwritten(theirs, {"7": {"address": {"street": "0"}}})) == 1
    theirs.edited("7", second, is_certain=True)
    assert len(judge.overwritten(theirs, {"7": {"address": first}})) == 1


@on_the_database
def test_an_event_that_never_came_is_told_unless_a_gap_was_found(lived, workspace):
    missed = lived.told[1]
    (row,) = (one for one in estimates() if DAYS[1].encode() in bytes(one.body))
    row.delete()
    assert lived.unsettled() == []
    at = f"{missed.at:%H:%M:%S}"
    assert lived.lost() == {"unnoticed": [f"the event of {at} did not come, and no gap was found"]}
    long_ago, minute = missed.at - timedelta(hours=1), timedelta(minutes=1)
    gap = Gap(workspace=workspace, why=Gap.Why.OVERFLOW, noticed_at=now())
    gap.began_at, gap.ended_at = long_ago, long_ago + minute
    gap.save()
    assert list(lived.lost()) == ["unnoticed"]  # that one is about another time
    for began_at in (missed.at - minute, None):  # none: since it was connected
        gap.began_at, gap.ended_at = began_at, missed.at + minute
        gap.save()
        assert lived.lost() == {}


@on_the_database
def test_an_event_that_was_acknowledged_before_it_was_stored_is_told(lived):
    acknowledged = judge.acknowledged(lived.state["history"])
    assert acknowledged == {one.event for one in lived.told}
    assert judge.unstored(lived.url, acknowledged) == []
    first, second, _ = estimates()
    first.delete()
    ReceivedEvent.objects.filter(pk=second.pk).update(source=ReceivedEvent.Source.HISTORY)
    key = lived.told[0].event[0]
    assert judge.unstored(lived.url, acknowledged) == [
        f"{key} of {day} was acknowledged and not stored" for day in DAYS[:2]
    ]


@on_the_database
def test_an_event_that_was_not_acknowledged_may_come_by_the_history(lived):
    (assignment, *_) = lived.box.workspace.assignments
    lived.box.faults.set({"rules": [{"fault": "DROPPED"}]})
    lived.box.set_estimate(assignment, "2031-02-01")
    lived.box.deliver()
    acknowledged = judge.acknowledged(lived.state["history"])
    assert acknowledged == {one.event for one in lived.told}


@on_the_database
@pytest.mark.parametrize("state", ["QUARANTINED", "FAILED"])
def test_an_event_that_was_not_applied_is_told(lived, state):
    ReceivedEvent.objects.filter(pk=estimates()[0].pk).update(
        state=state, due_at=None, canonical_digest=""
    )
    assert lived.unsettled() == [f"1 received events are {state}"]


@on_the_database
def test_an_order_that_stands_otherwise_on_the_platform_is_told(lived):
    (key,) = lived.box.workspace.orders
    lived.box.workspace.orders[key]["status"] = "COMPLETED"
    told = f"orders {key}: ('PLACED', '') here, ('COMPLETED', '') there"
    assert lived.unsettled() == [told]


@on_the_database
def test_an_order_that_was_placed_twice_is_told_though_both_are_known_here(
    lived, workspace, drain_all
):
    place(workspace)
    drain_all()
    assert lived.unsettled() == []
    assert lived.lost() == {"placed": ["2 orders are on the platform, 1 were placed"]}


@on_the_database
def test_a_placement_that_has_no_order_is_told(lived):
    Placement.objects.update(state=Placement.State.UNCERTAIN, order=None, uncertain_at=now())
    assert lived.lost() == {"placed": ["a placement is UNCERTAIN"]}


@on_the_database
def test_a_queue_that_stands_is_told_and_one_that_is_worked_on_is_not(lived, workspace):
    callback = ReceivedEvent.Source.CALLBACK
    store.store(workspace.pk, b"{}", headers={}, method="POST", source=callback, now=now())
    pending = ["1 received events are RECEIVED"]
    assert lived.unsettled() == pending  # it has just come
    late = judge.GRACE + timedelta(seconds=1)
    assert lived.unsettled(later=late) == [
        "1 rows of crm_sync_receivedevent are overdue",
        *pending,
    ]
    until = now() + timedelta(minutes=1)
    ReceivedEvent.objects.filter(due_at__isnull=False).update(lease_until=until, **LEASED)
    assert lived.unsettled(later=late) == pending


@on_the_database
def test_a_property_that_stays_due_and_a_workspace_that_stays_paused_are_told(lived):
    Property.objects.filter(object_reference_id="P-0").update(due_at=now())
    Workspace.objects.update(paused_until=now() + timedelta(minutes=1))
    assert lived.unsettled() == ["1 properties are due", "the workspace is paused"]


@on_the_database
def test_a_subscription_is_overdue_only_with_a_message_that_waits(lived):
    workspace = Workspace.objects.get()
    row = subscribe(workspace, "https://receiver.test/in")  # due, and nothing to send
    late = judge.GRACE + timedelta(seconds=1)
    assert lived.unsettled(later=late) == []
    outbox.test(row, now=now())
    assert lived.unsettled(later=late) == ["1 rows of crm_sync_subscription are overdue"]


def test_every_queue_is_looked_at():
    tables = {one._meta.db_table for one in apps.get_models() if issubclass(one, DueModel)}
    assert set(judge.QUEUES) == tables


@on_the_database
def test_what_the_audit_finds_is_told(lived, tmp_path):
    Property.objects.filter(object_reference_id="P-0").update(inflight={"title": ["Other"]})
    (told,) = scale_judge.audit(Installation(tmp_path, lived.url))
    assert "may have been sent, but the row is not due" in told


def test_a_process_that_stopped_or_is_not_there_is_told():
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    ended.wait()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as runs:
        found = judge.stopped({"web": runs, "worker-1": ended}, {"web", "worker-1", "beat"})
        alone = judge.stopped({"web": runs}, {"web"})
        runs.communicate(b"\n")
    assert (found, alone) == (["beat does not run", "worker-1 ended with 3"], [])


CURVES: dict[str, tuple[Callable[[int], float], bool]] = {
    "flat": (lambda n: 100.0, False),
    "gets warm and stays": (lambda n: 100.0 + min(n, 30), False),
    "saws": (lambda n: 100.0 + n % 5, False),
    "has steps of first uses": (lambda n: 100.0 + 4 * (n > 50) + 8 * (n > 83), False),
    "falls": (lambda n: 200.0 - n, False),
    "rises slowly within the noise": (lambda n: 100.0 + n / 20, False),
    "rises steadily": (lambda n: 100.0 + n / 4, True),
    "rises steadily and saws": (lambda n: 100.0 + n / 4 + n % 5, True),
    "rises by an arena again and again": (lambda n: 100.0 + 4 * (n // 16), True),
}


@pytest.mark.parametrize("name", CURVES)
def test_memory_that_rises_steadily_is_told_and_what_gets_warm_is_not(name):
    curve, is_told = CURVES[name]
    assert (judge.steady_rise([curve(n) for n in STEPS]) > judge.STEADY) is is_told


def test_memory_that_grows_much_misses_its_goal():
    assert judge.growth([100.0] * 60 + [160.0] * 60) == 60.0 > judge.MOST_GROWTH


@pytest.mark.parametrize(
    ("value", "wrong", "held"), [(1, [], True), (9, [], False), (1, ["lost"], False)]
)
def test_a_run_holds_only_with_nothing_wrong_and_every_goal_met(value, wrong, held):
    result = Result(wrong=wrong)
    result.figure("memory", value, "MiB", below=5)
    assert result.has_held is held


def estimates() -> list[ReceivedEvent]:
    return list(ReceivedEvent.objects.filter(kind="ESTIMATED_DELIVERY_UPDATED").order_by("pk"))
